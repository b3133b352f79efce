"""What is written: files found, split and parsed, with a place for every key and value."""
