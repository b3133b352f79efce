"""The options of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from shutdownlint.engine.selection import RuleSelection
from shutdownlint.manifests.discovery import FileSearch
from shutdownlint.platforms.user_facts import UserFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shutdownlint.engine.finding import Finding
    from shutdownlint.engine.select_rules import SelectedRules
    from shutdownlint.platforms.planned_pod import PlannedPod


def no_progress() -> None:
    """Show no progress."""


class LintOptions(Struct, frozen=True):
    """The options of a run: facts about the environment, rules, and a progress callback.

    ``debug``: internal errors are raised instead of being reported. ``isolated``: suppressions in
    the files are not used. ``describe`` gives what reports want to know of a pod with its findings.
    ``search`` is for files that manifests name, and that are not among the paths. ``only`` are the
    rules to evaluate, whatever is selected.
    """

    facts: UserFacts = field(default_factory=UserFacts)
    selection: RuleSelection = field(default_factory=RuleSelection)
    on_file: Callable[[], None] = no_progress
    debug: bool = False
    isolated: bool = False
    describe: Callable[[PlannedPod, Sequence[Finding]], Any] | None = None
    search: FileSearch = FileSearch()
    only: SelectedRules | None = None
