"""Both engines give the same answers, so either can serve."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from shutdownlint.engine.evaluator import ExpressionCache
from shutdownlint.engine.expressions import (
    Compiler,
    Condition,
    ExpressionError,
    _Portable,
    identifiers,
    split_conjunction,
    without_engine,
)
from shutdownlint.engine.rule import Rule, RuleExpression
from shutdownlint.engine.subjects import CaseValues, pod_subjects, problem_subject
from shutdownlint.engine.vocabulary import Vocabulary
from shutdownlint.linter.rule_examples import example_facts
from shutdownlint.platforms.fields import FieldType, SubjectKind, Value
from shutdownlint.platforms.registry import all_platforms
from shutdownlint.platforms.user_facts import UserFacts
from shutdownlint.shutdown.durations import seconds
from tests.helpers import plan_files, rules, schema

FIELDS = {
    "grace": FieldType.DURATION,
    "preStop": FieldType.DURATION,
    "mode": FieldType.STRING,
    "on": FieldType.BOOL,
    "count": FieldType.INT,
    "words": FieldType.STRINGS,
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
    assert Compiler(FIELDS).condition(text).holds(VALUES) is expected
    assert Condition(_Portable(text, FIELDS)).holds(VALUES) is expected


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("on", ["on"]),
        ("on && !on", ["on", "!on"]),
        ("on && (count > 1 || count < 0)", ["on", "(count > 1 || count < 0)"]),
        ("on && count > 1 || count < 0", ["on && count > 1 || count < 0"]),
        ("on && count > 1 ? on : !on", ["on && count > 1 ? on : !on"]),
        ("mode == '&&' && mode != \"||\"", ["mode == '&&'", 'mode != "||"']),
        ("mode == '\\' && ' && on", ["mode == '\\' && '", "on"]),
        ("words.exists(w, w == 'a' && on) && on", ["words.exists(w, w == 'a' && on)", "on"]),
        ("mode in ['a', 'b']\n  && on", ["mode in ['a', 'b']", "on"]),
    ],
)
def test_a_condition_is_split_where_all_parts_must_hold(text: str, parts: list[str]) -> None:
    assert split_conjunction(text) == parts


def test_engines_agree_on_every_rule_and_example() -> None:
    vocabulary = Vocabulary(all_platforms())
    compared = plainly = 0
    for rule in rules():
        condition = rule.condition
        if condition is None:
            continue
        one = Compiler(condition.types).condition(condition.text)
        other = Condition(_Portable(condition.text, condition.types))
        for example in schema(rule.id).examples:
            facts = example_facts(example.options)
            for text in (example.bad, example.good):
                for case in _cases(rule.subject, text, facts, vocabulary):
                    found = {name: case[name] for name in condition.names}
                    values = {name: v for name, v in found.items() if v is not None}
                    if len(values) == len(found):
                        compared += 1
                        assert one.holds(values) is other.holds(values)
                    plainly += _compare_clauses(rule, case)
    assert compared > 130
    assert plainly > 350


def _compare_clauses(rule: Rule, case: CaseValues) -> int:
    """Count the parts of a condition that need no engine; check that they agree with the engine."""
    count = 0
    for clause in rule.clauses:
        plain = without_engine(clause.text, clause.types)
        values = {name: case[name] for name in clause.names}
        known = {name: value for name, value in values.items() if value is not None}
        if plain is not None and len(known) == len(values):
            count += 1
            checked = Compiler(clause.types).condition(clause.text)
            assert Condition(plain).holds(known) is checked.holds(known)
    return count


PLAIN = [
    ("on", True),
    ("!on", False),
    ("!(on && count == 2)", True),
    ("grace > preStop", True),
    ("grace == duration('30s')", True),
    ("duration('0.5m') == grace", True),
    ("preStop < duration('7s')", False),
    ("grace > preStop + preStop + preStop", True),
    ("grace - preStop - preStop < preStop + duration('7s')", False),
    ("mode != 'classic'", False),
    ("mode >= 'classic'", True),
    ("mode in ['native', 'classic']", True),
    ("!(mode in ['native'])", True),
    ("'a' in words", True),
    ("'b' in words || count > 5", False),
    ("mode.contains('lass') && !mode.contains('native')", True),
    ("words.exists(word, word.contains('while') && !word.contains('until'))", True),
    ("words.exists(word, word == mode)", False),
    ("size(words) > 1", True),
    ("count <= 3", True),
    ("on == on", True),
    ("on == true", True),
    ("on || count == 2 && mode == 'native'", True),
    ("(on || count == 2) && mode == 'native'", False),
    ("!on == false", True),
    ("mode == ' && '", False),
]


@pytest.mark.parametrize(("text", "expected"), PLAIN)
def test_most_expressions_need_no_engine(text: str, expected: bool) -> None:
    plain = without_engine(text, FIELDS)
    assert plain is not None
    assert Condition(plain).holds(VALUES) is expected
    assert Compiler(FIELDS).condition(text).holds(VALUES) is expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "count == -1",
        "count + count == 6",
        "count == 3u",
        "count == 1.5",
        "mode == 'it\\'s'",
        'mode == "classic"',
        "mode + mode == ''",
        "grace > duration('x')",
        "on ? on : !on",
        "missing == count",
        "words[0] == 'a'",
        "words == ['a']",
        "words.exists(on, on == 'a')",
        "words.exists(w, w.matches('a'))",
        "words.all(w, w == 'a')",
        "mode.startsWith('c')",
        "size(mode) == 7",
        "w == 'a' || words.exists(w, w == 'a')",
        "on &&",
        "on on",
        "(on",
        "on && " * 60 + "on",
        "!!on",
        "grace > duration('1ns')",
        "grace > duration('1us1s')",
        "grace > duration('1µs')",
    ],
)
def test_everything_else_is_left_to_the_engine(text: str) -> None:
    assert without_engine(text, FIELDS) is None


DURATIONS = ["grace", "preStop", "duration('7.5s')", "grace - preStop", "preStop + duration('1m')"]
TEXTS = ["mode", "'classic'", "'a'"]
CLAUSES = st.one_of(
    st.sampled_from([text for text, _ in PLAIN if "||" not in text and "&&" not in text]),
    st.tuples(
        st.sampled_from(DURATIONS),
        st.sampled_from(["<", "<=", ">", "==", "!="]),
        st.sampled_from(DURATIONS),
    ).map(" ".join),
    st.tuples(
        st.sampled_from(TEXTS), st.sampled_from(["<", "==", "!="]), st.sampled_from(TEXTS)
    ).map(" ".join),
)
CONDITIONS = st.recursive(
    CLAUSES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["&&", "||"]), inner).map(" ".join),
        inner.map("({})".format),
        inner.map("!({})".format),
    ),
    max_leaves=6,
)
VALUE_SETS = st.fixed_dictionaries(
    {
        "grace": st.integers(0, 60).map(seconds),
        "preStop": st.sampled_from([seconds(0), seconds(7.5), seconds(60)]),
        "mode": st.sampled_from(["", "classic", "native", "a"]),
        "on": st.booleans(),
        "count": st.integers(0, 5),
        "words": st.lists(st.sampled_from(["a", "while x", "until", "classic"]), max_size=3),
    }
)


@given(CONDITIONS, VALUE_SETS)
def test_they_say_what_the_engine_says(text: str, values: dict[str, Value]) -> None:
    plain = without_engine(text, FIELDS)
    assert plain is not None
    assert plain.value(values) is Compiler(FIELDS).condition(text).holds(values)


def test_nearly_all_conditions_of_rules_need_no_engine() -> None:
    clauses = [clause for rule in rules() for clause in rule.clauses]
    left = [each for each in clauses if without_engine(each.text, each.types) is None]
    assert len(left) < len(clauses) / 15
    assert all(".matches(" in clause.text for clause in left)


def _cases(
    kind: SubjectKind, text: str, facts: UserFacts, vocabulary: Vocabulary
) -> list[CaseValues]:
    found = []
    for pod in plan_files({"a.yaml": text}, facts).pods:
        subjects = [problem_subject(problem, vocabulary, facts) for problem in pod.problems]
        subjects += pod_subjects(pod, vocabulary, facts)
        found += [subject.cases[0] for subject in subjects if subject.kind is kind]
    return found


def google(text: str, fields: dict[str, FieldType]) -> Condition:
    return Compiler(fields).condition(text)


def portable(text: str, fields: dict[str, FieldType]) -> Condition:
    return Condition(_Portable(text, fields))


def test_errors() -> None:
    for compiled in (google, portable):
        with pytest.raises(ExpressionError, match="unknown"):
            compiled("unknown > grace", FIELDS)
        with pytest.raises(ExpressionError):
            compiled("grace >", FIELDS)
        with pytest.raises(ExpressionError):
            compiled("words[9] == 'a'", FIELDS).holds(VALUES)


def test_identifiers_leave_strings_out() -> None:
    assert identifiers("a == 'b c' && d.e(\"f\")") == {"a", "d", "e"}


def test_rules_that_give_a_field_another_type_have_a_compiler_of_their_own() -> None:
    one, other = rules()[0], rules()[0]
    first = RuleExpression("grace > duration('1s')", {"grace": FieldType.DURATION})
    second = RuleExpression("grace == 'long'", {"grace": FieldType.STRING})
    cache = ExpressionCache()
    cache.add_fields_of([replace(one, clauses=[first]), replace(other, clauses=[second])])
    assert cache.condition(first).holds({"grace": seconds(2)})
    assert cache.condition(second).holds({"grace": "long"})
