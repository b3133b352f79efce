"""A rule as it is asked: what a rule file says, checked, without the library that checked it."""

from __future__ import annotations

from functools import cache, cached_property
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint.engine.expressions import Value, compile_condition, compile_expression
from shutdownlint.engine.fields import SubjectKind, kinds, shown
from shutdownlint.engine.finding import Severity  # noqa: TC001
from shutdownlint.platforms.versions import Range  # noqa: TC001 - kept rules are decoded by type
from shutdownlint.yaml_source.location import Region  # noqa: TC001

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from shutdownlint.engine.expressions import Condition, Expression
    from shutdownlint.engine.fields import Subject, Values
    from shutdownlint.engine.schema import RuleSchema

#: The finding's own place, and the entry that it stands in.
HERE, PARENT = "here", "parent"


class RuleFileError(Exception):
    """A rule file that cannot be used: ``file:line: reason``."""

    def __init__(self, file: str, line: int, reason: str) -> None:
        super().__init__(f"{file}:{line}: {reason}")
        self.file = file
        self.line = line
        self.reason = reason


class Words(Struct, frozen=True):
    """A message template: ``{field}`` for a value, ``{field.origin}`` for where it comes from."""

    text: str
    parts: tuple[tuple[str, str | None, bool], ...]

    @classmethod
    def parse(cls, text: str, fields: Iterable[str], settings: Iterable[str]) -> Words:
        """Raises ``ValueError`` for an unknown field or broken braces."""
        known, with_origin = set(fields), set(settings)
        parts: list[tuple[str, str | None, bool]] = []
        for literal, name, spec, conversion in Formatter().parse(" ".join(text.split())):
            if name is None:
                parts.append((literal, None, False))
                continue
            base, _, attribute = name.partition(".")
            if base not in known or spec or conversion or attribute not in ("", "origin"):
                raise ValueError(f"unknown field '{{{name}}}'")
            if attribute and base not in with_origin:
                raise ValueError(f"'{base}' has no origin")
            parts.append((literal, base, bool(attribute)))
        return cls(text, tuple(parts))

    @property
    def names(self) -> tuple[str, ...]:
        """The fields it mentions."""
        return tuple(name for _, name, _ in self.parts if name is not None)

    def fill(self, subject: Subject, values: Values, file: str) -> str:
        """The message for one subject, shown in ``file``."""
        out = []
        for literal, name, origin in self.parts:
            out.append(literal)
            if name is None:
                continue
            setting = subject.settings.get(name)
            if origin:
                out.append(setting.origin.told_in(file) if setting else "unknown")
            else:
                value = setting.shown if setting else _shown(values, name)
                if not value:  # an empty value leaves no gap
                    out[-1] = out[-1].removesuffix(" ")
                out.append(value)
        return "".join(out)


def _shown(values: Values, name: str) -> str:
    return shown(values[name]) if values.holds(name) else "?"


class RuleEdit(Struct, frozen=True):
    """An edit of a fix; ``to`` and ``condition`` are expressions over the target's fields."""

    target: SubjectKind
    action: str
    field: str
    to: str | None
    condition: str | None
    mentions: tuple[str, ...]

    def applies(self, values: Mapping[str, Value]) -> bool:
        """Whether it is made at all. Raises ``ExpressionError``."""
        return self.condition is None or condition_of(self.condition, self.target).holds(values)

    def value(self, values: Mapping[str, Value]) -> Value | None:
        """What it sets or renames to. Raises ``ExpressionError``."""
        return _expression(self.to, self.target).value(values) if self.to is not None else None


class Rule(Struct, dict=True):
    """A rule. ``mentions`` are the fields that its condition needs: where one is absent the rule
    is not asked.
    """

    id: str
    name: str
    severity: Severity
    target: SubjectKind
    when: str
    mentions: tuple[str, ...]
    at: str | None
    message: Words
    fix: Words | None
    edits: tuple[RuleEdit, ...]
    #: Whether its edits only improve what a pod does.
    safe: bool
    kubernetes: Range | None
    istio: Range | None
    file: str
    region: Region

    @property
    def condition(self) -> Condition:
        """Compiled when it is first asked for."""
        return condition_of(self.when, self.target)

    @cached_property
    def answers(self) -> dict[tuple[Value, ...], bool]:
        """What the condition said of values it was asked of."""
        return {}

    @cached_property
    def form(self) -> RuleSchema:
        """The whole rule file, for the pages made of it. Raises ``RuleFileError``."""
        from shutdownlint.engine.loader import load_form  # noqa: PLC0415 - needs pydantic

        return load_form(Path(self.file))


@cache
def condition_of(text: str, target: SubjectKind) -> Condition:
    """A condition over a target's fields. Raises ``ExpressionError``."""
    return compile_condition(text, _kinds(target))


@cache
def _expression(text: str, target: SubjectKind) -> Expression:
    return compile_expression(text, _kinds(target))


_kinds: Final = cache(kinds)


def bundled_folder() -> Path:
    """Where the rule files that come with shutdownlint are."""
    here = Path(__file__).resolve()
    shipped = here.parents[1] / "rulebook"
    # In a source checkout they stand beside src/, and the wheel carries a copy.
    return shipped if shipped.is_dir() else here.parents[3] / "rules"


def merge_rules(rules: list[Rule], own: list[Rule]) -> list[Rule]:
    """The rules with somebody's own among them. Raises ``RuleFileError`` where an id is taken."""
    taken = {rule.id: rule for rule in rules}
    for rule in own:
        if rule.id in taken:
            raise RuleFileError(
                rule.file, rule.region.line, f"id {rule.id} is taken by {taken[rule.id].file}"
            )
    return sorted([*rules, *own], key=lambda rule: rule.id)
