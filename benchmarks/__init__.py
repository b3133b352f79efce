"""Measurements; see docs/performance.md."""
