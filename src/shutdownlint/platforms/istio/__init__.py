"""Istio: whether a pod gets a proxy, which settings it gets, and their effect."""
