"""The configurations of images: from registries, archives, and a local engine."""
