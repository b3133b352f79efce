"""Frameworks whose own shutdown shows in the manifests, and how long it takes."""
