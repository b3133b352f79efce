"""The fields and problem kinds that rules may use, as Markdown and as text."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from shutdownlint.engine.problems import PROBLEMS
from shutdownlint.platforms.fields import SubjectKind
from shutdownlint.platforms.registry import PLATFORMS, load_platform

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.platforms.fields import Field
    from shutdownlint.platforms.problem import Problem


def fields_text() -> str:
    """All fields and problem kinds, for a terminal."""
    return "".join(f"{line}\n" for line in _lines())


def _lines() -> Iterator[str]:
    platforms = [(entry.title, load_platform(entry)) for entry in PLATFORMS]
    for kind in SubjectKind:
        if kind is SubjectKind.PROBLEM:
            continue
        yield f"for: {kind.value}"
        for title, platform in platforms:
            for field in platform.fields.get(kind, ()):
                yield _format_field(field, title)
        yield ""
    yield "for: problem"
    yield from (_format_problem(problem, "") for problem in PROBLEMS)
    for title, platform in platforms:
        yield from (_format_problem(problem, title) for problem in platform.problems)


def _format_field(field: Field, title: str) -> str:
    origin = f" {{{field.name}.origin}}" if field.setting else ""
    return f"  {field.name:<28} {field.type.value:<16} {field.doc}{origin}  [{title}]"


def _format_problem(problem: type[Problem], title: str) -> str:
    doc = inspect.getdoc(problem) or ""
    names = " ".join(f"{{{name}}}" for name in problem.parameters())
    platform = f"  [{title}]" if title else ""
    first = doc.splitlines()[0].rstrip(".")
    return f"  {problem.kind():<28} {first[:1].lower()}{first[1:]}  {names}{platform}"


def fields_markdown() -> str:
    """Return the same as Markdown tables, for the documentation."""
    parts: list[str] = []
    for kind in SubjectKind:
        if kind is SubjectKind.PROBLEM:
            continue
        rows = [
            f"| `{field.name}` | {field.type.value} | {field.doc} "
            f"| {'yes' if field.setting else ''} | {entry.title} |"
            for entry in PLATFORMS
            for field in load_platform(entry).fields.get(kind, ())
        ]
        head = "| field | type | meaning | setting | platform |\n|---|---|---|---|---|"
        parts.append(f"### for: {kind.value}\n\n" + "\n".join([head, *rows]))
    rows = [_problem_row(problem, "") for problem in PROBLEMS]
    rows += [
        _problem_row(problem, entry.title)
        for entry in PLATFORMS
        for problem in load_platform(entry).problems
    ]
    head = "| problem | meaning | parameters | platform |\n|---|---|---|---|"
    parts.append("### for: problem\n\n" + "\n".join([head, *rows]))
    return "\n\n".join(parts) + "\n"


def _problem_row(problem: type[Problem], title: str) -> str:
    doc = " ".join((inspect.getdoc(problem) or "").split("\n\n")[0].split())
    names = ", ".join(f"`{name}`" for name in problem.parameters())
    return f"| `{problem.kind()}` | {doc} | {names} | {title} |"
