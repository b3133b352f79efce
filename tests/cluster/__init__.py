"""A real Kubernetes node, and what it says about the model.

``python -m tests.cluster up`` builds and starts it, ``down`` stops it. docs/conformance.md has what
was compared, and with which result.
"""
