"""What the user said, on the command line and in a configuration file.

The file's form and its reading are in ``config_file``, which is imported only where a file is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from shutdownlint.engine.finding import Severity
from shutdownlint.platforms.user_facts import AppFacts, UserFacts

if TYPE_CHECKING:
    from datetime import timedelta
    from pathlib import Path

    from shutdownlint.manifests.suppressions import Suppression
    from shutdownlint.platforms.versions import Version

NAMES: Final = ("shutdownlint.toml", ".shutdownlint.toml", "pyproject.toml")


class ConfigError(Exception):
    """A configuration that cannot be used; the message names the file and the key."""


class Config(Struct):
    """All that the user said. Durations are ``timedelta``; paths are as the run opens them."""

    kubernetes: Version | None = None
    istio: Version | None = None
    p99: timedelta | None = None
    select: list[str] = field(default_factory=list)
    ignore: list[str] = field(default_factory=list)
    #: A severity, or "never".
    fail_on: str = Severity.WARNING.value
    notes: bool = False
    context: list[str] = field(default_factory=list)
    exclude: list[str] = field(default_factory=list)
    suffixes: list[str] = field(default_factory=list)
    severities: dict[str, Severity] = field(default_factory=dict)
    apps: list[AppFacts] = field(default_factory=list)
    #: Whether charts and kustomizations are rendered, and the charts' values files.
    render: bool = False
    values: list[str] = field(default_factory=list)
    #: Folders of the user's own rules.
    rules: list[str] = field(default_factory=list)
    ignores: list[Suppression] = field(default_factory=list)

    def given(self, p99: timedelta | None = None) -> UserFacts:
        """What platforms need of it; ``p99`` is the command line's, which beats the file's."""
        apps = [AppFacts("*", p99=p99, told="--p99")] if p99 is not None else []
        apps += self.apps
        if self.p99 is not None:
            apps.append(AppFacts("*", p99=self.p99, told="the configuration"))
        return UserFacts(
            kubernetes=self.kubernetes,
            istio=self.istio,
            apps=tuple(apps),
            ignores=tuple(self.ignores),
        )

    def selects(self, rule: str) -> bool:
        """Whether a rule is to be asked: ids and prefixes of ids, the longest match decides."""
        chosen = _longest(rule, self.select) if self.select else 0
        return chosen > _longest(rule, self.ignore)


def _longest(rule: str, prefixes: list[str]) -> int:
    return max((len(p) for p in prefixes if rule.startswith(p.upper())), default=-1)


def find_config(start: Path) -> Path | None:
    """The nearest configuration file in ``start`` or above it, up to the repository's root."""
    for folder in (start, *start.parents):
        for name in NAMES:
            path = folder / name
            if path.is_file() and (name != "pyproject.toml" or _has_table(path)):
                return path
        if (folder / ".git").exists():
            return None
    return None


def _has_table(path: Path) -> bool:
    try:
        return b"[tool.shutdownlint" in path.read_bytes()
    except OSError:
        return False
