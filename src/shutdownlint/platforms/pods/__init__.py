"""Pods as Kubernetes defines them: the layer that all platforms build on."""
