"""Shell scripts, read as far as a shutdown needs it."""
