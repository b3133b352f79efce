"""Numbers from the input enter through one module; nothing else converts texts."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from shutdownlint.numbers import clip_decimal, clip_whole, read_percentage, read_whole

PACKAGE = Path(__file__).parents[1] / "src" / "shutdownlint"
#: Where texts of the input are read. Answers of servers, options and our own files are elsewhere.
READERS = (
    *("admission", "config", "engine", "fixes", "gitops", "images", "kustomize", "linter"),
    *("manifests", "platforms", "programs", "shell", "shutdown", "yaml_source"),
)
CONVERSIONS = frozenset(("int", "float", "Decimal", "Fraction", "timedelta", "complex"))
#: Modules whose subject is the conversion itself, with bounds of their own.
ALLOWED = {
    # Takes results of CEL apart, which are numbers of a type of its own.
    "engine/expressions.py",
    # YAML's numbers, of a bounded length.
    "yaml_source/scalars.py",
    # Bounds every duration.
    "shutdown/durations.py",
}


def conversions(path: Path) -> list[str]:
    """Return the conversions of a module that may be of a text."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        values = [*node.args, *(keyword.value for keyword in node.keywords)]
        if node.func.id in CONVERSIONS and not all(map(is_bounded, values)):
            found.append(f"{path.relative_to(PACKAGE)}:{node.lineno}: {ast.unparse(node)}")
    return found


def is_bounded(node: ast.expr) -> bool:
    """Whether an argument is a literal, or a number already."""
    text = ast.unparse(node)
    number = text.endswith((".total_seconds()", ".start_mark.index", ".start_mark.column"))
    return isinstance(node, ast.Constant) or number


def modules() -> list[Path]:
    found = [path for name in READERS for path in sorted((PACKAGE / name).rglob("*.py"))]
    return [path for path in found if str(path.relative_to(PACKAGE)) not in ALLOWED]


def test_nothing_else_converts_texts() -> None:
    assert len(modules()) > 150
    assert [each for path in modules() for each in conversions(path)] == []


#: Texts that are ours.
OURS = frozenset(
    ("entry.kind", "word.mesh", "SUPPRESSION_WORD", 'data.decode("utf-16", "replace")')
)


def encodings(path: Path) -> list[str]:
    """Return where a text is encoded that may have lone surrogates, which UTF-8 has not."""
    return [
        f"{path.relative_to(PACKAGE)}:{node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "encode"
        and not node.args
        and not node.keywords
        and ast.unparse(node.func.value).replace("'", '"') not in OURS
    ]


def test_texts_are_encoded_with_what_they_may_hold() -> None:
    readers = [*modules(), *sorted((PACKAGE / "reports").rglob("*.py"))]
    assert [each for path in readers for each in encodings(path)] == []


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("007", 7),
        ("999999999", 999999999),
        ("1000000000", None),
        ("9" * 5000, None),
        ("0" * 5000 + "1", 1),
        ("-1", None),
        ("+1", None),
        ("1e3", None),
        ("1_0", None),
        (" 1", None),
        ("", None),
        ("²", None),
        ("٣", None),
    ],
)
def test_whole_numbers(text: str, number: int | None) -> None:
    assert read_whole(text) == number
    if text.isascii() and text.isdigit():
        assert clip_whole(text, 50) == (50 if number is None else min(number, 50))
    else:
        with pytest.raises(ValueError, match="not a whole number"):
            clip_whole(text, 50)


@pytest.mark.parametrize(
    ("text", "share"), [("25%", 25), ("0%", 0), ("25", None), ("-1%", None), ("%", None)]
)
def test_percentages(text: str, share: int | None) -> None:
    assert read_percentage(text) == share
    assert read_percentage(f"{'9' * 5000}%") is None


@pytest.mark.parametrize(
    ("text", "number"), [("1.5", 1.5), (".5", 0.5), ("5.", 5.0), ("9" * 5000, 100.0), ("0", 0.0)]
)
def test_decimals(text: str, number: float) -> None:
    assert clip_decimal(text, 100) == number


@pytest.mark.parametrize("text", ["1e5", "-1", "inf", "nan", "1.2.3", "", ".", "٣"])
def test_other_texts_are_no_decimals(text: str) -> None:
    with pytest.raises(ValueError, match="not a number"):
        clip_decimal(text, 100)
