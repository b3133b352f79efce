"""Kubernetes: the grace period, hooks and signals of a pod."""
