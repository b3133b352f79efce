"""YAML as text with positions: the ground floor, knowing nothing of Kubernetes' kinds.

Used by ``manifests`` (what users write) and by ``rules`` (our own rule files).
"""
