"""What is known of programs: one record for each, its form, its files, and the index of all."""
