"""The statements of the user, on the command line and in a configuration file.

The form of the file is in ``load``, which is imported only where there is a file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct, field
from msgspec.structs import replace

from shutdownlint import files
from shutdownlint.engine.finding import Severity
from shutdownlint.engine.selection import RuleSelection
from shutdownlint.linter.owners import Owners
from shutdownlint.platforms.user_facts import AppFacts, UserFacts
from shutdownlint.rendering.targets import RenderOptions

if TYPE_CHECKING:
    from datetime import timedelta
    from pathlib import Path

    from shutdownlint.manifests.suppressions import Suppression
    from shutdownlint.platforms.user_facts import MeshFact
    from shutdownlint.platforms.versions import Version

CONFIG_NAMES: Final = ("shutdownlint.toml", ".shutdownlint.toml", "pyproject.toml")


class ConfigError(Exception):
    """A configuration that cannot be used; the message names the file and the key."""


class ConfigPattern(Struct, frozen=True):
    """A pattern of the configuration that should match something: where, and what it matches."""

    place: str
    pattern: str
    #: "workload", "namespace" or "file".
    kind: str


class Config(Struct):
    """Everything that the user says. Paths are relative to the current folder.

    ``versions`` are by platform. ``fail_on`` is a severity, or "never". ``suffixes``
    are further endings of files that are read.
    """

    versions: dict[str, Version] = field(default_factory=dict)
    meshes: list[MeshFact] = field(default_factory=list)
    p99: timedelta | None = None
    propagation: timedelta | None = None
    selection: RuleSelection = field(default_factory=RuleSelection)
    fail_on: str = Severity.WARNING.value
    context: list[str] = field(default_factory=list)
    exclude: list[str] = field(default_factory=list)
    suffixes: list[str] = field(default_factory=list)
    apps: list[AppFacts] = field(default_factory=list)
    #: The facts about all apps that command-line options state.
    command_line: list[AppFacts] = field(default_factory=list)
    #: The measured facts; configured ones take precedence.
    measured: list[AppFacts] = field(default_factory=list)
    respect_gitignore: bool = True
    owners: Owners = Owners()
    #: Those of a file, and the folder that it is about, relative to the current one.
    patterns: list[ConfigPattern] = field(default_factory=list)
    folder: str = "."
    render: RenderOptions = field(default_factory=RenderOptions)
    suppressions: list[Suppression] = field(default_factory=list)
    namespace: str | None = None
    #: The requests of the file that are refused; the job is then incomplete.
    refusals: list[str] = field(default_factory=list)
    #: The settings of the file that have no effect.
    ignored: list[str] = field(default_factory=list)

    def serve_share(self, share: float) -> None:
        """Take as slowest ordinary requests those of a share, where durations were measured."""
        self.measured = [_with_share(facts, share) for facts in self.measured]

    def user_facts(self) -> UserFacts:
        """Return the facts for the platforms; those of the command line come first."""
        apps = [*self.command_line, *self.apps, *self.measured]
        apps += [AppFacts("*", p99=self.p99, propagation=self.propagation)]
        return UserFacts(
            self.versions,
            tuple(self.meshes),
            tuple(apps),
            tuple(self.suppressions),
            self.namespace,
            self.owners.label,
        )


def _with_share(facts: AppFacts, share: float) -> AppFacts:
    if not facts.shares:
        return facts
    duration = facts.duration_of(share)
    longest = facts.shares[-1][0]
    label = f"{facts.source_label}, {100 * share:g}% of requests"
    return replace(
        facts,
        p99=longest if duration is None else duration,
        p99_at_least=duration is None,
        source_label=label,
    )


def find_config(start: Path) -> Path | None:
    """Return the nearest configuration file in or above ``start``, up to the repository's root."""
    for folder in (start, *start.parents):
        for name in CONFIG_NAMES:
            path = folder / name
            if files.is_file(path) and (name != "pyproject.toml" or _has_table(path)):
                return path
        if files.exists(folder / ".git"):
            return None
    return None


def _has_table(path: Path) -> bool:
    try:
        return b"[tool.shutdownlint" in files.read_file(path)
    except OSError:
        return False
