"""Commands, options, exit codes. Only the report goes to standard output."""
