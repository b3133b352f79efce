"""Knative: it decides itself how its pods stop."""
