"""Load balancers outside the cluster: which one sends a pod requests, and for how long."""
