"""Rule files, read and checked before anything is asked: mistakes name file and line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from shutdownlint.engine.expressions import (
    ExpressionError,
    compile_condition,
    compile_expression,
    identifiers,
)
from shutdownlint.engine.fields import FIELDS, kinds
from shutdownlint.engine.rule import (
    HERE,
    PARENT,
    Rule,
    RuleEdit,
    RuleFileError,
    Words,
    bundled_folder,
)
from shutdownlint.engine.schema import RuleSchema
from shutdownlint.yaml_source.composer import ComposeError, compose
from shutdownlint.yaml_source.location import EntryPart
from shutdownlint.yaml_source.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def load_rules(folder: Path | None = None) -> list[Rule]:
    """All rules of a folder (the bundled ones by default), by id. Raises ``RuleFileError``."""
    location = bundled_folder() if folder is None else folder
    rules = [load_rule(path) for path in sorted(location.glob("*.yaml"))]
    if not rules:
        why = "no rule files (*.yaml) here" if location.is_dir() else "there is no such folder"
        raise RuleFileError(str(location), 1, why)
    seen: dict[str, Rule] = {}
    for rule in rules:
        other = seen.setdefault(rule.id, rule)
        if other is not rule:
            raise RuleFileError(
                rule.file, rule.region.line, f"id {rule.id} is taken by {other.file}"
            )
    return sorted(rules, key=lambda rule: rule.id)


def load_rule(path: Path) -> Rule:
    """One rule file. Raises ``RuleFileError``."""
    return parse_rule(_text(path), str(path))


def load_form(path: Path) -> RuleSchema:
    """What stands in a rule file. Raises ``RuleFileError``."""
    return _form(_tree(_text(path), str(path)), str(path))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RuleFileError(str(path), 1, f"cannot be read: {error}") from None


def _tree(text: str, file: str) -> Tree:
    try:
        roots = compose(text)
    except ComposeError as error:
        raise RuleFileError(file, error.line, error.reason) from None
    if len(roots) != 1:
        raise RuleFileError(file, 1, "a rule file holds one document")
    return Tree(roots[0])


def parse_rule(text: str, file: str) -> Rule:
    """A rule from its text. Raises ``RuleFileError`` with the line of the mistake."""
    tree = _tree(text, file)
    form = _form(tree, file)
    fields = FIELDS[form.target]
    settings = [name for name, described in fields.items() if described.setting]
    types = kinds(form.target)
    try:
        compile_condition(form.when, types)
    except ExpressionError as error:
        line = _line_in(tree, ("when",), error.line, text)
        raise RuleFileError(file, line, f"when: {error.reason}") from None
    if form.at is not None and form.at not in settings:
        raise RuleFileError(
            file, _line(tree, ("at",)), f"at: '{form.at}' is no setting of a {form.target}"
        )
    rule = Rule(
        id=form.id,
        name=form.name,
        severity=form.severity,
        target=form.target,
        when=form.when,
        mentions=tuple(sorted(identifiers(form.when) & set(types))),
        at=form.at,
        message=_words(tree, file, ("message",), form.message, fields, settings),
        fix=_words(tree, file, ("fix", "words"), form.fix.words, fields, settings)
        if form.fix
        else None,
        edits=_edits(tree, file, form, settings) if form.fix else (),
        safe=form.fix is not None and form.fix.safety == "safe",
        kubernetes=form.since.kubernetes,
        istio=form.since.istio,
        file=file,
        region=tree.region(("when",), EntryPart.KEY, file, 1),
    )
    rule.__dict__["form"] = form
    return rule


def _edits(
    tree: Tree, file: str, form: RuleSchema, settings: Iterable[str]
) -> tuple[RuleEdit, ...]:
    assert form.fix is not None
    types = kinds(form.target)
    found = []
    for number, edit in enumerate(form.fix.edits):
        key_path = ("fix", "edits", number)
        actions = {"set": edit.set, "remove": edit.remove, "rename": edit.rename}
        actions["quote"] = edit.quote
        action, name = next((a, n) for a, n in actions.items() if n is not None)
        if name not in (HERE, PARENT, *settings):
            reason = f"'{name}' is no setting of a {form.target}, nor '{HERE}' or '{PARENT}'"
            raise RuleFileError(file, _line(tree, (*key_path, action)), f"fix: {reason}")
        try:
            if edit.to is not None:
                compile_expression(edit.to, types)
            if edit.condition is not None:
                compile_condition(edit.condition, types)
        except ExpressionError as error:
            raise RuleFileError(file, _line(tree, key_path), f"fix: {error.reason}") from None
        mentions = identifiers(f"{edit.to or ''} {edit.condition or ''}") & set(types)
        asked = tuple(sorted(mentions))
        found.append(RuleEdit(form.target, action, name, edit.to, edit.condition, asked))
    return tuple(found)


def _form(tree: Tree, file: str) -> RuleSchema:
    data: Any = tree.plain()
    if not isinstance(data, dict):
        raise RuleFileError(file, 1, "a rule file is a mapping")
    try:
        return RuleSchema.model_validate(data)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        key_path = tuple(problem["loc"])
        name = ".".join(str(step) for step in key_path)
        reason = _PYDANTIC.get(problem["type"], problem["msg"].removeprefix("Value error, "))
        raise RuleFileError(file, _line(tree, key_path), f"{name}: {reason}") from None


_PYDANTIC: Final = {
    "missing": "is missing",
    "extra_forbidden": "is not part of a rule file",
}


def _line(tree: Tree, key_path: tuple[str | int, ...]) -> int:
    return tree.region(key_path, EntryPart.VALUE, "", 1).line


def _line_in(tree: Tree, key_path: tuple[str | int, ...], line: int, text: str) -> int:
    """The line of a line within a value: block text starts below its indicator."""
    first = _line(tree, key_path)
    block = re.search(r":\s*[|>][+-]?\d*\s*$", text.splitlines()[first - 1])
    return first + line - (0 if block else 1)


def _words(
    tree: Tree,
    file: str,
    key_path: tuple[str, ...],
    text: str,
    fields: Iterable[str],
    settings: Iterable[str],
) -> Words:
    try:
        return Words.parse(text, fields, settings)
    except ValueError as error:
        raise RuleFileError(file, _line(tree, key_path), f"{'.'.join(key_path)}: {error}") from None
