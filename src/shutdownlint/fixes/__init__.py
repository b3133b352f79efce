"""What to write instead."""
