"""Output formats: one module for each."""
