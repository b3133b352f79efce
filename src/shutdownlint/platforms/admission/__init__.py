"""Admission control: policies and webhooks that change pods."""
