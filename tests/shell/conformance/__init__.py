"""Scripts in real shells as the first process: who gets the stop signal."""
