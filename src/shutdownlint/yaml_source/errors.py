"""The exceptions of reading YAML, separate from the parser, which is slow to import."""

from __future__ import annotations


class BudgetExceededError(Exception):
    """Aliases of the document would write out to more than ``ALIAS_BUDGET`` values."""
