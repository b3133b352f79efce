"""Dockerfiles of the repository: which image each one builds, and what that image starts."""
