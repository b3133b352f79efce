"""Kyverno: policies that limit what a pod may say."""
