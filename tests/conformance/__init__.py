"""The model against a real Envoy: a pod in processes, deleted by a replacement of the kubelet.

Real: Envoy (two pinned versions), processes, signals, sockets. Replacements, written from the sources of
Istio and Kubernetes and sharing no code with the model: pilot-agent, the kubelet, the app.
"""
