"""The selection of rules: which are evaluated, with which severity, and what is reported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from shutdownlint.engine.finding import Severity
from shutdownlint.manifests.discovery import is_excluded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shutdownlint.engine.rule import Rule

#: What makes a run incomplete is reported whatever is selected. Where it is ignored for a file, by
#: a comment or by a baseline, it is known, and the run is complete without it.
ALWAYS_REPORTED: Final = ("SL001", "SL002")


#: The values of ``Confidence`` from the lowest up; that module is not needed at each start.
CONFIDENCES: Final = ("low", "medium", "high")


class PathRules(Struct, frozen=True):
    """The selection for findings in files that match a pattern."""

    match: str
    ignore: tuple[str, ...] = ()
    severities: Mapping[str, Severity] = field(default_factory=dict)


class RuleSelection(Struct, frozen=True):
    """Ids, prefixes of ids and names; of several that match a rule the longest one decides.

    ``folders`` hold the user's own rules. Findings below ``min_confidence`` are only counted.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severities: Mapping[str, Severity] = field(default_factory=dict)
    notes: bool = False
    folders: tuple[str, ...] = ()
    min_confidence: str = CONFIDENCES[0]
    paths: tuple[PathRules, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All ids, prefixes of ids and names of rules that the user writes."""
        own = (name for entry in self.paths for name in (*entry.ignore, *entry.severities))
        return (*self.select, *self.ignore, *self.severities, *own)

    def is_only_counted(self, rule: str, severity: Severity) -> bool:
        """Whether such findings of a rule are only counted, so that no message is needed."""
        if any(_longest(rule, [*entry.severities]) >= 0 for entry in self.paths):
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


def _longest(rule: str, prefixes: Sequence[str]) -> int:
    return max((len(p) for p in prefixes if rule.startswith(p.upper())), default=-1)
