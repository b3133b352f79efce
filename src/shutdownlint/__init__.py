"""shutdownlint: works out how each Kubernetes pod shuts down and what that loses."""

__version__ = "0.1.0"
