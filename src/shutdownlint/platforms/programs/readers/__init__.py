"""Our own code for programs whose flags a record cannot describe."""
