"""Loads and selects the rules of a run, and sets their severities."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from shutdownlint.engine.errors import UnknownRuleError
from shutdownlint.engine.finding import Severity
from shutdownlint.manifests.discovery import is_excluded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shutdownlint.engine.rule import Rule

#: Problems that make a run incomplete are reported whatever is selected.
ALWAYS_REPORTED: Final = ("SL001", "SL002")


#: The values of ``Confidence`` from the lowest up; that module is not needed at each start.
CONFIDENCES: Final = ("low", "medium", "high")


class PathRules(Struct, frozen=True):
    """The settings for findings in files that match a pattern."""

    match: str
    ignore: list[str] = field(default_factory=list)
    severities: dict[str, Severity] = field(default_factory=dict)


class RuleSelection(Struct):
    """Ids, prefixes of ids and names; of several that match a rule the longest one decides.

    ``folders`` hold the user's own rules. Findings below ``min_confidence`` are only counted.
    """

    select: list[str] = field(default_factory=list)
    ignore: list[str] = field(default_factory=list)
    severities: dict[str, Severity] = field(default_factory=dict)
    notes: bool = False
    folders: list[str] = field(default_factory=list)
    min_confidence: str = CONFIDENCES[0]
    paths: list[PathRules] = field(default_factory=list)
    #: The number of rules that the last ``load`` left out.
    left_out: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """All ids, prefixes of ids and names of rules that the user writes."""
        own = (name for entry in self.paths for name in (*entry.ignore, *entry.severities))
        return (*self.select, *self.ignore, *self.severities, *own)

    def load(self, platforms: Iterable[str]) -> list[Rule]:
        """Return the selected rules of these platforms, and the user's own.

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
        self._resolve_names(known)
        included = [rule for rule in rules if self.includes(rule)]
        self.left_out = len(rules) - len(included)
        return included

    def _resolve_names(self, known: list[Rule]) -> None:
        """Write ids in the place of names. Raises ``UnknownRuleError``."""
        from shutdownlint.engine.rule import LISTED, suggest_rule  # noqa: PLC0415 - as above

        ids = {rule.name.upper(): rule.id for rule in known}

        def resolve(name: str) -> str:
            found = ids.get(name.upper(), name.upper())
            if any(rule.id.startswith(found) for rule in known):
                return found
            hint = suggest_rule(name, known)
            raise UnknownRuleError(f"unknown rule or prefix: {name}{hint} {LISTED}")

        self.select = [resolve(name) for name in self.select]
        self.ignore = [resolve(name) for name in self.ignore]
        all_ids = {rule.id for rule in known}

        def exact(name: str) -> str:
            found = resolve(name)
            if found not in all_ids:
                raise UnknownRuleError(
                    f"severity: {name} is the beginning of several ids: name one"
                )
            return found

        self.severities = {exact(name): value for name, value in self.severities.items()}
        self.paths = [
            PathRules(
                entry.match,
                [resolve(name) for name in entry.ignore],
                {exact(name): value for name, value in entry.severities.items()},
            )
            for entry in self.paths
        ]

    def is_only_counted(self, rule: str, severity: Severity) -> bool:
        """Whether such findings of a rule are only counted, so that no message is needed."""
        if any(_longest(rule, list(entry.severities)) >= 0 for entry in self.paths):
            return False
        return self.hides_severity(rule, severity)

    def hides_severity(self, rule: str, severity: Severity) -> bool:
        """Whether a finding is only counted: a note of a rule that is not selected by its id."""
        return severity is Severity.NOTE and not self.notes and rule not in self.select

    def severity_at(self, rule: str, file: str) -> Severity | None:
        """Return the severity that a rule has for a file, where that differs from its own."""
        for entry in self.paths:
            severity = entry.severities.get(rule)
            if severity is not None and is_excluded(file, [entry.match]):
                return severity
        return None

    def is_sure(self, confidence: str) -> bool:
        """Whether findings of this confidence are reported."""
        return CONFIDENCES.index(confidence) >= CONFIDENCES.index(self.min_confidence)

    def ignores_at(self, rule: str, file: str) -> bool:
        """Whether a rule is not reported for a file."""
        if rule in ALWAYS_REPORTED:
            return False
        return any(
            _longest(rule, entry.ignore) >= 0 and is_excluded(file, [entry.match])
            for entry in self.paths
        )

    def includes(self, rule: Rule) -> bool:
        """Whether a rule is evaluated."""
        if rule.id in ALWAYS_REPORTED:
            return True
        chosen = _longest(rule.id, self.select) if self.select else 0
        return chosen > _longest(rule.id, self.ignore)


def _longest(rule: str, prefixes: list[str]) -> int:
    return max((len(p) for p in prefixes if rule.startswith(p.upper())), default=-1)
