"""Both engines give the same answers, so either can serve."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from shutdownlint.engine.expressions import (
    Condition,
    ExpressionError,
    Kind,
    Value,
    _Portable,
    compile_condition,
    identifiers,
)
from shutdownlint.engine.fields import Values, defect_subject, kinds, subjects
from shutdownlint.shutdown import seconds
from tests.helpers import given, read_files, rules

if TYPE_CHECKING:
    from shutdownlint.engine.rule import Rule

FIELDS = {
    "grace": Kind.DURATION,
    "preStop": Kind.DURATION,
    "mode": Kind.STRING,
    "on": Kind.BOOL,
    "count": Kind.INT,
    "words": Kind.STRINGS,
}
VALUES: dict[str, Value] = {
    "grace": seconds(30),
    "preStop": seconds(7.5),
    "mode": "classic",
    "on": True,
    "count": 3,
    "words": ["a", "while x"],
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("grace > preStop + duration('22s')", True),
        ("grace - preStop == duration('22.5s')", True),
        ("grace <= preStop", False),
        ("mode == 'classic' && !on", False),
        ("words.exists(w, w.matches('(while|until)'))", True),
        ("words.exists(w, w.contains('zzz'))", False),
        ("count >= 3 || grace < duration('1s')", True),
        ("mode in ['native', 'classic']", True),
        ("size(words) == 2", True),
    ],
)
def test_engines_agree(text: str, expected: bool) -> None:
    assert compile_condition(text, FIELDS).holds(VALUES) is expected
    assert Condition(_Portable(text, FIELDS)).holds(VALUES) is expected


def test_engines_agree_on_every_rule_and_example() -> None:
    for rule in rules():
        other = Condition(_Portable(rule.form.when, kinds(rule.form.target)))
        for example in rule.form.examples:
            for text in (example.bad, example.good):
                for values in _asked(rule, text, example.options.p99, example.options.istio):
                    assert rule.condition.holds(values) is other.holds(values)


def _asked(rule: Rule, text: str, p99: str | None, istio: str | None) -> list[Values]:
    scene = read_files({"a.yaml": text}, given(p99=p99, istio=istio))
    found = []
    for pod in scene.pods:
        told = [defect_subject(defect) for defect in pod.defects]
        if pod.plan is not None:
            told += subjects(pod.plan, pod.ref, {"kind": "", "name": "", "namespace": ""})
        found += [s.cases[0] for s in told if s.target is rule.form.target]
    return [v for v in found if all(v.holds(name) for name in rule.mentions)]


def portable(text: str, fields: dict[str, Kind]) -> Condition:
    return Condition(_Portable(text, fields))


def test_errors() -> None:
    for compiled in (compile_condition, portable):
        with pytest.raises(ExpressionError, match="unknown"):
            compiled("unknown > grace", FIELDS)
        with pytest.raises(ExpressionError):
            compiled("grace >", FIELDS)
        with pytest.raises(ExpressionError):
            compiled("words[9] == 'a'", FIELDS).holds(VALUES)


def test_identifiers_leave_strings_out() -> None:
    assert identifiers("a == 'b c' && d.e(\"f\")") == {"a", "d", "e"}
