"""Loads and selects the rules of a run, and sets their severities."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from shutdownlint.engine.errors import UnknownRuleError
from shutdownlint.engine.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shutdownlint.engine.rule import Rule

#: Problems that make a run incomplete are reported whatever is selected.
ALWAYS_REPORTED: Final = ("SL001", "SL002")


class RuleSelection(Struct):
    """Ids and prefixes of ids; of several that match a rule the longest one decides.

    ``folders`` hold the user's own rules.
    """

    select: list[str] = field(default_factory=list)
    ignore: list[str] = field(default_factory=list)
    severities: dict[str, Severity] = field(default_factory=dict)
    notes: bool = False
    folders: list[str] = field(default_factory=list)

    @property
    def names(self) -> tuple[str, ...]:
        """All ids and prefixes of ids that the user names."""
        return (*self.select, *self.ignore, *self.severities)

    def load(self, platforms: Iterable[str]) -> list[Rule]:
        """The selected rules of these platforms, and the user's own.

        Raises ``RuleFileError`` and ``UnknownRuleError``.
        """
        from shutdownlint.engine.cache import RuleLoader  # noqa: PLC0415 - not for empty runs
        from shutdownlint.engine.rule import merge_rules  # noqa: PLC0415

        loader = RuleLoader()
        rules = loader.load_bundled(platforms)
        known = [*rules] if not self.names else loader.load_all_bundled()
        for folder in self.folders:
            user_rules = loader.load_folder(Path(folder))
            rules = merge_rules(rules, user_rules)
            known += user_rules
        for name in self.names:
            if not any(rule.id.startswith(name.upper()) for rule in known):
                raise UnknownRuleError(
                    f"unknown rule or prefix: {name} ('shutdownlint rule' lists all rules)"
                )
        return [rule for rule in rules if self.includes(rule)]

    def hides(self, rule: Rule) -> bool:
        """Whether the rule's findings are only counted: notes that are not selected by id."""
        if self.notes or self.severities.get(rule.id, rule.severity) is not Severity.NOTE:
            return False
        return not any(name.upper() == rule.id for name in self.select)

    def includes(self, rule: Rule) -> bool:
        """Whether a rule is evaluated."""
        if rule.id in ALWAYS_REPORTED:
            return True
        chosen = _longest(rule.id, self.select) if self.select else 0
        return chosen > _longest(rule.id, self.ignore)


def _longest(rule: str, prefixes: list[str]) -> int:
    return max((len(p) for p in prefixes if rule.startswith(p.upper())), default=-1)
