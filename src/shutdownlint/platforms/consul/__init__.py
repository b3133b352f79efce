"""Consul service mesh."""
