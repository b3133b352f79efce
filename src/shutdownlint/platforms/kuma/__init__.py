"""Kuma and Kong Mesh."""
