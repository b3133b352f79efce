"""The names that rules may use: the fields and problem kinds of platforms."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from shutdownlint.engine.loss_fields import LOSS_FIELDS
from shutdownlint.engine.problems import PROBLEMS
from shutdownlint.platforms.fields import Field, FieldType, SubjectKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from shutdownlint.platforms.platform import Platform
    from shutdownlint.platforms.problem import Problem

#: Behind the name of a setting: the name of its origin's kind.
ORIGIN_SUFFIX = "From"


class Vocabulary:
    """The fields by subject kind, and the kinds of problems."""

    def __init__(self, platforms: Iterable[Platform] = ()) -> None:
        self._fields: dict[SubjectKind, dict[str, Field]] = {kind: {} for kind in SubjectKind}
        self._owners: dict[tuple[SubjectKind, str], str] = {}
        self.problems: dict[str, type[Problem]] = {cls.kind(): cls for cls in PROBLEMS}
        self._fields[SubjectKind.LOSS] = {field.name: field for field in LOSS_FIELDS}
        self.platforms: set[str] = set()
        for platform in platforms:
            self.add(platform)

    def add(self, platform: Platform) -> None:
        """Add the names of a platform."""
        self.platforms.add(platform.name)
        self.problems.update({cls.kind(): cls for cls in platform.problems})
        for kind, fields in platform.fields.items():
            for field in fields:
                self._fields[kind][field.name] = field
                self._owners[kind, field.name] = platform.name

    def fields(self, kind: SubjectKind, problem: str | None = None) -> Mapping[str, Field]:
        """Return the fields of a kind of subject; of a problem its parameters."""
        if problem is not None:
            return problem_fields(self.problems[problem])
        return self._fields[kind]

    def owner(self, kind: SubjectKind, name: str) -> str | None:
        """Return the platform that declares a field."""
        return self._owners.get((kind, name))


def problem_fields(problem: type[Problem]) -> dict[str, Field]:
    """Return the parameters of a problem as fields."""
    return {
        name: Field(name, FieldType.STRING, "a parameter of the problem", attrgetter(name))
        for name in problem.parameters()
    }


def expression_types(fields: Mapping[str, Field]) -> dict[str, FieldType]:
    """Return the types of all names that expressions may use, those of origins included."""
    types: dict[str, FieldType] = {}
    for name, field in fields.items():
        types[name] = field.type
        if field.setting:
            types[name + ORIGIN_SUFFIX] = FieldType.STRING
    return types
