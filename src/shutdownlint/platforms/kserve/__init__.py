"""KServe: objects from which it makes the pods of model servers."""
