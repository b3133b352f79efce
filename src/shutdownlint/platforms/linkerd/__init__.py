"""The changes that Linkerd makes to a pod."""
