"""The replacements for what findings report."""
