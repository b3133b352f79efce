"""Recognizes reports and baselines of this tool, which are JSON among the manifests."""

from __future__ import annotations

from typing import Any, Final

from shutdownlint.patterns import lazy_pattern

#: The start of each: JSON reports and baselines, GitLab's code quality, SARIF.
_BEGINS: Final = lazy_pattern(
    rb'\s*(?:\{\s*"tool": "shutdownlint"|\[\s*\{\s*"description": |\{\s*"\$schema": "[^"]*sarif)'
)
_MANIFEST_KEYS: Final = frozenset(("apiVersion", "kind"))


def is_own_report(data: bytes) -> bool:
    """Return whether a file is a report of this tool, and cannot be applied to a cluster."""
    if data[:1].isalpha() or not _BEGINS.match(data):
        return False
    import json  # noqa: PLC0415 - hardly any file comes here

    try:
        root: Any = json.loads(data)
    except (ValueError, RecursionError):
        return False
    if isinstance(root, list):
        return all(isinstance(e, dict) and _is_entry_of_gitlab(e) for e in root)
    if _MANIFEST_KEYS & root.keys():
        return False
    return "shutdownlint" in (root.get("tool"), _driver(root))


def _is_entry_of_gitlab(entry: dict[str, Any]) -> bool:
    return "check_name" in entry and "fingerprint" in entry and not _MANIFEST_KEYS & entry.keys()


def _driver(root: dict[str, Any]) -> Any:
    """Return the name of the tool of a SARIF file."""
    try:
        return root["runs"][0]["tool"]["driver"]["name"]
    except (KeyError, IndexError, TypeError):
        return None
