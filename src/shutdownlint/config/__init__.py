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
from shutdownlint.programs.images import ImageConfigs
from shutdownlint.programs.known import with_bundled
from shutdownlint.rendering.targets import RenderOptions

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from shutdownlint.manifests.suppressions import Suppression
    from shutdownlint.platforms.user_facts import MeshFact
    from shutdownlint.platforms.versions import Version
    from shutdownlint.programs.images import ImageConfig
    from shutdownlint.programs.record import Program

CONFIG_NAMES: Final = ("shutdownlint.toml", ".shutdownlint.toml", "pyproject.toml")


class ConfigError(Exception):
    """A configuration that cannot be used; the message names the file and the key."""


class ConfigPattern(Struct, frozen=True):
    """A pattern of the configuration that should match something: where, and what it matches."""

    place: str
    pattern: str
    #: "workload", "namespace" or "file".
    kind: str


class Config(Struct, frozen=True):
    """Everything that the user says. Paths are relative to the current folder.

    ``versions`` are by platform, ``everywhere`` are facts about all apps. ``fail_on`` is a
    severity, or "never". ``suffixes`` are further endings of files that are read. ``apps`` are
    facts of the file, ``command_line`` those of options, ``measured`` those of measurements.
    ``patterns`` are those of a file that should match something, ``folder`` is where it is.
    ``programs`` are the user's own records, ``images`` the configurations of images.
    ``refusals`` are what the file asks for and does not get (the job is then not complete),
    ``ignored`` its settings without effect.
    """

    versions: Mapping[str, Version] = field(default_factory=dict)
    meshes: tuple[MeshFact, ...] = ()
    everywhere: AppFacts = AppFacts("*")
    selection: RuleSelection = RuleSelection()
    fail_on: str = Severity.WARNING.value
    context: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ()
    apps: tuple[AppFacts, ...] = ()
    command_line: tuple[AppFacts, ...] = ()
    measured: tuple[AppFacts, ...] = ()
    respect_gitignore: bool = True
    owners: Owners = Owners()
    patterns: tuple[ConfigPattern, ...] = ()
    folder: str = "."
    render: RenderOptions = RenderOptions()
    suppressions: tuple[Suppression, ...] = ()
    namespace: str | None = None
    programs: tuple[Program, ...] = ()
    images: tuple[ImageConfig, ...] = ()
    refusals: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

    def serve_share(self, share: float) -> Config:
        """Return the configuration with the requests of a share as the slowest, if measured."""
        return replace(self, measured=tuple(_with_share(facts, share) for facts in self.measured))

    def user_facts(self) -> UserFacts:
        """Return the facts for the platforms; those of the command line come first."""
        return UserFacts(
            self.versions,
            self.meshes,
            (*self.command_line, *self.apps, *self.measured, self.everywhere),
            self.suppressions,
            self.namespace,
            self.owners.label,
            with_bundled(self.programs) if self.programs else None,
            ImageConfigs(self.images) if self.images else None,
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
