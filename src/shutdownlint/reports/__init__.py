"""How it is told: one module a format."""
