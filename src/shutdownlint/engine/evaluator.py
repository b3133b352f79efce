"""Rules evaluated for subjects: findings with their severity and confidence."""

from __future__ import annotations

from datetime import timedelta
from functools import cache, cached_property
from sys import intern
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec import Struct

from shutdownlint.engine.expressions import (
    Compiler,
    Condition,
    Expression,
    ExpressionError,
    without_engine,
)
from shutdownlint.engine.finding import Change, Finding, Fix, Related, Severity
from shutdownlint.engine.loss_severity import loss_severity
from shutdownlint.engine.loss_texts import report_loss
from shutdownlint.engine.rule import HERE, PARENT
from shutdownlint.engine.template import without_absent_hook
from shutdownlint.manifests.document import EmbeddedNodeRef, NodeRef
from shutdownlint.platforms.edit_target import EditTarget
from shutdownlint.platforms.fields import SubjectKind
from shutdownlint.platforms.locations import document_of, source_location
from shutdownlint.platforms.registry import load_platforms, mesh_names
from shutdownlint.platforms.versions import CURRENT
from shutdownlint.shutdown.pod_plan import GRACE_FIELD, Confidence
from shutdownlint.shutdown.provenance import OriginKind
from shutdownlint.wording import internal_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from shutdownlint.engine.rule import Rule, RuleEdit, RuleExpression
    from shutdownlint.engine.subjects import CaseValues, Subject
    from shutdownlint.engine.vocabulary import Vocabulary
    from shutdownlint.platforms.fields import FieldType, Value
    from shutdownlint.platforms.versions import Version
    from shutdownlint.shutdown.pod_plan import Assumption
    from shutdownlint.yaml_source.location import Region, SourceLocation

_BY_CONFIDENCE = (Confidence.HIGH, Confidence.MEDIUM, Confidence.LOW)


_Result = TypeVar("_Result")


class RuleFailure(Struct, frozen=True):
    """A rule that could not be evaluated."""

    rule: Rule
    reason: str


#: More rules of which the fields are not known yet are not kept.
_MOST_NEW_RULES: Final = 2000


class ExpressionCache:
    """Compiled expressions; runs that check the same files again share them."""

    def __init__(self) -> None:
        self._conditions: dict[tuple[str, tuple[str, ...]], Condition] = {}
        self._expressions: dict[tuple[str, tuple[str, ...]], Expression] = {}
        self._types: dict[str, FieldType] = {}
        self._shared = Compiler({})
        #: Rules whose fields the compiler that all expressions share does not know yet.
        self._new_rules: list[Rule] = []

    def add_fields_of(self, rules: Iterable[Rule]) -> None:
        """Make the compiler that all expressions share know the fields of these rules."""
        self._new_rules += rules
        if len(self._new_rules) > _MOST_NEW_RULES:  # of many runs
            self._take_new_rules()

    def _compiler(self, expression: RuleExpression) -> Compiler:
        """Return an expression's compiler: its own if its fields have other types elsewhere."""
        self._take_new_rules()
        types = expression.types
        if all(self._types.get(name) is of_type for name, of_type in types.items()):
            return self._shared
        return Compiler(types)

    def _take_new_rules(self) -> None:
        known = len(self._types)
        for rule in self._new_rules:
            for clause in rule.clauses:
                for name, of_type in clause.types.items():
                    self._types.setdefault(name, of_type)
        self._new_rules.clear()
        if len(self._types) > known:
            self._shared = Compiler(dict(self._types))

    def condition(self, expression: RuleExpression) -> Condition:
        """Return the compiled condition. Raises ``ExpressionError``."""
        key = expression.text, (*expression.types, *expression.types.values())
        if key not in self._conditions:
            plain = without_engine(expression.text, expression.types)
            self._conditions[key] = (
                Condition(plain)
                if plain is not None
                else self._compiler(expression).condition(expression.text)
            )
        return self._conditions[key]

    def expression(self, expression: RuleExpression) -> Expression:
        """Return the compiled expression. Raises ``ExpressionError``."""
        key = expression.text, (*expression.types, *expression.types.values())
        if key not in self._expressions:
            plain = without_engine(expression.text, expression.types)
            self._expressions[key] = plain or self._compiler(expression).expression(expression.text)
        return self._expressions[key]


@cache
def shared_expressions() -> ExpressionCache:
    """Return the compiled expressions of this process: they depend on nothing but their text."""
    return ExpressionCache()


class _Clause:
    """A part of a condition, compiled when it is first needed."""

    def __init__(self, expression: RuleExpression, cache: ExpressionCache) -> None:
        self.names = expression.names
        self.wanted = expression.wanted_flag
        self._expression = expression
        self._cache = cache
        #: The results for values that it was evaluated with: most pods are alike.
        self._answers: dict[tuple[Value, ...], bool] = {}

    def holds(self, values: CaseValues) -> bool:
        """Whether it holds, every field having a value. Raises ``ExpressionError``."""
        if self.wanted is not None:
            return values[self.names[0]] is self.wanted
        found = []
        for name in self.names:
            value = values[name]
            if value is None:
                return False
            found.append(value)
        key = tuple(found)
        answer = self._answers.get(key)
        if answer is None:
            compiled = self._cache.condition(self._expression)
            answer = self._answers[key] = compiled.holds(_arguments(self.names, values))
        return answer


class _CompiledRule:
    """A rule with its expressions, compiled when they are first needed."""

    def __init__(self, rule: Rule, cache: ExpressionCache) -> None:
        self.rule = rule
        #: Whether it is about some versions, or the proxies of one mesh, only.
        self.restricted = bool(rule.versions) or rule.folder in mesh_names()
        self.names = rule.condition.names if rule.condition is not None else ()
        self._cache = cache

    @cached_property
    def clauses(self) -> list[_Clause]:
        """The parts of its condition."""
        return [_Clause(clause, self._cache) for clause in self.rule.clauses]

    def applies_to_all(self, cases: Sequence[CaseValues]) -> bool:
        """Whether the condition holds in every case. Raises ``ExpressionError``."""
        for values in cases:
            for clause in self.clauses:
                if not clause.holds(values):
                    return False
        return True

    def makes(self, edit: RuleEdit, values: Mapping[str, Value]) -> bool:
        """Whether an edit is made at all. Raises ``ExpressionError``."""
        condition = edit.condition
        if condition is None:
            return True
        return self._cache.condition(condition).holds(_arguments(condition.names, values))

    def value(self, edit: RuleEdit, values: Mapping[str, Value]) -> Value | None:
        """Return the value that an edit sets or renames to. Raises ``ExpressionError``."""
        expression = edit.value
        if expression is None:
            return None
        return self._cache.expression(expression).value(_arguments(expression.names, values))


def _arguments(names: Iterable[str], values: Mapping[str, Value] | CaseValues) -> dict[str, Value]:
    return {name: values[name] for name in names}  # type: ignore[misc]


def _is_never_counted(_rule: str, _severity: Severity) -> bool:
    return False


class RuleEvaluator:
    """Evaluates rules. A rule that fails is reported once and not evaluated again.

    ``is_counted`` says of a rule and a severity that its findings are only counted, so they get no
    texts and no fix.
    """

    def __init__(
        self,
        rules: Sequence[Rule],
        vocabulary: Vocabulary,
        severities: Mapping[str, Severity] | None = None,
        is_counted: Callable[[str, Severity], bool] = _is_never_counted,
    ) -> None:
        self.is_counted = is_counted
        self.rules = rules
        self.vocabulary = vocabulary
        self.severities = severities or {}
        self.failures: dict[str, RuleFailure] = {}
        self._by_subject: dict[SubjectKind, list[_CompiledRule]] = {}
        self._by_problem: dict[str, list[_CompiledRule]] = {}
        self._meshes = mesh_names()
        self._in_range: dict[tuple[str, Version], bool] = {}
        used = {name for rule in rules for name in rule.platforms}
        for platform in load_platforms(used - vocabulary.platforms):
            vocabulary.add(platform)
        expressions = shared_expressions()
        expressions.add_fields_of(rules)
        for rule in rules:
            compiled = _CompiledRule(rule, expressions)
            if rule.problem is not None:
                self._by_problem.setdefault(rule.problem, []).append(compiled)
            else:
                self._by_subject.setdefault(rule.subject, []).append(compiled)

    def evaluate(
        self, subject: Subject, problem: str | None = None, *, values_only: bool = False
    ) -> Iterator[Finding]:
        """Yield the findings on one subject; ``problem`` is its kind where it is a problem.

        ``values_only``: only rules that hold for the values of charts too.
        """
        if problem is not None:
            rules = self._by_problem.get(problem, ())
        else:
            rules = self._by_subject.get(subject.kind, ())
        for compiled in rules:
            if values_only and not compiled.rule.values:
                continue
            found = self._attempt(compiled, subject, self._find)
            if found is not None:
                yield found

    def applies(self, rule_id: str, subject: Subject) -> bool:
        """Return whether a rule reports something for a subject that is not a problem."""
        rules = self._by_subject.get(subject.kind, ())
        return any(self._attempt(c, subject, self._holds) for c in rules if c.rule.id == rule_id)

    def _attempt(
        self,
        compiled: _CompiledRule,
        subject: Subject,
        evaluate: Callable[[_CompiledRule, Subject], _Result],
    ) -> _Result | None:
        """Return what a rule says of a subject; None where it fails, which is noted."""
        rule = compiled.rule
        if rule.id in self.failures:
            return None
        try:
            return evaluate(compiled, subject)
        except ExpressionError as error:
            self.failures[rule.id] = RuleFailure(rule, error.reason)
        except Exception as error:  # a mistake of ours: the other rules are still evaluated
            self.failures[rule.id] = RuleFailure(rule, internal_error(error))
        return None

    def _find(self, compiled: _CompiledRule, subject: Subject) -> Finding | None:
        return self._finding(compiled, subject) if self._holds(compiled, subject) else None

    def _holds(self, compiled: _CompiledRule, subject: Subject) -> bool:
        rule = compiled.rule
        loss = subject.loss
        if loss is not None and not any(each.selects(loss) for each in rule.losses):
            return False
        if compiled.restricted and not self._is_about(rule, subject):
            return False
        # An error, or a warning, holds whatever the unknown durations are.
        return compiled.applies_to_all(subject.cases)

    def _is_about(self, rule: Rule, subject: Subject) -> bool:
        """Whether a rule is about the subject's versions, and about its mesh."""
        of_mesh = subject.kind is SubjectKind.PROXY and rule.folder in self._meshes
        if of_mesh and subject.mesh != rule.folder:
            return False
        # A version that is not known is assumed to be a current one.
        for platform, versions in rule.versions.items():
            version = subject.versions.get(platform, CURRENT)
            key = versions.text, version
            if key not in self._in_range:
                self._in_range[key] = version in versions
            if not self._in_range[key]:
                return False
        return True

    def _finding(self, compiled: _CompiledRule, subject: Subject) -> Finding:
        rule = compiled.rule
        location = _location(rule, subject)
        document = document_of(location)
        outside = document is not document_of(subject.home)
        decided_by = _describe_decision(rule, subject)
        deciding: tuple[Related, ...] = ()
        if (
            outside
            and document is not None
            and document.is_context
            and subject.workload is not None
        ):
            # Nothing is reported in files that are read for context only: the pod is.
            deciding = (Related(decided_by or rule.title, location.region()),)
            location = subject.home
        region = location.region()
        assumptions = subject.assumptions_for(compiled.names)
        severity = self._severity(rule, subject, assumptions)
        counted = self.is_counted(rule.id, severity)
        # The severity rests on what decides the finding; the message may say more.
        all_assumptions = subject.assumptions_for((*compiled.names, *rule.message.names))
        return Finding(
            rule=rule.id,
            name=rule.name,
            title=rule.title,
            severity=severity,
            confidence=_confidence(assumptions),
            region=region,
            message="" if counted else rule.message.fill(subject, region.file),
            fix=None if counted else self._fix(compiled, subject, region.file),
            workload=subject.workload,
            container=subject.container,
            assumptions=tuple(intern(str(assumption)) for assumption in all_assumptions),
            about_versions=tuple(
                dict.fromkeys(name for a in assumptions for name in a.about_versions)
            ),
            related=() if counted else (*deciding, *_related(rule, subject, region, deciding)),
            template=location.template,
            subject_region=subject.home.region() if subject.workload is not None else None,
            outside=outside,
            decided_by=decided_by,
            variants=_variants(subject),
            loss=report_loss(subject.loss) if subject.loss is not None else None,
        )

    def _severity(
        self, rule: Rule, subject: Subject, assumptions: tuple[Assumption, ...]
    ) -> Severity:
        if subject.loss is not None and rule.id not in self.severities:
            return loss_severity(subject.loss, assumptions)
        severity = self.severities.get(rule.id, rule.severity)
        # An error holds whatever is unknown; one that rests on an assumption does not.
        rests = bool(assumptions) and severity is Severity.ERROR
        return Severity.WARNING if rests else severity

    def _fix(self, compiled: _CompiledRule, subject: Subject, file: str) -> Fix | None:
        """Return the fix's text and changes; no changes where one of them cannot be worked out."""
        rule = compiled.rule
        if rule.fix is None:
            return None
        # Many findings of a large run have the same text: it is stored once.
        text = intern(rule.fix.fill(subject, file))
        if rule.makes_solution:
            made = subject.solution_changes()
            # A longer grace period changes nothing else; a delay or a proxy's settings do.
            safe = rule.safe and all(change.field == GRACE_FIELD for change in made)
            return Fix(text, made, safe)
        changes = []
        for edit in rule.edits:
            expressions = [e for e in (edit.value, edit.condition) if e is not None]
            names = [name for expression in expressions for name in expression.names]
            values: dict[str, Value] = {}
            for name in names:
                value = subject.cases[0][name]
                if value is None:
                    return Fix(text)
                values[name] = value
            if not compiled.makes(edit, values):
                continue
            new = compiled.value(edit, values)
            target = _edit_target(edit.field, rule, subject)
            if target is None:  # what decides is in no manifest that could be changed for it
                return Fix(text)
            changes.append(Change(edit.action, edit.field, target, _single(new)))
        return Fix(text, tuple(changes), rule.safe)


def _describe_decision(rule: Rule, subject: Subject) -> str:
    """Return the setting that decides, with its value and origin, wherever it is written."""
    loss = subject.loss
    setting = loss.setting if loss is not None else subject.setting(rule.at) if rule.at else None
    if setting is None:
        return ""
    name = setting.name.removeprefix(f"{subject.container} ")
    origin = setting.origin
    by = "" if origin.kind is OriginKind.EXPLICIT else f", {origin.label}"
    return intern(without_absent_hook(f"{name} {setting.value_text}{by}"))


def _single(value: Value | None) -> timedelta | bool | int | str | None:
    return value if value is None or isinstance(value, timedelta | bool | int | str) else None


def _edit_target(field: str, rule: Rule, subject: Subject) -> EditTarget | None:
    if field in subject.edit_targets or field not in (HERE, PARENT):
        return subject.edit_targets.get(field)
    location = _location(rule, subject)
    return EditTarget(location.parent if field == PARENT else location)


def _variants(subject: Subject) -> tuple[str, ...]:
    """Return the environment that a subject is deployed to, if there are several."""
    location = subject.home
    ref = location.host if isinstance(location, EmbeddedNodeRef) else location
    name = ref.document.variant if isinstance(ref, NodeRef) else ""
    return (name,) if name else ()


def _location(rule: Rule, subject: Subject) -> SourceLocation:
    """Return the location of a finding."""
    found = source_location(subject.setting(rule.at)) if rule.at else None
    return found if found is not None else subject.location


def _confidence(assumptions: Iterable[Assumption]) -> Confidence:
    levels = [_BY_CONFIDENCE.index(assumption.confidence) for assumption in assumptions]
    return _BY_CONFIDENCE[max(levels, default=0)]


def _related(
    rule: Rule, subject: Subject, region: Region, deciding: Iterable[Related]
) -> Iterable[Related]:
    shown = {region, *(each.region for each in deciding)}
    for name in rule.message.names:
        setting = subject.setting(name)
        location = source_location(setting)
        if setting is None or location is None or not setting.origin.written:
            continue
        other = location.region()
        if other not in shown:
            shown.add(other)
            yield Related(intern(f"{setting.name} {setting.value_text}".strip()), other)
