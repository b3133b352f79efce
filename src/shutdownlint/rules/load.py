"""Rule files, read and checked before anything is asked: mistakes name file and line."""

from __future__ import annotations

import re
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field
from pydantic import ValidationError

from shutdownlint.rules.cel import (
    Condition,
    Expression,
    ExpressionError,
    compile_condition,
    compile_expression,
    identifiers,
)
from shutdownlint.rules.form import RuleForm
from shutdownlint.rules.vocabulary import FIELDS, kinds, shown
from shutdownlint.yamltext.compose import ComposeError, compose
from shutdownlint.yamltext.place import Part
from shutdownlint.yamltext.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shutdownlint.rules.cel import Value
    from shutdownlint.rules.vocabulary import Subject, Values
    from shutdownlint.yamltext.place import Place


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
    """A loaded edit of a fix."""

    action: str
    field: str
    to: Expression | None
    condition: Condition | None
    mentions: frozenset[str]


#: The finding's own place, and the entry that it stands in.
HERE, PARENT = "here", "parent"


class Rule(Struct, dict=True):
    """A loaded rule."""

    form: RuleForm
    file: str
    place: Place
    message: Words
    fix: Words | None
    condition: Condition
    edits: tuple[RuleEdit, ...] = ()
    #: What the condition said of values it was asked of.
    answers: dict[tuple[Value, ...], bool] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Such as SL101."""
        return self.form.id

    @cached_property
    def mentions(self) -> frozenset[str]:
        """The fields its condition needs: where one is absent the rule is not asked."""
        return frozenset(identifiers(self.form.when) & set(kinds(self.form.target)))


def bundled_folder() -> Path:
    """Where the rule files that come with shutdownlint are."""
    shipped = Path(str(files("shutdownlint"))) / "rulebook"
    # In a source checkout they stand beside src/, and the wheel carries a copy.
    return shipped if shipped.is_dir() else Path(__file__).resolve().parents[3] / "rules"


def load_rules(folder: Path | None = None) -> list[Rule]:
    """All rules of a folder (the bundled ones by default), by id. Raises ``RuleFileError``."""
    where = bundled_folder() if folder is None else folder
    rules = [load_rule(path) for path in sorted(where.glob("*.yaml"))]
    if not rules:
        raise RuleFileError(str(where), 1, "no rule files here")
    seen: dict[str, Rule] = {}
    for rule in rules:
        other = seen.setdefault(rule.id, rule)
        if other is not rule:
            raise RuleFileError(
                rule.file, rule.place.line, f"id {rule.id} is taken by {other.file}"
            )
    return sorted(rules, key=lambda rule: rule.id)


def load_rule(path: Path) -> Rule:
    """One rule file. Raises ``RuleFileError``."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RuleFileError(str(path), 1, f"cannot be read: {error}") from None
    return parse_rule(text, str(path))


def parse_rule(text: str, file: str) -> Rule:
    """A rule from its text. Raises ``RuleFileError`` with the line of the mistake."""
    try:
        roots = compose(text)
    except ComposeError as error:
        raise RuleFileError(file, error.line, error.reason) from None
    if len(roots) != 1:
        raise RuleFileError(file, 1, "a rule file holds one document")
    tree = Tree(roots[0])
    form = _form(tree, file)
    fields = FIELDS[form.target]
    settings = [name for name, described in fields.items() if described.setting]
    try:
        condition = compile_condition(form.when, kinds(form.target))
    except ExpressionError as error:
        line = _line_in(tree, ("when",), error.line, text)
        raise RuleFileError(file, line, f"when: {error.reason}") from None
    if form.at is not None and form.at not in settings:
        raise RuleFileError(
            file, _line(tree, ("at",)), f"at: '{form.at}' is no setting of a {form.target}"
        )
    message = _words(tree, file, ("message",), form.message, fields, settings)
    fix = (
        _words(tree, file, ("fix", "words"), form.fix.words, fields, settings) if form.fix else None
    )
    place = tree.place(("when",), Part.KEY, file, 1)
    edits = _edits(tree, file, form, settings) if form.fix else ()
    return Rule(form, file, place, message, fix, condition, edits)


def _edits(tree: Tree, file: str, form: RuleForm, settings: Iterable[str]) -> tuple[RuleEdit, ...]:
    assert form.fix is not None
    types = kinds(form.target)
    found = []
    for number, edit in enumerate(form.fix.edits):
        route = ("fix", "edits", number)
        actions = {"set": edit.set, "remove": edit.remove, "rename": edit.rename}
        actions["quote"] = edit.quote
        action, name = next((a, n) for a, n in actions.items() if n is not None)
        if name not in (HERE, PARENT, *settings):
            reason = f"'{name}' is no setting of a {form.target}, nor '{HERE}' or '{PARENT}'"
            raise RuleFileError(file, _line(tree, (*route, action)), f"fix: {reason}")
        try:
            to = compile_expression(edit.to, types) if edit.to is not None else None
            asked = edit.condition
            condition = compile_condition(asked, types) if asked is not None else None
        except ExpressionError as error:
            raise RuleFileError(file, _line(tree, route), f"fix: {error.reason}") from None
        mentions = identifiers(f"{edit.to or ''} {edit.condition or ''}") & set(types)
        found.append(RuleEdit(action, name, to, condition, frozenset(mentions)))
    return tuple(found)


def _form(tree: Tree, file: str) -> RuleForm:
    data: Any = tree.plain()
    if not isinstance(data, dict):
        raise RuleFileError(file, 1, "a rule file is a mapping")
    try:
        return RuleForm.model_validate(data)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        route = tuple(problem["loc"])
        name = ".".join(str(step) for step in route)
        reason = _PYDANTIC.get(problem["type"], problem["msg"].removeprefix("Value error, "))
        raise RuleFileError(file, _line(tree, route), f"{name}: {reason}") from None


_PYDANTIC: Final = {
    "missing": "is missing",
    "extra_forbidden": "is not part of a rule file",
}


def _line(tree: Tree, route: tuple[str | int, ...]) -> int:
    return tree.place(route, Part.VALUE, "", 1).line


def _line_in(tree: Tree, route: tuple[str | int, ...], line: int, text: str) -> int:
    """The line of a line within a value: block text starts below its indicator."""
    first = _line(tree, route)
    block = re.search(r":\s*[|>][+-]?\d*\s*$", text.splitlines()[first - 1])
    return first + line - (0 if block else 1)


def _words(
    tree: Tree,
    file: str,
    route: tuple[str, ...],
    text: str,
    fields: Iterable[str],
    settings: Iterable[str],
) -> Words:
    try:
        return Words.parse(text, fields, settings)
    except ValueError as error:
        raise RuleFileError(file, _line(tree, route), f"{'.'.join(route)}: {error}") from None
