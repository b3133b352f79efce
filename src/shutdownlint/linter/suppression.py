"""Findings divided by what people have decided to suppress."""

from __future__ import annotations

import datetime as dt
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from shutdownlint import limits
from shutdownlint.engine.rule import suggest_rule
from shutdownlint.engine.rule_loader import load_all_bundled
from shutdownlint.linter.result import SuppressedFinding
from shutdownlint.platforms.user_facts import AppFacts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shutdownlint.engine.finding import Finding
    from shutdownlint.engine.rule import Rule
    from shutdownlint.manifests.suppressions import Suppression


class Suppressed(Struct, frozen=True):
    """The findings that are left, those that are suppressed, and warnings about suppressions."""

    findings: Sequence[Finding]
    suppressed: Sequence[SuppressedFinding] = ()
    warnings: Sequence[str] = ()


def apply_suppressions(
    findings: Sequence[Finding], suppressions: Sequence[Suppression], rules: Sequence[Rule]
) -> Suppressed:
    """Divide the findings by the suppressions; warn about suppressions that do nothing.

    One that has expired no longer counts. One that no finding matches is reported, unless none of
    its rules was evaluated.
    """
    today = dt.datetime.now(dt.UTC).date()
    valid = [s for s in suppressions if s.rules and (s.until is None or s.until >= today)]
    used: set[_Place] = set()
    reported: list[Finding] = []
    suppressed: list[SuppressedFinding] = []
    for finding in findings:
        matching = _matching(finding, valid)
        used.update(map(_place, matching))
        if matching:
            first = matching[0]
            suppressed.append(SuppressedFinding(finding, first.reason, first.location is not None))
        else:
            reported.append(finding)
    names = _RuleNames(rules)
    in_force = {id(suppression) for suppression in valid}
    warnings: dict[str, None] = {}
    for suppression in suppressions:
        warning = _warning(suppression, in_force, used, names)
        if warning is not None:
            warnings[f"{_describe(suppression)} {warning}"] = None
    return Suppressed(reported, suppressed, [*warnings])


_Place = tuple[object, ...]


def _place(suppression: Suppression) -> _Place:
    """Return where a suppression is written: every variant reads that of a base."""
    if suppression.location is None:
        return (id(suppression),)
    return suppression.location.region(), suppression.rules, suppression.container


class _RuleNames:
    """The rules that suppressions may name: those of the run, and all that are bundled."""

    def __init__(self, evaluated: Sequence[Rule]) -> None:
        self.evaluated = evaluated
        self._suggested = 0

    @cached_property
    def _all(self) -> list[Rule]:
        return [*self.evaluated, *load_all_bundled()]

    def has(self, name: str) -> bool:
        """Whether a rule has this id, beginning of its id, or name."""
        return _is_among(name, self.evaluated) or _is_among(name, self._all)

    def suggest(self, name: str) -> str:
        """Return the rule that is meant."""
        self._suggested += 1
        if self._suggested > limits.MAX_SUGGESTIONS:
            return ""
        return suggest_rule(name, self._all)


def _is_among(name: str, rules: Sequence[Rule]) -> bool:
    return any(rule.id.startswith(name) or rule.name.upper() == name for rule in rules)


def _warning(
    suppression: Suppression,
    in_force: set[int],
    used: set[_Place],
    names: _RuleNames,
) -> str | None:
    """Return what is wrong with a suppression, or None."""
    if not suppression.rules:
        in_comment = suppression.line is not None
        example = (
            "# shutdownlint: ignore[SL101] the reason" if in_comment else "SL101 -- the reason"
        )
        return f"cannot be parsed: write '{example}'"
    if id(suppression) not in in_force:
        invalid = suppression.until == dt.date.min
        return "has an invalid expiry date" if invalid else f"has expired ({suppression.until})"
    unknown = next((name for name in suppression.rules if not names.has(name)), None)
    if unknown is not None:
        shown = unknown.lower() if "-" in unknown else unknown
        return f"names no rule: {shown}{names.suggest(unknown)}"
    evaluated = names.evaluated
    if _place(suppression) not in used and any(
        _names(suppression, r.id, r.name) for r in evaluated
    ):
        return "is unused"
    return None if suppression.reason else "gives no reason"


def _matching(finding: Finding, suppressions: Sequence[Suppression]) -> list[Suppression]:
    return [suppression for suppression in suppressions if _covers(suppression, finding)]


def _names(suppression: Suppression, rule: str, rule_name: str) -> bool:
    return any(rule.startswith(n) or rule_name.upper() == n for n in suppression.rules)


def _covers(suppression: Suppression, finding: Finding) -> bool:
    if not _names(suppression, finding.rule, finding.name):
        return False
    if suppression.container is not None and suppression.container != finding.container:
        return False
    if suppression.variant and finding.variants and suppression.variant not in finding.variants:
        return False
    if suppression.pattern is not None:
        pattern = AppFacts(suppression.pattern)
        return finding.workload is not None and pattern.matches(finding.workload)
    if suppression.line is not None:
        place = suppression.file, suppression.line
        regions = (finding.region, *(related.region for related in finding.related))
        return any(place == (region.file, region.line) for region in regions)
    # An annotation is on the pod; the setting that decides may be in another file.
    pod = finding.subject_region or finding.region
    files = (finding.region.file, pod.file)
    return suppression.file in files and suppression.workload == finding.workload


def _describe(suppression: Suppression) -> str:
    rules = ", ".join(name.lower() if "-" in name else name for name in suppression.rules)
    if suppression.location is None:
        return f"the configuration's ignore of {rules} for {suppression.pattern}"
    return f"{suppression.location.region()}: ignore{f' of {rules}' if rules else ''}"
