"""Objects of Argo CD and Flux that deploy a folder of their own repository."""
