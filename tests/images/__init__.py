"""Tests of image configurations: registries, archives, what they change."""
