"""The model against a real Envoy: a pod in processes, deleted by a stand-in of the kubelet.

Real: Envoy (two pinned versions), processes, signals, sockets. Stand-ins, written from the sources of
Istio and Kubernetes and sharing no code with the model: pilot-agent, the kubelet, the app.
"""
