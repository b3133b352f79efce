"""The parts of fixing one by one: places, overlaps, proofs, regressions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from shutdownlint.engine.finding import Change, EditAction, Severity
from shutdownlint.fixes.apply import (
    FixApplier,
    _find_regressions,
    _key,
    _kinds,
    _overlap,
    add_unless_overlapping,
    edits_for,
    edits_of,
)
from shutdownlint.fixes.fixer import fix_files
from shutdownlint.fixes.location import EditLocation
from shutdownlint.fixes.merge_patch import _named
from shutdownlint.fixes.replacements import _point, list_replacements
from shutdownlint.fixes.serialize import serialize
from shutdownlint.fixes.suggest import complete_report, make_suggestions
from shutdownlint.fixes.verify import (
    IntendedChange,
    VerificationError,
    check_piece,
    check_text,
)
from shutdownlint.linter.linter import plan_workloads
from shutdownlint.manifests.discovery import STDIN_NAME, InputFile
from shutdownlint.manifests.inputs import Inputs, InputSource
from shutdownlint.platforms.edit_target import EditTarget, ValueFormat
from shutdownlint.shutdown.durations import seconds
from shutdownlint.yaml_source.editor import Edit, EditError, apply_edits
from shutdownlint.yaml_source.location import Region
from tests.helpers import (
    check_files,
    dedent,
    lint_options,
    plan_pod_text,
    run,
    user_facts,
    write_sources,
)
from tests.helpers import check_text as lint

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    from shutdownlint.engine.finding import Finding

TWO = """\
# a comment above
apiVersion: v1
kind: Pod
metadata: {name: first}
spec:
  terminationGracePeriodSeconds: 60
  containers: [{name: a, image: b}]
---
# another one
apiVersion: v1
kind: Pod
metadata:
  name: shop
spec:
  terminationGracePeriodSeconds:   20   # too short
  containers:
  - name: app
    image: shop/app:1
    lifecycle: {preStop: {exec: {command: [sleep, "30"]}}}
"""


def finding_of(text: str, rule: str, **options: str) -> Finding:
    (found,) = [f for f in lint(text, user_facts(**options)).findings if f.rule == rule]
    return found


def test_replacements_are_where_the_text_is() -> None:
    (made,) = list_replacements(finding_of(TWO, "SL102"))
    region = made.region
    assert (region.line, region.column, region.end_line, region.end_column) == (15, 36, 15, 38)
    line = TWO.splitlines()[region.line - 1]
    assert line[region.column - 1 : region.end_column - 1] == "20"
    assert int(made.text) > 30


def test_a_replacement_at_the_beginning_of_a_line_and_of_the_file() -> None:
    text = TWO.replace("  terminationGracePeriodSeconds:   20   # too short\n", "").replace(
        '[sleep, "30"]', '[sleep, "30"]'
    )
    (made,) = list_replacements(finding_of(text, "SL102"))
    region = made.region
    assert (region.line, region.column) == (region.end_line, region.end_column), "an insertion"
    lines = text.splitlines(keepends=True)
    at = sum(map(len, lines[: region.line - 1])) + region.column - 1
    changed = text[:at] + made.text + text[at:]
    assert "terminationGracePeriodSeconds" in changed[at : at + 60]
    assert lint(changed).findings == [] or all(f.rule != "SL102" for f in lint(changed).findings)


def test_a_finding_without_changes_has_no_replacement() -> None:
    found = finding_of(TWO, "SL102")
    assert found.fix is not None
    assert list_replacements(replace(found, fix=None)) == []
    assert list_replacements(replace(found, fix=replace(found.fix, changes=()))) == []


@pytest.mark.parametrize(
    ("one", "other", "overlap"),
    [
        ((3, 3), (3, 3), True),
        ((3, 3), (4, 4), False),
        ((3, 5), (5, 7), False),
        ((3, 5), (4, 7), True),
        ((3, 5), (6, 7), False),
        ((3, 3), (2, 5), True),
        ((2, 2), (2, 5), True),
        ((5, 5), (2, 5), False),
        ((3, 4), (5, 5), False),
        ((3, 5), (3, 5), True),
    ],
)
def test_which_edits_overlap(one: tuple[int, int], other: tuple[int, int], overlap: bool) -> None:
    first, second = Edit(*one, "x"), Edit(*other, "y")
    assert _overlap(first, second) is overlap
    assert _overlap(second, first) is overlap


def test_edits_are_added_unless_one_overlaps() -> None:
    chunk = ("a.yaml", 0)
    edits = {chunk: [Edit(0, 4, "x")]}
    assert not add_unless_overlapping(edits, {chunk: [Edit(2, 6, "y")]})
    assert edits == {chunk: [Edit(0, 4, "x")]}
    assert add_unless_overlapping(edits, {chunk: [Edit(0, 4, "x")]}), "the same edit twice is one"
    assert add_unless_overlapping(
        edits, {chunk: [Edit(9, 9, "z")], ("b.yaml", 0): [Edit(0, 1, "")]}
    )
    assert set(edits) == {chunk, ("b.yaml", 0)}


def test_two_settings_of_a_missing_annotation_are_one_edit() -> None:
    text = dedent(
        """
        apiVersion: v1
        kind: Pod
        metadata:
          name: shop
          labels: {sidecar.istio.io/inject: "true"}
        spec:
          terminationGracePeriodSeconds: 60
          containers:
          - name: app
            image: shop/app:1
            lifecycle: {preStop: {exec: {command: [sleep, "50"]}}}
        """
    )
    found = finding_of(text, "SL201", p99="5s", istio="1.26", kubernetes="1.28")
    edits = edits_of(found)
    assert [len(each) for each in edits.values()] == [1]
    ((edit,),) = edits.values()
    changed = apply_edits(text, [edit])
    assert changed.count("proxy.istio.io/config") == 1
    assert "EXIT_ON_ZERO_ACTIVE_CONNECTIONS" in changed
    assert "drainDuration" in changed
    # The edit is the smallest one: what is around it is as it was.
    assert changed.startswith(text[: edit.start])
    assert changed.endswith(text[edit.end :])
    assert text[edit.start : edit.end].strip() in ("", "metadata:")


def found(
    rule: str, severity: Severity = Severity.WARNING, container: str | None = None
) -> Finding:
    return replace(finding_of(TWO, "SL102"), rule=rule, severity=severity, container=container)


def test_what_a_fix_does_not_resolve_or_causes_is_a_regression() -> None:
    fixed = found("SL102", Severity.ERROR)
    assert _find_regressions([fixed], [], [fixed]) == {}
    assert _find_regressions([fixed], [fixed], [fixed]) == {
        ("shop.yaml", str(fixed.workload)): "the fix does not resolve the finding"
    }
    two = [fixed, fixed]
    assert _find_regressions(two, [fixed], [fixed]) == {}
    assert _find_regressions(two, two, [fixed])
    warning = found("SL202")
    worse = found("SL999", Severity.ERROR)
    assert _find_regressions([warning], [worse], [warning]) == {
        ("shop.yaml", str(worse.workload)): "the fix would cause SL999"
    }
    same = found("SL998")
    assert _find_regressions([warning], [same], [warning])
    assert _find_regressions([fixed], [same], [fixed]) == {}, "less severe than what is fixed"
    other = found("SL202", container="other")
    assert _find_regressions([warning, other], [other], [warning]) == {}
    assert _find_regressions([warning], [other], [warning])


def test_what_must_not_change_is_compared() -> None:
    check_text(b"a: 1\n", b"a: 1\n", [])
    for new, reason in (
        (b"a: 2\n", "another document would change"),
        (b"a: 0\n", "another document would change"),
        (b"a: 1\n---\nb: 1\n", "the number of documents would change"),
    ):
        with pytest.raises(VerificationError, match=reason):
            check_text(b"a: 1\n", new, [])
    with pytest.raises(VerificationError, match="the number of documents would change"):
        check_text(b"a: 1\n---\nb: 1\n", b"a: 1\n", [])
    with pytest.raises(VerificationError, match="an unrelated value would change"):
        check_piece("a: 1\n", "a: 2\n", [])
    with pytest.raises(VerificationError, match="duplicate key"):
        check_piece("a: 1\n", "a: 1\na: 1\n", [])
    with pytest.raises(VerificationError, match="not JSON any more"):
        check_piece('{"a": 1}', "a: 1\n", [])
    with pytest.raises(VerificationError, match="not valid YAML"):
        check_piece("a: 1\n", "a: [\n", [])
    check_piece("a: 1\na: 2\n", "a: 1\na: 2\n", [])
    meant = [IntendedChange(0, 0, (key,), None) for key in "abc"]
    with pytest.raises(VerificationError, match="duplicate key"):
        check_piece("a: 1\na: 2\nb: 1\nc: 1\n", "a: 1\na: 2\na: 1\nb: 1\n", meant)
    with pytest.raises(VerificationError, match="is not UTF-8"):
        check_text(b"a: 1\n", b"a: \xff\n", [IntendedChange(0, 0, ("a",), None)])


def test_only_lists_of_named_items_are_merged_named() -> None:
    assert _named([{"name": "a"}, {"name": "b"}])
    assert not _named([{"name": "a"}, {"value": "b"}])
    assert not _named([{"name": "a"}, "name"])
    assert not _named("name")


@pytest.mark.parametrize(
    "annotation",
    [
        "'drainDuration: 5s'",
        '"drainDuration: 5s"',
        '\'{"drainDuration": "5s"}\'',
        "|\n      drainDuration: 5s",
        "|-\n      drainDuration: 5s",
        "|\n      # first\n      drainDuration: 5s\n",
        ">-\n      drainDuration: 5s",
        "",
        "''",
        "{}",
    ],
)
def test_a_setting_is_added_to_whatever_form_the_annotation_has(annotation: str) -> None:
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: shop\n"
        '  labels: {sidecar.istio.io/inject: "true"}\n'
        "  annotations:\n    other: x\n"
        f"    proxy.istio.io/config: {annotation}\n"
        "spec:\n  terminationGracePeriodSeconds: 60\n"
        "  containers:\n  - name: app\n    image: a\n    ports: [{containerPort: 80}]\n"
    )
    facts = user_facts("20s", istio="1.26", kubernetes="1.28")
    candidates = [f for f in lint(text, facts).findings if f.rule == "SL202"]
    if annotation == "{}":  # the API server takes strings only
        assert candidates == [] or list_replacements(candidates[0]) == []
        return
    (finding,) = candidates
    made = list_replacements(finding)
    assert made, annotation
    changed = text
    lines = text.splitlines(keepends=True)
    starts = [sum(map(len, lines[:n])) for n in range(len(lines) + 1)]
    for each in reversed(made):
        begin = starts[each.region.line - 1] + each.region.column - 1
        end = starts[each.region.end_line - 1] + each.region.end_column - 1
        changed = changed[:begin] + each.text + changed[end:]
    again = [f.rule for f in lint(changed, facts).findings if f.severity != "note"]
    assert "SL202" not in again, changed
    assert "    other: x\n" in changed
    assert json.dumps(changed)


def location(annotation: str, *inner: str) -> EditLocation:
    text = f"""
        apiVersion: v1
        kind: Pod
        metadata: {{name: shop, annotations: {{config: {annotation}}}}}
        spec: {{containers: [{{name: a, image: b}}]}}
        """
    return EditLocation(plan_pod_text(text).workload.annotations / "config", inner)


def test_places_inside_a_text() -> None:
    place = location('"a: {b: 1, c: 2}"', "a", "b")
    node = place.value()
    assert node is not None
    assert node.value == "1"
    other = place.beside("c").value()
    assert other is not None
    assert other.value == "2"
    assert place.beside("d").value() is None
    first = location('"a: 1\\n---\\na: 2\\n"', "a").value()
    assert first is not None
    assert first.value == "1", "of several documents the first one counts"
    with pytest.raises(EditError, match="is not YAML"):
        location('"a: [b"', "a").set("5s")


def test_items_of_a_list_are_removed_after_the_other_changes() -> None:
    text = dedent(
        """
        apiVersion: v1
        kind: Pod
        metadata: {name: shop}
        spec:
          containers:
          - {name: a, image: b}
          - {name: c, image: d}
        """
    )
    spec = plan_pod_text(text).workload.spec
    remove = Change(EditAction.REMOVE, "x", EditTarget(spec / "containers" / 0))
    rename = Change(EditAction.SET, "y", EditTarget(spec / "containers" / 0 / "image"), "e")
    other = Change(EditAction.SET, "z", EditTarget(spec / "containers" / 1 / "image"), "f")
    for changes in ([remove, rename, other], [other, rename, remove]):
        ((_, edits),) = edits_for(changes).items()
        changed = apply_edits(text.removeprefix("\n"), edits)
        assert "name: a" not in changed
        assert "{name: c, image: f}" in changed


def test_the_place_of_a_text_position() -> None:
    assert _point("\nabc", 0, 2) == (2, 2)
    assert _point("a\nb\nc", 1, 4) == (4, 1)
    assert _point("abc", 5, 0) == (6, 1)


def test_a_finding_is_known_by_its_container() -> None:
    finding = finding_of(TWO, "SL102")
    other = replace(finding, container="other")
    assert _key(finding) != _key(other)
    assert list(_kinds(finding)) != list(_kinds(other))
    assert _key(finding) == _key(replace(finding, severity=Severity.NOTE))


def test_the_key_beside_another_one() -> None:
    ref = plan_pod_text(TWO.partition("---\n")[0]).ref
    inside = EditLocation(ref, ("a", "b", "c")).beside("d")
    assert (inside.ref, inside.inner) == (ref, ("a", "b", "d"))
    outside = EditLocation(ref / "spec" / "x").beside("y")
    assert (outside.ref.key_path, outside.inner) == ((*ref.key_path, "spec", "y"), None)


@pytest.mark.parametrize(
    ("file", "context", "written"),
    [
        (InputFile(Path("a.yaml"), "a.yaml"), False, True),
        (InputFile(None, STDIN_NAME, stdin=True), False, True),
        (InputFile(None, "chart/templates/a.yaml"), False, False),
        (InputFile(Path("a.yaml"), "a.yaml"), True, False),
    ],
)
def test_only_files_of_the_user_and_standard_input_are_written(
    file: InputFile, context: bool, written: bool
) -> None:
    text = TWO.partition("---\n")[2].encode()
    source = InputSource(replace(file, data=text), context)
    _, done = fix_files(Inputs((source,)), lint_options(user_facts("20s")), unsafe=True)
    assert bool(done.texts) is written


def test_a_fix_that_cannot_be_written_has_no_replacements() -> None:
    """Test a fix whose value is inside the text of another value."""
    policy = """
        apiVersion: kyverno.io/v1
        kind: ClusterPolicy
        metadata: {name: grace}
        spec:
          rules:
          - name: grace
            match: {any: [{resources: {kinds: [Pod]}}]}
            mutate:
              patchesJson6902: |-
                - {op: add, path: /spec/terminationGracePeriodSeconds, value: 20}
        """
    pod = TWO.partition("---\n")[2].replace("  terminationGracePeriodSeconds:   20", "  ")
    found = check_files({"pod.yaml": pod, "policy.yaml": policy}).findings
    (finding,) = [f for f in found if f.rule == "SL102"]
    assert finding.fix is not None
    assert finding.fix.changes
    assert list_replacements(finding) == []


def test_key_paths_of_edit_locations_can_be_compared() -> None:
    ref = plan_pod_text(TWO.partition("---\n")[0]).ref
    assert EditLocation(ref / "a").key_path == (*ref.key_path, "a")
    assert EditLocation(ref / "a", ("b", 0)).key_path == (*ref.key_path, "a", "", "b", 0)


@pytest.mark.parametrize(
    ("value", "value_format", "written"),
    [
        (True, ValueFormat.PLAIN, True),
        (False, ValueFormat.STRING, "false"),
        ("text", ValueFormat.STRING, "text"),
        (seconds(1.2), ValueFormat.SECONDS, 2),
        (seconds(90), ValueFormat.SECONDS_TEXT, "90"),
        (seconds(90), ValueFormat.DURATION, "90s"),
        (seconds(3), ValueFormat.EXEC_SLEEP, {"command": ["sleep", "3"]}),
    ],
)
def test_values_as_they_are_written(
    value: timedelta | bool | str, value_format: ValueFormat, written: object
) -> None:
    assert serialize(value, value_format) == written


def test_a_patch_is_for_its_own_document(tmp_path: Path) -> None:
    (tmp_path / "pods.yaml").write_text(TWO)
    (tmp_path / "other.yaml").write_text(TWO.partition("---\n")[0])
    _, patch, _ = run("suggest", str(tmp_path), "shop", "--format", "kustomize")
    assert "name: shop" in patch
    assert "name: first" not in patch
    options = lint_options()
    inputs = write_sources({"pods.yaml": TWO, "other.yaml": "a: 1\n"}, tmp_path)
    run_ = plan_workloads(inputs, options)
    pods = [pod for pod in run_.pods if pod.id.name == "shop"]
    report = complete_report(make_suggestions(pods), run_, options)
    assert set(report.originals) == {"pods.yaml"}
    assert set(report.texts) <= {"pods.yaml"}


def test_what_is_left_of_a_group_is_not_a_new_finding() -> None:
    one, two = (replace(found("SL203"), container=name) for name in ("a", "b"))
    both = replace(one, container=None, workload=None, group=(one, two))
    assert _find_regressions([both], [two], [one]) == {}
    assert _find_regressions([both], [both], [one])
    assert _find_regressions([two], [both], [found("SL202")])


def test_one_bad_fix_among_many_is_found_where_its_file_is_not_named() -> None:
    """Changing c.yaml brings a finding into a file that no fix changes."""
    pod = TWO.partition("---\n")[2]
    texts = {f"{name}.yaml": pod.replace("name: shop", f"name: {name}") for name in "abcde"}
    trouble = replace(found("SL999", Severity.ERROR), region=Region("other.yaml", 1, 1, 1, 2))
    checks = []

    def check(changed: Mapping[str, bytes]) -> list[Finding]:
        checks.append(set(changed))
        now = {**texts, **{name: data.decode() for name, data in changed.items()}}
        findings = check_files(now).findings
        bad = "c.yaml" in changed and changed["c.yaml"].decode() != texts["c.yaml"]
        return [*findings, trouble] if bad else [*findings]

    applier = FixApplier(check, lambda name: texts[name].encode(), set(texts), unsafe=True)
    result = applier.run()
    assert set(result.texts) == {"a.yaml", "b.yaml", "d.yaml", "e.yaml"}
    refused = [(str(each.finding.workload), each.reason) for each in result.refused]
    assert set(refused) == {("Pod c", "the fix would cause SL999")}
    assert len(checks) < 15


def test_the_only_fix_of_a_run_is_refused_at_once() -> None:
    text = TWO.partition("---\n")[2]
    trouble = replace(found("SL999", Severity.ERROR), region=Region("other.yaml", 1, 1, 1, 2))

    def check(changed: Mapping[str, bytes]) -> list[Finding]:
        findings = check_files({"a.yaml": changed.get("a.yaml", text.encode())}).findings
        return [*findings, trouble] if changed else [*findings]

    result = FixApplier(check, lambda _: text.encode(), {"a.yaml"}, unsafe=True).run()
    assert result.texts == {}
    assert len(result.refused) == 1
