"""Nodes: how long they give their pods when they are taken away."""
