"""Routes: objects that say how long a request to a Service may take."""
