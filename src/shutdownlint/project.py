"""The addresses of the project that reports link to."""

from __future__ import annotations

from typing import Final

PROJECT_URL: Final = "https://github.com/shutdownlint/shutdownlint"
SITE_URL: Final = "https://shutdownlint.github.io/shutdownlint"
#: The ids of bundled rules begin with this.
RULE_PREFIX: Final = "SL"


def rule_url(rule: str) -> str | None:
    """Return the page of a bundled rule by its id; None for users' own rules."""
    return f"{SITE_URL}/rules/{rule}/" if rule.startswith(RULE_PREFIX) else None
