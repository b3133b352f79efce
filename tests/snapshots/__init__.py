"""One stored output of each command and format, for the example of the project."""
