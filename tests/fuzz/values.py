"""Hostile values in every place: ``python -m tests.fuzz.values --share 0.1 --seed 1``.

The places are the scalars, lists and mappings of the rules' examples and of the repositories of
``whole_runs``: each field that some part of the program reads, and each key. The values are those of
``VALUES``. A run puts one value into one place, and runs one command on it. It must end with 0, 1 or
2, without a traceback or an unforeseen failure of a part, in 3 s of CPU, and print nothing that its
reader would act on. ``--share`` is the part of all pairs that is run.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

import yaml
from msgspec import Struct

from shutdownlint.reports.registry import CHECK_REPORTERS, EXPLAIN_REPORTERS, SUGGEST_REPORTERS
from tests.fuzz.whole_runs import MOST_KILOBYTES, MOST_SECONDS, POD, SEEDS, run_here

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT: Final = Path(__file__).resolve().parents[2]
_NINES: Final = "9" * 5000
_HUGE: Final = 200_000
#: Values as flow YAML, by a short name.
VALUES: Final[dict[str, str]] = {
    "nothing": "",
    "null": "null",
    "empty": '""',
    "true": "true",
    "zero": "0",
    "minus one": "-1",
    "2^31": "2147483648",
    "2^32": "4294967296",
    "2^63": "9223372036854775808",
    "2^64": "18446744073709551616",
    "30 digits": "9" * 30,
    "300 digits": "9" * 300,
    "minus 300 digits": "-" + "9" * 300,
    "5000 digits": _NINES,
    "minus 5000 digits": "-" + _NINES,
    "5000 digits as text": f'"{_NINES}"',
    "5000 digits behind a point": f"1.{_NINES}",
    "exponent": "1e999",
    "minus exponent": "-1e308",
    "small exponent": "1e-999",
    "infinite": ".inf",
    "minus infinite": "-.inf",
    "no number": ".nan",
    "fraction": "1.5",
    "octal": "0o7777777777777777777777777",
    "hexadecimal": "0xffffffffffffffffffff",
    "old octal": "0777",
    "sexagesimal": "190:20:30",
    "underscores": "1_000",
    "percent": f'"{_NINES}%"',
    "minus percent": '"-50%"',
    "exponent percent": '"1e9%"',
    "thousand percent": "1000%",
    "seconds": f'"{_NINES}s"',
    "exponent seconds": '"1e400s"',
    "minus seconds": f'"-{"9" * 300}s"',
    "hours": '"99999999999999h"',
    "nanoseconds": '"9223372036854775807ns"',
    "many units": f'"{"1h" * 5000}"',
    "ISO": '"P99999999999D"',
    "ISO digits": f'"PT{_NINES}S"',
    "milliseconds": f'"{"9" * 400}ms"',
    "quantity": '"1e400Ki"',
    "version": f'"v1.{_NINES}"',
    "dots": f'"{"1." * 5000}"',
    "long version": f'"{_NINES}.1.1"',
    "image": f'"istio/proxyv2:1.{_NINES}"',
    "image digits": f'"nginx:{_NINES}"',
    "image digest": '"a@sha256:' + "0" * 5000 + '"',
    "nul": '"\\0"',
    "surrogate": '"\\ud800"',
    "beyond unicode": '"\\U00110000"',
    "escape": '"\\e[31mred\\a"',
    "direction": '"\\u202eabc\\u2066"',
    "carriage return": '"a\\rb"',
    "line separator": '"a\\u2028b\\x85c"',
    "command of a log": '"\\n::error::x"',
    "command at the beginning": '"::set-output name=a::b"',
    "command of Azure": '"##[error]x"',
    "command of Azure on a line": '"\\n##vso[task.setvariable variable=a]b"',
    "link": '"[a](http://evil.example)"',
    "address": '"http://evil.example/a?b"',
    "mention": '"@somebody #1 <!-- -->"',
    "image in Markdown": '"![a](http://evil.example)"',
    "markup": '"<script>alert(1)</script>"',
    "end of CDATA": '"]]>"',
    "quotes": '"\'\\"`$(a)`"',
    "placeholder": '"{{ .Values.a }}"',
    "variable": '"${A:-b}"',
    "path": '"../../../../etc/passwd"',
    "device": '"/dev/zero"',
    "format": '"%s %n {0} {a}"',
    "long": f'"{"a" * _HUGE}"',
    "blanks": f'"a{" " * _HUGE}b"',
    "tabs": f'"a{chr(92)}t{(chr(92) + "t") * 20000}b"',
    "quoted quotes": f'"{"a=b," * 20000}"',
    "line breaks": f'"{(chr(92) + "n") * 20000}"',
    "brackets": f'"{"[" * 20000}"',
    "braces": f'"{"{" * 20000}"',
    "indicators": f'"{"- " * 20000}"',
    "dollars": f'"{"$(" * 20000}"',
    "execs": f'"{"exec " * 5000}x"',
    "shells": f'"{"sh -c " * 5000}x"',
    "wrappers": f"[{'env, nice, ' * 2000}x]",
    "sleep": '[sh, -c, "sleep 1e400"]',
    "sleeps": f'[sh, -c, "{"sleep 99999999; " * 1000}"]',
    "sleep digits": f'[sleep, "{_NINES}"]',
    "null item": "[null]",
    "empty list": "[]",
    "empty mapping": "{}",
    "mapping": "{a: b}",
    "list": "[a, b]",
    "mapping of null": "{a: null}",
    "null key": "{null: a}",
    "complex key": "{? {a: b} : c}",
    "list key": "{? [a] : c}",
    "number key": "{1: a, 1.0: b}",
    "deep list": "[" * 500 + "]" * 500,
    "deep mapping": "{a: " * 500 + "b" + "}" * 500,
    "binary": "!!binary aGVsbG8=",
    "time": "2001-12-14t21:59:43.10-05:00",
    "other tag": "!other a",
    "Python": "!!python/object/apply:os.system [true]",
    "unknown alias": "*unknown",
    "cycle": "&cycle [*cycle]",
    "cycle of mappings": "&cycle {a: *cycle}",
    "merge with itself": "&self {<<: *self}",
    "merge of a scalar": "{<<: a}",
    "many aliases": "[&a [a,a,a,a,a,a,a,a], &b [*a,*a,*a,*a,*a,*a,*a,*a], &c [*b,*b,*b,*b,*b,*b,*b,*b], "
    "&d [*c,*c,*c,*c,*c,*c,*c,*c], &e [*d,*d,*d,*d,*d,*d,*d,*d], [*e,*e,*e,*e,*e,*e,*e,*e]]",
    "many merges": "{a: &a {a: b}, b: &b {<<: [*a, *a]}, c: &c {<<: [*b, *b]}, d: &d {<<: [*c, *c]}, "
    "e: &e {<<: [*d, *d]}, f: {<<: [*e, *e]}}",
    "a million": "1000000",
    "embedded": '"{a: [b}"',
    "embedded cycle": '"&a [*a]"',
    "embedded escape": "'\"\\U00110000\"'",
    "embedded digits": f"'a: {_NINES}'",
}
#: What a reader of a report would act on: control characters, marks of direction, commands of CI.
_ACTS: Final = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|^[^\S\n]*(::|##)(\[|vso|[a-z-]+( |::))",
    re.MULTILINE,
)
#: The program's own colours, and the annotations that a format is made of.
_OWN: Final = re.compile(r"\x1b\[[0-9;]*m")
_ANNOTATIONS: Final = "github"


class Place(Struct, frozen=True):
    """A part of a text that a value can stand in for; ``name`` is its kind and key path."""

    file: str
    text: str
    start: int
    end: int
    name: str

    def put(self, value: str) -> str:
        """Return the text with the value in this place."""
        return f"{self.text[: self.start]}{value}{self.text[self.end :]}"


def list_places() -> list[Place]:
    """Return the places, each kind and key path once."""
    found: dict[str, Place] = {}
    for file, text in _texts():
        try:
            roots = [*yaml.compose_all(text, yaml.SafeLoader)]
        except (yaml.YAMLError, ValueError):
            continue
        for root in roots:
            if root is not None:
                for place in _places(file, text, root, _kind(root)):
                    found.setdefault(place.name, place)
    for place in _toml_places():
        found.setdefault(place.name, place)
    return [*found.values()]


#: The files beside the one with the value, which they name or which names them.
BESIDE: Final[dict[str, str]] = {
    "a.yaml": SEEDS["kinds.yaml"][6].decode(),
    "p.yaml": SEEDS["p.yaml"][0].decode(),
    "sub/a.yaml": POD.decode(),
    "sub/v.yaml": "a: b\n",
    "sub/Chart.yaml": "name: a\nversion: 1.0.0\n",
}
#: The names of settings whose values are files, in the places of TOML: a run never follows them.
_TOML_VALUES: Final[dict[str, str]] = {
    "text": '"x"',
    "control": '"\\u001b[31m\\u202e"',
    "line": '"\\n::error::x"',
    "nul": '"\\u0000"',
    "beyond": '"\\U0010FFFF"',
    "long": f'"{"a" * _HUGE}"',
    "digits": _NINES,
    "seconds": f'"{_NINES}s"',
    "exponent": "1e999",
    "exponent seconds": '"1e400s"',
    "minus": "-1",
    "minus seconds": '"-5s"',
    "hours": '"99999999999h"',
    "version": f'"1.{_NINES}"',
    "mesh": f'["istio=1.{_NINES}"]',
    "nan": "nan",
    "infinite": "-inf",
    "list": "[1, [2], {a = 1}]",
    "empty list": "[]",
    "table": "{a = 1}",
    "deep": "[" * 500 + "]" * 500,
    "time": "1979-05-27T07:32:00Z",
    "true": "true",
    "empty": '""',
    "device": '"/dev/zero"',
    "devices": '["/dev/zero"]',
    "outside": '["../../../../../etc/passwd"]',
    "pattern": '["' + "*a" * 2000 + '"]',
    "brackets": '["' + "[" * 20000 + '"]',
    "long path": f'["{"a/" * 20000}"]',
    "path of one name": f'["{"a" * 5000}"]',
}


def _toml_places() -> Iterator[Place]:
    texts = [seed.decode() for seed in SEEDS["shutdownlint.toml"]]
    for path in (ROOT / "docs").glob("*.md"):
        texts += re.findall(r"```toml\n(.*?)```", path.read_text(), re.DOTALL)
    for text in texts:
        for found in re.finditer(r"^ *([A-Za-z0-9_-]+) *= *(.+?)(?=\s*#|$)", text, re.MULTILINE):
            yield Place(
                "shutdownlint.toml", text, found.start(2), found.end(2), f"config.{found[1]}"
            )


def _texts() -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / "rules").rglob("*.yaml")):
        for example in yaml.safe_load(path.read_text()).get("examples", ()):
            for side in ("bad", "good"):
                yield "a.yaml", example[side]
    for name, seeds in SEEDS.items():
        for seed in seeds:
            yield name if name != "dump.json" else "a.yaml", seed.decode()


def _kind(root: yaml.Node) -> str:
    if isinstance(root, yaml.MappingNode):
        for key, value in root.value:
            if key.value == "kind" and isinstance(value.value, str):
                return value.value
    return "file"


def _places(file: str, text: str, node: yaml.Node, name: str) -> Iterator[Place]:
    start, end = node.start_mark.index, node.end_mark.index
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = f"{name}.{key.value}"
            at, until = key.start_mark.index, key.end_mark.index
            yield Place(file, text, at, until, f"{inner}?")
            yield from _places(file, text, value, inner)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _places(file, text, item, f"{name}[]")
    if isinstance(node, yaml.ScalarNode) or text[start : start + 1] in "[{":
        yield Place(file, text, start, end, name)


def _commands() -> list[list[str]]:
    check = [["check", "--notes", "--format", each.name] for each in CHECK_REPORTERS]
    explain = [["explain", "--format", each.name] for each in EXPLAIN_REPORTERS]
    suggest = [["suggest", "--format", each.name] for each in SUGGEST_REPORTERS]
    edits = [["check", "--notes", "--diff"], ["check", "--notes", "--unsafe-fixes"]]
    return [*check, *explain, *suggest, *edits, ["explain", "--summary"]]


def find_problem(command: list[str], file: str, data: bytes) -> str:
    """Run a command on a file with a value; returns what is wrong, or nothing."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="values-") as folder:
        os.chdir(folder)
        try:
            Path(".git").mkdir()
            texts = (
                {name: text.encode() for name, text in BESIDE.items()} if file != "a.yaml" else {}
            )
            if file == "rules/own.yaml":
                texts["shutdownlint.toml"] = b'rules = ["rules"]\n'
            for name, content in {**texts, file: data}.items():
                Path(name).parent.mkdir(exist_ok=True)
                Path(name).write_bytes(content)
            begin = time.process_time()
            code, output = run_here([*command, "--no-cache", "--", "."])
            taken = time.process_time() - begin
        finally:
            os.chdir(before)
    if code not in (0, 1, 2):
        return f"exit code {code}: {output[-300:]}"
    for sign in ("internal error", "Traceback (most"):
        if sign in output:
            at = output.index(sign)
            return output[max(at - 100, 0) : at + 300]
    if taken > MOST_SECONDS:
        return f"{taken:.1f} s of CPU"
    acts = None if _ANNOTATIONS in command else _ACTS.search(_OWN.sub("", output))
    return f"prints {acts.group()!r}" if acts is not None else ""


def run(share: float, seed: int, only: Iterable[str] = ()) -> Iterator[tuple[str, str]]:
    """Yield each run that is drawn, by its name, and what is wrong with it."""
    draw = Random(seed)
    commands = _commands()
    for place in list_places():
        values = _TOML_VALUES if place.file.endswith(".toml") else VALUES
        for name in [each for each in values if not only or each in only]:
            if draw.random() >= share:
                continue
            command = draw.choice(commands)
            data = place.put(values[name]).encode()
            yield (
                f"{name} at {place.name}: {' '.join(command)}",
                find_problem(command, place.file, data),
            )


def main() -> int:
    """Print what is wrong, and how many runs there were."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.values", description=__doc__)
    parser.add_argument("--share", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[], help="names of values")
    parser.add_argument("--most", type=int, default=50, help="stop after so many problems")
    options = parser.parse_args()
    runs = wrong = 0
    for name, problem in run(options.share, options.seed, options.only):
        runs += 1
        if problem:
            wrong += 1
            sys.stdout.write(f"{name}: {problem!r}\n")
            sys.stdout.flush()
        if wrong >= options.most:
            break
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    places = len(list_places())
    sys.stdout.write(
        f"{runs:,} runs of {places:,} places and {len(VALUES)} values; {wrong} wrong; "
        f"{peak // 1024} MB\n"
    )
    return int(bool(wrong) or peak > MOST_KILOBYTES)


if __name__ == "__main__":
    sys.exit(main())
