"""Rules as policies of the API server: what can be decided from an object alone."""
