"""Each regular expression of the program on texts that could make it slow: ``python -m tests.fuzz.patterns``.

The texts repeat characters and pairs of characters that the expression names. An expression whose time
grows faster than its text shows here, wherever it is used. What the commands do with such texts is
measured by ``tests.fuzz.pumps``.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import pkgutil
import re
import sys
import time
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import shutdownlint
from shutdownlint.patterns import LazyPattern

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Growth of the time where the text doubles: 2 is linear, 4 is quadratic.
MOST_GROWTH: Final = 3.0
#: Less time than this is not measured well, in seconds.
LEAST_SECONDS: Final = 0.004
_SEARCHES: Final = ("search", "finditer", "findall", "sub", "split")
_ALWAYS: Final = (" ", "\n", "a", "0", "-", '"')


class Expression(NamedTuple):
    """An expression, where it is, and whether it is looked for in all of a text."""

    place: str
    pattern: re.Pattern[Any]
    searches: bool


def collect() -> list[Expression]:
    """All expressions of the program: those of its modules, and those written where they are used."""
    found: dict[str, Expression] = {}
    modules = [
        importlib.import_module(info.name)
        for info in pkgutil.walk_packages(shutdownlint.__path__, "shutdownlint.")
        if not info.name.endswith("__main__")
    ]
    sources = {each: Path(str(each.__file__)).read_text(encoding="utf-8") for each in modules}
    uses = re.compile(rf"(\w+)\.(?:{'|'.join(_SEARCHES)})\(")
    for module, source in sources.items():
        searching = set(uses.findall(source))
        for name, value in vars(module).items():
            for pattern in _patterns(value):
                place = f"{module.__name__}.{name}"
                searches = name in searching or isinstance(value, tuple | list)
                found[str(pattern.pattern)] = Expression(place, pattern, searches)
        for node in ast.walk(ast.parse(source)):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="re"), attr=function),
                    args=[ast.Constant(value=str() | bytes() as text), *_],
                ) if function != "compile":
                    place = f"{module.__name__}:{node.lineno}"
                    searches = function in _SEARCHES
                    found[str(text)] = Expression(place, re.compile(text), searches)
    return list(found.values())


def _patterns(value: object) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, LazyPattern):
        yield value.compiled()
    elif isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _patterns(part)


def named_characters(pattern: re.Pattern[Any]) -> set[str]:
    """Characters that the text of the expression has, and one of each of its classes."""
    text = (
        pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    )
    return {each for each in text if each not in "\\^"} | set(_ALWAYS)


def texts(pattern: re.Pattern[Any], size: int) -> Iterator[tuple[str, Any]]:
    characters = sorted(named_characters(pattern))
    words = sorted(set(re.findall(r"\w{2,}|\W{2,}", str(pattern.pattern))))
    openings = ["", *words]
    pairs = (*product(characters, repeat=2), *product(words, ("", " ", "\n", "=", "a")))
    for unit in (*characters, *map("".join, pairs)):
        for opening in openings if len(unit) == 1 else ("",):
            text = opening + unit * (size // len(unit)) + "\x01"
            yield (
                f"{opening!r} {unit!r}",
                text if isinstance(pattern.pattern, str) else text.encode(),
            )


def seconds(expression: Expression, text: Any) -> float:
    """Return the CPU time that the expression takes, used as the program uses it."""
    begin = time.process_time()
    expression.pattern.match(text)
    expression.pattern.fullmatch(text)
    if expression.searches:
        for _ in expression.pattern.finditer(text):
            pass
    return time.process_time() - begin


def slow(expression: Expression, size: int) -> Iterator[str]:
    """Yield the texts on which an expression is slower than linear."""
    pairs = zip(texts(expression.pattern, size), texts(expression.pattern, 2 * size), strict=True)
    for (name, text), (_, double) in pairs:
        once = seconds(expression, text)
        if once > LEAST_SECONDS and (growth := seconds(expression, double) / once) > MOST_GROWTH:
            yield f"{name}: {once * 1000:.0f} ms, times {growth:.1f} for twice the text"


def main() -> None:
    """Print what is slow."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--characters", type=int, default=3000)
    asked = parser.parse_args()
    found = 0
    expressions = collect()
    for expression in expressions:
        for problem in slow(expression, asked.characters):
            found += 1
            sys.stdout.write(f"{expression.place} {expression.pattern.pattern!r}: {problem}\n")
            sys.stdout.flush()
            break
    sys.stdout.write(f"{len(expressions)} expressions, {found} slow\n")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
