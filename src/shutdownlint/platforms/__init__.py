"""Platforms: manifests and versions become settings with their origin.

One module (or package) a system. A platform knows nothing of rules.
"""
