"""Rule files: read, checked and made into rules. Mistakes name file and line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from shutdownlint.engine.errors import RuleFileError
from shutdownlint.engine.expressions import (
    Compiler,
    ExpressionError,
    identifiers,
    split_conjunction,
    without_engine,
)
from shutdownlint.engine.finding import EditAction
from shutdownlint.engine.rule import (
    HERE,
    PARENT,
    SUCCESSOR,
    LossSelector,
    Rule,
    RuleEdit,
    RuleExpression,
)
from shutdownlint.engine.schema import SOLUTION, EditSchema, LossSchema, RuleSchema
from shutdownlint.engine.template import MessageTemplate
from shutdownlint.engine.vocabulary import ORIGIN_SUFFIX, Vocabulary, expression_types
from shutdownlint.platforms.fields import edit_distance_suggestion
from shutdownlint.platforms.registry import all_platforms
from shutdownlint.yaml_source.location import EntryPart
from shutdownlint.yaml_source.source_file import parse_mapping, read_source

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from shutdownlint.platforms.fields import Field
    from shutdownlint.yaml_source.tree import Tree

_Path = tuple[str | int, ...]


def full_vocabulary() -> Vocabulary:
    """Return the names of all platforms that there are."""
    return Vocabulary(all_platforms())


def load_rules(paths: Iterable[Path], vocabulary: Vocabulary, folder: str = "") -> list[Rule]:
    """Return the rules of these files, by id. Raises ``RuleFileError``."""
    rules: dict[str, Rule] = {}
    for path in paths:
        rule = load_rule(path, vocabulary, folder)
        other = rules.setdefault(rule.id, rule)
        if other is not rule:
            raise RuleFileError(
                rule.file, rule.region.line, f"id {rule.id} is taken by {other.file}"
            )
    return sorted(rules.values(), key=lambda rule: rule.id)


def load_rule(path: Path, vocabulary: Vocabulary, folder: str = "") -> Rule:
    """One rule file. Raises ``RuleFileError``."""
    return parse_rule(read_source(path, RuleFileError), str(path), vocabulary, folder)


def load_schema(path: Path) -> RuleSchema:
    """Everything that is written in a rule file. Raises ``RuleFileError``."""
    return _parse(read_source(path, RuleFileError), str(path))[1]


def parse_rule(text: str, file: str, vocabulary: Vocabulary, folder: str = "") -> Rule:
    """Return a rule from its text. Raises ``RuleFileError`` with the line of the mistake."""
    tree, schema = _parse(text, file)
    return _RuleBuilder(tree, schema, text, file, vocabulary).build(folder)


def _parse(text: str, file: str) -> tuple[Tree, RuleSchema]:
    tree, data = parse_mapping(text, file, "a rule file", RuleFileError)
    return tree, _validate(tree, data, file)


def _validate(tree: Tree, data: dict[Any, Any], file: str) -> RuleSchema:
    try:
        return RuleSchema.model_validate(data)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        key_path = tuple(problem["loc"])
        name = ".".join(str(step) for step in key_path)
        reason = _REASONS.get(problem["type"], problem["msg"].removeprefix("Value error, "))
        if problem["type"] == "extra_forbidden" and len(key_path) == 1:
            known = [f.alias or n for n, f in RuleSchema.model_fields.items()]
            reason += edit_distance_suggestion(name, known)
        text = f"{name}: {reason}" if name else reason
        raise RuleFileError(file, _line(tree, key_path), text) from None


_REASONS: Final = {"missing": "is missing", "extra_forbidden": "is not a key of rule files"}


def _line(tree: Tree, key_path: _Path) -> int:
    return tree.region(key_path, EntryPart.VALUE, "", 1).line


class _RuleBuilder:
    """Checks the names and expressions of one rule file."""

    def __init__(
        self, tree: Tree, schema: RuleSchema, text: str, file: str, vocabulary: Vocabulary
    ) -> None:
        self.tree = tree
        self.schema = schema
        self.text = text
        self.file = file
        self.vocabulary = vocabulary
        self.used: set[str] = set()
        self.fields: Mapping[str, Field] = self._fields()

    def build(self, folder: str) -> Rule:
        """Return the rule. Raises ``RuleFileError``."""
        schema = self.schema
        condition = None
        if schema.when is not None:
            condition = self._expression(("when",), schema.when, condition=True)
        if schema.at is not None:
            self._check_setting(("at",), schema.at)
        key = (next(k for k in ("when", "problem", "loss") if getattr(schema, k) is not None),)
        return Rule(
            id=schema.id,
            name=schema.name,
            title=schema.headline,
            rejects=schema.rejects,
            values=schema.values or schema.rejects,
            severity=schema.severity,
            subject=schema.subject,
            problem=schema.problem,
            losses=tuple(map(_selector, schema.loss or ())),
            condition=condition,
            clauses=tuple(self._clauses(condition)) if condition is not None else (),
            at=schema.at,
            message=self._template(("message",), schema.message),
            fix=self._template(("fix", "description"), schema.fix.description)
            if schema.fix
            else None,
            edits=tuple(self._edits()),
            makes_solution=schema.fix is not None and schema.fix.edits == SOLUTION,
            safe=schema.fix is not None and schema.fix.safety == "safe",
            versions=schema.versions,
            platforms=tuple(sorted(self.used)),
            folder=folder,
            file=self.file,
            region=self.tree.region(key, EntryPart.KEY, self.file, 1),
        )

    def _fail(self, line: int, reason: str) -> RuleFileError:
        return RuleFileError(self.file, line, reason)

    def _fields(self) -> Mapping[str, Field]:
        problem = self.schema.problem
        if problem is None:
            return self.vocabulary.fields(self.schema.subject)
        if problem not in self.vocabulary.problems:
            hint = edit_distance_suggestion(problem, list(self.vocabulary.problems))
            line = _line(self.tree, ("problem",))
            raise self._fail(line, f"problem: nothing reports '{problem}'{hint}")
        self.used.add(self.vocabulary.problems[problem].platform or "")
        self.used.discard("")
        return self.vocabulary.fields(self.schema.subject, problem)

    def _use(self, name: str) -> None:
        owner = self.vocabulary.owner(self.schema.subject, name)
        if owner is not None:
            self.used.add(owner)

    def _check_setting(self, key_path: _Path, name: str) -> None:
        self._use(name)
        field = self.fields.get(name)
        if field is None or not field.setting:
            settings = [n for n, field in self.fields.items() if field.setting]
            hint = edit_distance_suggestion(name, settings)
            raise self._fail(
                _line(self.tree, key_path),
                f"{key_path[0]}: '{name}' is not a setting of a {self.schema.subject}{hint}",
            )

    def _template(self, key_path: _Path, text: str) -> MessageTemplate:
        try:
            template = MessageTemplate.parse(text, self.fields)
        except ValueError as error:
            name = ".".join(str(step) for step in key_path)
            raise self._fail(_line(self.tree, key_path), f"{name}: {error}") from None
        for name in template.names:
            self._use(name)
        return template

    def _expression(self, key_path: _Path, text: str, *, condition: bool) -> RuleExpression:
        types = expression_types(self.fields)
        names = identifiers(text)
        mentioned = {name: types[name] for name in sorted(names) if name in types}
        for name in mentioned:
            self._use(name if name in self.fields else name.removesuffix(ORIGIN_SUFFIX))
        try:
            compiler = Compiler(mentioned)
            if condition:
                compiler.condition(text)
            else:
                compiler.expression(text)
        except ExpressionError as error:
            line = self._line_in(key_path, error.line)
            unknown = re.search(r"undeclared reference to '(\w+)'", error.reason)
            hint = edit_distance_suggestion(unknown[1], list(types)) if unknown else ""
            raise self._fail(line, f"{key_path[0]}: {error.reason}{hint}") from None
        return RuleExpression(text, mentioned)

    def _clauses(self, condition: RuleExpression) -> list[RuleExpression]:
        """Return the parts of a condition, cheapest first: flags, parts without engine, others."""
        clauses = []
        for text in split_conjunction(condition.text):
            names = identifiers(text)
            types = {name: kind for name, kind in condition.types.items() if name in names}
            clauses.append(RuleExpression(text, types))
        return sorted(clauses, key=_cost)

    def _line_in(self, key_path: _Path, line: int) -> int:
        """Return the line of a line within a value: block text starts below its indicator."""
        first = _line(self.tree, key_path)
        block = re.search(r":\s*[|>][+-]?\d*\s*$", self.text.splitlines()[first - 1])
        return first + line - (0 if block else 1)

    def _edits(self) -> Iterable[RuleEdit]:
        edits = self.schema.fix.edits if self.schema.fix else []
        if edits == SOLUTION:
            return
        for number, edit in enumerate(edits):
            assert isinstance(edit, EditSchema)
            yield self._edit(("fix", "edits", number), edit)

    def _edit(self, key_path: _Path, edit: EditSchema) -> RuleEdit:
        action, name = next(
            (action, name)
            for action in EditAction
            if (name := getattr(edit, action.value)) is not None
        )
        if name not in (HERE, PARENT, SUCCESSOR):
            self._check_edit_target((*key_path, action.value), name)
        value = edit.to and self._expression((*key_path, "to"), edit.to, condition=False)
        condition = edit.condition and self._expression(
            (*key_path, "if"), edit.condition, condition=True
        )
        return RuleEdit(action, name, value or None, condition or None)

    def _check_edit_target(self, key_path: _Path, name: str) -> None:
        field = self.fields.get(name)
        if field is None or not field.setting:
            settings = [n for n, field in self.fields.items() if field.setting]
            hint = edit_distance_suggestion(name, settings)
            reason = f"'{name}' is not a setting of a {self.schema.subject}, nor "
            reason += f"'{HERE}', '{PARENT}' or '{SUCCESSOR}'"
            raise self._fail(_line(self.tree, key_path), f"fix: {reason}{hint}")


def _selector(schema: LossSchema) -> LossSelector:
    return LossSelector(
        tuple(kind.value for kind in schema.kind),
        tuple(means.value for means in schema.by),
        tuple(schema.role),
        tuple(schema.length),
    )


def _cost(clause: RuleExpression) -> int:
    if clause.wanted_flag is not None:
        return 0
    return 1 if without_engine(clause.text, clause.types) is not None else 2
