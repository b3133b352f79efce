"""Dapr."""
