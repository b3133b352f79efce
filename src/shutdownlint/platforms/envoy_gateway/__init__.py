"""Envoy Gateway: how the Envoys that it deploys stop."""
