"""Manifests: files found, split and parsed, with a location for every key and value."""
