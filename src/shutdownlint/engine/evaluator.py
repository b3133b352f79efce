"""Rules asked of subjects: findings, their severity and confidence."""

from __future__ import annotations

from datetime import timedelta
from sys import intern
from typing import TYPE_CHECKING

from msgspec import Struct, field

from shutdownlint.engine.expressions import ExpressionError
from shutdownlint.engine.finding import Finding, Related, Severity
from shutdownlint.engine.rule import HERE, PARENT
from shutdownlint.fixes.fix import Change, Fix
from shutdownlint.platforms.versions import CURRENT, Version
from shutdownlint.shutdown import Confidence

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from shutdownlint.engine.expressions import Value
    from shutdownlint.engine.fields import Subject, SubjectKind, Values
    from shutdownlint.engine.rule import Rule
    from shutdownlint.manifests.workloads import ObjectId
    from shutdownlint.platforms.versions import Range
    from shutdownlint.shutdown import Assumption
    from shutdownlint.yaml_source.location import Region, SourceLocation

_BY_CONFIDENCE = (Confidence.HIGH, Confidence.MEDIUM, Confidence.LOW)


class Failure(Struct, frozen=True):
    """A rule that could not be evaluated."""

    rule: Rule
    reason: str


class RuleEvaluator(Struct):
    """Asks the selected rules. A rule that fails is told once and not asked again."""

    rules: Sequence[Rule]
    severities: Mapping[str, Severity] = field(default_factory=dict)
    kubernetes: Version | None = None
    istio: Version | None = None
    failures: dict[str, Failure] = field(default_factory=dict)
    _by_target: dict[SubjectKind, list[Rule]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for rule in self.rules:
            if _applies(rule.kubernetes, self.kubernetes):
                self._by_target.setdefault(rule.target, []).append(rule)

    def ask(self, subject: Subject, workload: ObjectId | None = None) -> Iterable[Finding]:
        """The findings on one subject."""
        for rule in self._by_target.get(subject.target, ()):
            if rule.id in self.failures or not self._version_fits(rule, subject):
                continue
            try:
                fires = _fires(rule, subject)
            except ExpressionError as error:
                self.failures[rule.id] = Failure(rule, error.reason)
                continue
            if fires:
                yield self._finding(rule, subject, workload)

    def _version_fits(self, rule: Rule, subject: Subject) -> bool:
        wanted = rule.istio
        if wanted is None:
            return True
        own = subject.cases[0].get("istioVersion")
        version = Version.parse(own) if isinstance(own, str) and own else self.istio
        return _applies(wanted, version)

    def _finding(self, rule: Rule, subject: Subject, workload: ObjectId | None) -> Finding:
        values = subject.cases[0]
        setting = subject.settings.get(rule.at) if rule.at else None
        location = (
            setting.origin.location if setting and setting.origin.location else subject.location
        )
        region = location.region()
        severity = self.severities.get(rule.id, rule.severity)
        assumptions = subject.assumed(rule.mentions)
        if assumptions and severity is Severity.ERROR:
            # An error holds whatever the unknowns; this one rests on something assumed.
            severity = Severity.WARNING
        return Finding(
            rule=rule.id,
            name=rule.name,
            severity=severity,
            confidence=_confidence(assumptions),
            region=region,
            message=rule.message.fill(subject, values, region.file),
            fix=_fix(rule, subject, region.file),
            workload=workload,
            container=subject.container,
            assumed=tuple(intern(str(assumption)) for assumption in assumptions),
            of_versions=any(assumption.versions for assumption in assumptions),
            related=tuple(_related(rule, subject, region)),
            template=location.source,
        )


def _fix(rule: Rule, subject: Subject, file: str) -> Fix | None:
    """The fix's words, and its changes; none of them where one cannot be worked out."""
    if rule.fix is None:
        return None
    values = subject.cases[0]
    # Many findings of a large run say the same: it is kept once.
    words = intern(rule.fix.fill(subject, values, file))
    changes = []
    for edit in rule.edits:
        if not all(values.holds(name) for name in edit.mentions):
            return Fix(words)
        known = {name: values[name] for name in edit.mentions}
        if not edit.applies(known):
            continue
        value = edit.value(known)
        location = _place_of(edit.field, rule, subject)
        changes.append(Change(edit.action, edit.field, location, _single(value)))
    return Fix(words, tuple(changes), rule.safe)


def _single(value: Value | None) -> timedelta | bool | int | str | None:
    return value if value is None or isinstance(value, timedelta | bool | int | str) else None


def _place_of(field: str, rule: Rule, subject: Subject) -> SourceLocation | None:
    if field not in (HERE, PARENT):
        return subject.slots.get(field)
    setting = subject.settings.get(rule.at) if rule.at else None
    location = setting.origin.location if setting is not None else subject.location
    return location.parent if field == PARENT and location is not None else location


def _applies(wanted: Range | None, version: Version | None) -> bool:
    """Whether a rule holds for a version; an unknown one is taken for a current release."""
    if wanted is None:
        return True
    if version is None:
        return CURRENT in wanted
    return version in wanted


def _fires(rule: Rule, subject: Subject) -> bool:
    """Whether the condition holds at every end of what is only bounded."""
    return all(_holds(rule, values) for values in subject.cases)


def _holds(rule: Rule, values: Values) -> bool:
    for name in rule.mentions:
        if name not in values and not values.holds(name):
            return False
    # Most pods say the same: what was asked before need not be worked out again.
    asked = tuple([_hashable(values[name]) for name in rule.mentions])
    known = rule.answers.get(asked)
    if known is None:
        known = rule.condition.holds({name: values[name] for name in rule.mentions})
        rule.answers[asked] = known
    return known


def _hashable(value: Value) -> Value:
    return tuple(value) if isinstance(value, list) else value


def _confidence(assumptions: Iterable[Assumption]) -> Confidence:
    leaves = [_BY_CONFIDENCE.index(assumption.leaves) for assumption in assumptions]
    return _BY_CONFIDENCE[max(leaves, default=0)]


def _related(rule: Rule, subject: Subject, region: Region) -> Iterable[Related]:
    told = {region}
    for name in dict.fromkeys(rule.message.names):
        setting = subject.settings.get(name)
        if setting is None or setting.origin.location is None or not setting.origin.written_down:
            continue
        other = setting.origin.location.region()
        if other not in told:
            told.add(other)
            yield Related(intern(f"{setting.name} {setting.shown}"), other)
