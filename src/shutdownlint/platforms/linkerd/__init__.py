"""What Linkerd does to a pod."""
