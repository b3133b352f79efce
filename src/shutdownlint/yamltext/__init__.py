"""YAML as text with positions: the ground floor, knowing nothing of Kubernetes' kinds.

Used by ``manifests`` (what users write) and by ``rules`` (our own rule files).
"""

from shutdownlint.yamltext.compose import ComposeError, compose
from shutdownlint.yamltext.place import Place, Where
from shutdownlint.yamltext.scalars import Scalar, read_scalar
from shutdownlint.yamltext.tree import BudgetExceededError, Part, Route, Tree

__all__ = [
    "BudgetExceededError",
    "ComposeError",
    "Part",
    "Place",
    "Route",
    "Scalar",
    "Tree",
    "Where",
    "compose",
    "read_scalar",
]
