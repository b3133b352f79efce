"""Load the rules that a selection names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from shutdownlint.engine.errors import UnknownRuleError
from shutdownlint.engine.rule import LISTED, Rule, merge_rules, suggest_rule
from shutdownlint.engine.rule_loader import load_all_bundled, load_bundled, load_folder
from shutdownlint.engine.selection import PathRules, RuleSelection

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class SelectedRules(Struct, frozen=True):
    """The rules of a run, by a selection that names them by their ids.

    ``left_out`` counts the rules that are not selected.
    """

    rules: tuple[Rule, ...]
    selection: RuleSelection
    left_out: int = 0


def select_rules(selection: RuleSelection, platforms: Iterable[str]) -> SelectedRules:
    """Load the selected rules of these platforms, and the user's own.

    Raises ``RuleFileError`` and ``UnknownRuleError``.
    """
    rules = load_bundled(platforms)
    known = [*rules]
    if selection.names or selection.folders:
        known = load_all_bundled()
    for folder in selection.folders:
        own = load_folder(Path(folder))
        known = merge_rules(known, own)
        rules += own
    selection = _resolve_names(selection, known)
    included = [rule for rule in rules if selection.includes(rule)]
    included.sort(key=lambda rule: rule.id)
    return SelectedRules(tuple(included), selection, len(rules) - len(included))


def _resolve_names(selection: RuleSelection, known: Sequence[Rule]) -> RuleSelection:
    """Return the selection with ids in the place of names. Raises ``UnknownRuleError``."""
    ids = {rule.name.upper(): rule.id for rule in known}
    all_ids = {rule.id for rule in known}

    def resolve(name: str) -> str:
        found = ids.get(name.upper(), name.upper())
        if any(known_id.startswith(found) for known_id in all_ids):
            return found
        hint = suggest_rule(name, known)
        raise UnknownRuleError(f"unknown rule or prefix: {name}{hint} {LISTED}")

    def exact(name: str) -> str:
        found = resolve(name)
        if found not in all_ids:
            raise UnknownRuleError(f"severity: {name} is the beginning of several ids: name one")
        return found

    return replace(
        selection,
        select=tuple(map(resolve, selection.select)),
        ignore=tuple(map(resolve, selection.ignore)),
        severities={exact(name): value for name, value in selection.severities.items()},
        paths=tuple(
            PathRules(
                entry.match,
                tuple(map(resolve, entry.ignore)),
                {exact(name): value for name, value in entry.severities.items()},
            )
            for entry in selection.paths
        ),
    )
