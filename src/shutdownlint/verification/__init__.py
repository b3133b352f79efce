"""Test plans: requests worth sending while a pod is deleted, and what the model says of each."""
