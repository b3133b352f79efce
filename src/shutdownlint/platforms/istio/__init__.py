"""Istio: whether a pod gets a proxy, which settings it gets, and what Istio makes of them."""
