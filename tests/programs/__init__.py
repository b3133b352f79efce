"""Real programs as the first process: what they do at their stop signal."""
