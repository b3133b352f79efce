"""Details of the engine that whole runs do not show: places of mistakes, folders, choices."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import dedent

import pytest

from shutdownlint.cache_folder import _named_folder
from shutdownlint.engine.errors import RuleFileError
from shutdownlint.engine.expressions import (
    Compiler,
    ExpressionError,
    _google_error,
    _Portable,
)
from shutdownlint.engine.finding import Fix, Severity
from shutdownlint.engine.loader import parse_rule
from shutdownlint.engine.rule_loader import load_folder
from shutdownlint.engine.select_rules import select_rules
from shutdownlint.engine.selection import CONFIDENCES, RuleSelection
from shutdownlint.engine.subjects import pod_subjects
from shutdownlint.engine.template import MessageTemplate
from shutdownlint.engine.vocabulary import Vocabulary
from shutdownlint.platforms.fields import FieldType, SubjectKind
from shutdownlint.platforms.registry import all_platforms
from shutdownlint.platforms.user_facts import UserFacts
from shutdownlint.shutdown.pod_plan import Confidence
from tests.engine.test_loader import GOOD, error, vocabulary
from tests.helpers import check_text, plan_pod_text, rules, user_facts

MESHED = """
    apiVersion: v1
    kind: Pod
    metadata:
      name: shop
      labels: {sidecar.istio.io/inject: "true"}
      annotations: {proxy.istio.io/config: "terminationDrainDuration: 5s"}
    spec:
      terminationGracePeriodSeconds: 30
      containers:
      - {name: app, image: shop/app:1, lifecycle: {preStop: {sleep: {seconds: 3}}}}
    """


@pytest.mark.parametrize(
    ("platform", "expected"),
    [
        ("win32", "C:\\Users\\x\\AppData\\Local\\shutdownlint\\cache"),
        ("darwin", "/home/x/Library/Caches/shutdownlint"),
        ("linux", "/home/x/.cache/shutdownlint"),
        ("zos", "/home/x/.cache/shutdownlint"),
    ],
)
def test_the_cache_is_where_the_system_has_caches(
    platform: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SHUTDOWNLINT_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("LOCALAPPDATA", "C:\\Users\\x\\AppData\\Local")
    monkeypatch.setenv("HOME", "/home/x")
    monkeypatch.setattr(sys, "platform", platform)
    assert _named_folder() == expected
    monkeypatch.delenv("LOCALAPPDATA")
    assert (_named_folder() is None) is (platform == "win32")


def test_a_mistake_that_concerns_a_whole_file_is_at_its_first_line(tmp_path: Path) -> None:
    with pytest.raises(RuleFileError) as caught:
        load_folder(tmp_path / "missing")
    assert ":1: " in str(caught.value)
    (tmp_path / "a.yaml").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(RuleFileError) as caught:
        load_folder(tmp_path)
    assert "a.yaml:1: cannot be read" in str(caught.value)


def test_only_unknown_keys_of_the_file_itself_get_a_suggestion() -> None:
    assert "did you mean 'message'" in error(GOOD + "mesage: x\n")
    nested = GOOD + "fix: {descripton: x}\n"
    assert "did you mean" not in error(nested)
    assert "did you mean" not in error(GOOD.replace("severity: error\n", ""))
    assert "did you mean" not in error(GOOD.replace("severity: error", "severity: bad"))


def test_mistakes_in_names_say_under_which_key() -> None:
    assert "rules/x.yaml:6: at: 'gracce' is not a setting" in error(
        GOOD.replace("at: grace", "at: gracce")
    )


def test_the_line_of_a_mistake_in_a_block_is_that_of_the_mistake() -> None:
    block = GOOD.replace("when: grace < preStop", "when: >-\n  grace\n  < preStopp")
    assert "rules/x.yaml:7: when:" in error(block) or "rules/x.yaml:6: when:" in error(block)
    plain = GOOD.replace("when: grace < preStop", "when: grace < preStopp")
    assert "rules/x.yaml:5: when:" in error(plain)


def test_a_rule_uses_the_platforms_of_its_fields_and_of_their_origins() -> None:
    text = GOOD.replace("when: grace < preStop", "when: finishWithinFrom == 'explicit'")
    assert "programs" in parse_rule(text, "x.yaml", vocabulary()).platforms
    text = GOOD.replace("when: grace < preStop", "when: finishWithin > grace")
    assert "programs" in parse_rule(text, "x.yaml", vocabulary()).platforms


@pytest.mark.parametrize(
    ("edit", "ok"),
    [
        ("set: grace, to: preStop", True),
        ("set: grace", False),
        ("remove: preStop", True),
        ("remove: preStop, to: grace", False),
        ("rename: here, to: \"'x'\"", True),
        ("rename: here", False),
    ],
)
def test_what_an_edit_sets_and_only_that_has_a_value(edit: str, ok: bool) -> None:
    text = GOOD + f"fix: {{description: x, safety: safe, edits: [{{{edit}}}]}}\n"
    if ok:
        assert parse_rule(text, "x.yaml", vocabulary()).edits
    else:
        assert "'to' belongs to set and rename" in error(text)


def test_the_place_of_a_mistake_in_an_expression() -> None:
    with pytest.raises(ExpressionError) as caught:
        Compiler({"on": FieldType.BOOL}).condition("on &&\n   nothing")
    assert (caught.value.line, caught.value.column) == (2, 4)
    with pytest.raises(ExpressionError) as caught:
        _Portable("on && (", {"on": FieldType.BOOL})
    assert caught.value.line >= 1
    assert caught.value.column >= 1
    with pytest.raises(ExpressionError) as caught:
        _Portable("on &&\n   )", {"on": FieldType.BOOL})
    assert (caught.value.line, caught.value.column) == (2, 4)
    assert _google_error("no place\nmore").reason == "no place"
    without_place = ExpressionError("x")
    assert (without_place.line, without_place.column) == (1, 1)


def test_values_that_are_no_conditions() -> None:
    assert _Portable("2 + 1", {}).value({}) == 3
    assert _Portable("'a' + 'b'", {}).value({}) == "ab"


def test_the_confidences_of_the_selection_are_those_of_findings() -> None:
    assert set(CONFIDENCES) == set(Confidence)


def test_a_note_that_is_selected_by_its_id_is_shown() -> None:
    def hides(selection: RuleSelection) -> bool:
        return selection.hides_severity("SL108", Severity.NOTE)

    assert hides(RuleSelection())
    assert not hides(RuleSelection(select=("SL108",)))
    by_name = RuleSelection(select=("no-delay-for-late-requests",))
    assert not hides(select_rules(by_name, ["kubernetes"]).selection)
    lower = RuleSelection(select=("sl108",))
    assert not hides(select_rules(lower, ["kubernetes"]).selection)
    assert hides(RuleSelection(select=("SL109",)))
    assert hides(RuleSelection(select=("SL1",)))
    assert hides(RuleSelection(select=("SL107",)))
    assert not RuleSelection().hides_severity("SL108", Severity.WARNING)


class _Values:
    def __init__(self, **values: str) -> None:
        self.values = values

    def value_text(self, name: str) -> str:
        return self.values[name]

    def origin_text(self, _name: str, _file: str) -> str:
        return "here"


def test_an_empty_value_leaves_no_gap() -> None:
    fields = vocabulary().fields(SubjectKind.CONTAINER)
    template = MessageTemplate.parse("first {container} then {service} end", fields)
    values = _Values(container="app", service="")
    assert template.fill(values, "x.yaml") == "first app then end"
    assert template.fill(_Values(container="", service="s"), "x.yaml") == "first then s end"


def test_errors_that_rest_on_assumptions_are_warnings_and_nothing_else_changes() -> None:
    written = {rule.id: rule.severity for rule in rules()}
    of_losses = {rule.id for rule in rules() if rule.losses}
    found = [*check_text(MESHED, user_facts(p99="10s")).findings]
    defaults = MESHED.replace(
        'annotations: {proxy.istio.io/config: "terminationDrainDuration: 5s"}', ""
    )
    found += check_text(defaults, user_facts()).findings
    resting = [finding for finding in found if finding.assumptions]
    assert any(written[finding.rule] is Severity.ERROR for finding in resting)
    for finding in resting:
        if finding.rule in of_losses:  # their severity is that of the loss
            assert finding.severity is not Severity.ERROR
            continue
        expected = written[finding.rule]
        expected = Severity.WARNING if expected is Severity.ERROR else expected
        assert finding.severity is expected


def test_the_changes_of_a_fix_are_its_own_edits_or_the_solution() -> None:
    result = check_text(MESHED, user_facts(p99="10s", istio="1.26", kubernetes="1.30"))
    (finding,) = [f for f in result.findings if f.rule == "SL202"]
    assert finding.fix is not None
    assert {change.field for change in finding.fix.changes} <= {
        "terminationDrain",
        "drainDuration",
        "grace",
    }
    (change,) = [c for c in finding.fix.changes if c.field == "terminationDrain"]
    assert change.value is not None
    assert change.target is not None


def test_values_of_an_edit_are_those_of_the_shortest_case() -> None:
    """Of a hook that takes 5 to 60 s the first case is the low end."""
    text = """
        apiVersion: v1
        kind: Pod
        metadata: {name: shop}
        spec:
          terminationGracePeriodSeconds: 5
          containers:
          - name: app
            image: a
            lifecycle: {preStop: {exec: {command: [sh, -c, "sleep 5; curl localhost"]}}}
        """
    (finding,) = [f for f in check_text(text).findings if f.rule == "SL102"]
    assert finding.fix is not None
    values = [change.value for change in finding.fix.changes if change.field == "grace"]
    assert values
    assert max(value.total_seconds() for value in values) < 60  # type: ignore[union-attr]


def test_a_subject_lists_what_the_fields_of_a_rule_rest_on() -> None:
    pod = plan_pod_text(MESHED)
    subjects = list(pod_subjects(pod, Vocabulary(all_platforms()), UserFacts()))
    app = next(s for s in subjects if s.kind is SubjectKind.CONTAINER)
    assert app.assumptions_for(["nothing"]) == ()
    proxy = next(s for s in subjects if s.kind is SubjectKind.PROXY)
    assert proxy.assumptions_for(["terminationDrain"]) == proxy.assumptions != ()
    assert app.mesh == ""
    assert proxy.mesh == "istio"
    assumes = [
        name
        for name, field in Vocabulary(all_platforms()).fields(SubjectKind.CONTAINER).items()
        if field.assumes is not None
    ]
    assert any(app.assumptions_for([name]) for name in assumes)
    for name in assumes:
        assert app.assumptions_for([f"{name}From"]) == app.assumptions_for([name])


def test_a_subject_has_every_case_of_its_pod() -> None:
    unknown = MESHED.replace("sleep: {seconds: 3}", "exec: {command: [sh, -c, './drain']}")
    for text, several in ((MESHED, False), (unknown, True)):
        pod = plan_pod_text(text)
        assert pod.plan is not None
        cases = list(pod.plan.concretize())
        assert (len(cases) > 1) is several
        for subject in pod_subjects(pod, Vocabulary(all_platforms()), UserFacts()):
            # A loss is worked out from all cases.
            expected = 1 if subject.kind is SubjectKind.LOSS else len(cases)
            assert len(subject.cases) == expected


def test_the_longer_of_two_prefixes_decides() -> None:
    rule = next(rule for rule in rules() if rule.id == "SL102")
    assert not RuleSelection(select=("SL1",), ignore=("SL102",)).includes(rule)
    assert RuleSelection(select=("SL102",), ignore=("SL1",)).includes(rule)
    assert not RuleSelection(select=("SL102",), ignore=("SL102",)).includes(rule)
    assert not RuleSelection(select=("SL2",)).includes(rule)


def test_a_fix_is_unsafe_unless_its_rule_says_otherwise() -> None:
    assert not Fix("change it").safe


def test_only_a_fix_that_asks_for_the_solution_makes_it() -> None:
    rule = parse_rule(GOOD, "x.yaml", vocabulary())
    assert not rule.makes_solution
    assert any(rule.makes_solution for rule in rules())
    assert not [rule.id for rule in rules() if rule.makes_solution and rule.edits]


def test_options_of_an_example_name_platforms() -> None:
    example = (
        GOOD
        + """
examples:
  - bad: "a: 1  # SL901"
    good: "a: 2"
    options: {nosuch: "1.2"}
"""
    )
    assert "nosuch" in error(example)


def test_two_documents_are_a_mistake_in_the_first_line() -> None:
    with pytest.raises(RuleFileError) as caught:
        parse_rule("{}\n---\n{}\n", "x.yaml", vocabulary())
    assert str(caught.value).startswith("x.yaml:1: ")


def test_braces_in_a_message_do_not_end_it() -> None:
    fields = vocabulary().fields(SubjectKind.CONTAINER)
    template = MessageTemplate.parse("a {{b}} of {container} ends", fields)
    assert template.fill(_Values(container="app"), "x.yaml") == "a {b} of app ends"


def test_a_finding_knows_whether_its_place_is_in_another_document() -> None:
    mesh = """
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: istio, namespace: istio-system}
        data: {mesh: "defaultConfig: {terminationDrainDuration: 5s}"}
        """
    meshed = MESHED.replace(
        'annotations: {proxy.istio.io/config: "terminationDrainDuration: 5s"}', ""
    )
    for text, other in ((MESHED, False), (f"{dedent(mesh)}---{dedent(meshed)}", True)):
        found = check_text(text, user_facts(p99="10s", istio="1.26")).findings
        (finding,) = [f for f in found if f.rule == "SL202"]
        assert finding.outside is other
