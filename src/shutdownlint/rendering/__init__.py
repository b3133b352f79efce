"""Charts and kustomizations, rendered with the user's own tools where the user turns it on."""
