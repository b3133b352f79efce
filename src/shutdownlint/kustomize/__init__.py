"""Kustomizations, applied to the manifests that they name: no program runs for it."""
