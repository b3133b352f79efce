"""Rules about rollouts and disruptions beside those of kube-linter and kube-score.

``python -m tests.peers`` runs all three on the manifests of ``cases.py``. It needs both programs on
PATH; ``seen.json`` has what they report, and docs/comparison.md explains each difference.
"""
