"""Fixes applied to files: only what is intended and verified, in rounds."""

from __future__ import annotations

import re
import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner

from shutdownlint.cli.app import command_line
from shutdownlint.engine.finding import Severity
from shutdownlint.engine.rule import Rule
from shutdownlint.engine.schema import Example
from shutdownlint.engine.selection import RuleSelection
from shutdownlint.fixes.apply import FixResult
from shutdownlint.fixes.fixer import fix_files
from shutdownlint.linter.options import LintOptions
from shutdownlint.linter.rule_examples import example_facts
from tests.helpers import check_text, dedent, rules, schema, user_facts, write_sources

ENABLED = """\
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {istio-injection: enabled}}
---
"""
POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: shop
  namespace: shop
%sspec:
  # a comment stays
  containers:
    - name: app  # this one too
      image: shop/app:1
      lifecycle:
        preStop:
          exec: {command: ["sh", "-c", "sleep 30"]}
"""


def fix_result(
    text: str | bytes,
    folder: Path,
    *,
    unsafe: bool = True,
    istio: str | None = None,
    p99: str | None = None,
) -> tuple[bytes, FixResult]:
    """Return a text as a file with its fixes."""
    sources = write_sources(
        {"shop.yaml": text if isinstance(text, bytes) else text.encode()}, folder
    )
    _, done = fix_files(sources, LintOptions(user_facts(p99, istio=istio)), unsafe=unsafe)
    original = text if isinstance(text, bytes) else text.encode()
    return done.texts.get("shop.yaml", original), done


def unmarked(example: Example, rule: Rule) -> str:
    return re.sub(rf" *# {rule.id}$", "", example.bad, flags=re.MULTILINE)


FIXABLE = [
    pytest.param(rule, number, id=f"{rule.id}-{number}")
    for rule in rules()
    if rule.edits
    for number in range(1, len(schema(rule.id).examples) + 1)
]


@pytest.mark.parametrize(("rule", "number"), FIXABLE)
def test_the_good_example_is_what_the_fix_makes_of_the_bad(
    rule: Rule, number: int, tmp_path: Path
) -> None:
    example = schema(rule.id).examples[number - 1]
    text = unmarked(example, rule)
    sources = write_sources({"shop.yaml": text.encode()}, tmp_path)
    severities = {} if rule.severity != "note" else {rule.id: Severity.WARNING}
    options = LintOptions(example_facts(example.options), RuleSelection(severities=severities))
    result, done = fix_files(sources, options, unsafe=True)
    if not done.texts:
        # some of a rule's findings need a person; at least its first or second example does not
        assert [f.rule for f in result.findings] == [rule.id]
        assert len(schema(rule.id).examples) > 1
        return
    assert done.texts["shop.yaml"].decode() == example.good
    assert not result.findings


def test_every_rule_with_edits_has_an_example_of_them() -> None:
    for rule in rules():
        if rule.edits:
            fixable = [
                finding.fix is not None and bool(finding.fix.changes)
                for example in schema(rule.id).examples
                for finding in check_text(example.bad, example_facts(example.options)).findings
                if finding.rule == rule.id
            ]
            assert any(fixable), rule.id


def test_fixes_of_one_pod_fit_together(tmp_path: Path) -> None:
    text = ENABLED + POD % ""
    new, done = fix_result(text, tmp_path, istio="1.26", p99="10s")
    assert not done.refused
    assert not [f for f in done.remaining if f.severity != "note"]
    added = [line for line in new.decode().splitlines() if line not in text.splitlines()]
    assert added == [
        "  annotations:",
        "    proxy.istio.io/config: |",
        "      proxyMetadata:",
        "        MINIMUM_DRAIN_DURATION: 30s",
        "        EXIT_ON_ZERO_ACTIVE_CONNECTIONS: 'true'",
        "  terminationGracePeriodSeconds: 45",
    ]
    assert new.count(b"# a comment stays") == new.count(b"# this one too") == 1


def test_safe_fixes_leave_the_mesh_alone(tmp_path: Path) -> None:
    new, done = fix_result(ENABLED + POD % "", tmp_path, unsafe=False, istio="1.26")
    assert {finding.rule for finding in done.fixed} == {"SL102"}
    assert b"annotations" not in new


@pytest.mark.parametrize(
    ("annotation", "after"),
    [
        (
            "  annotations:\n    proxy.istio.io/config: |\n      terminationDrainDuration: 10s  # c\n      concurrency: 2\n",
            "      terminationDrainDuration: 41s  # c\n      concurrency: 2\n",
        ),
        (
            '  annotations: {proxy.istio.io/config: \'{ "terminationDrainDuration": "10s" }\'}\n',
            '\'{ "terminationDrainDuration": "41s" }\'',
        ),
        (
            '  annotations:\n    proxy.istio.io/config: \'{ "drainDuration": "40s" }\'\n',
            (
                '\'{"proxyMetadata": {"MINIMUM_DRAIN_DURATION": "30s", '
                '"EXIT_ON_ZERO_ACTIVE_CONNECTIONS": "true"},  "drainDuration": "40s" }\''
            ),
        ),
        (
            "  annotations:\n    proxy.istio.io/config: 'concurrency: 2'\n",
            "    proxy.istio.io/config: |-\n      proxyMetadata:\n        MINIMUM_DRAIN_DURATION: 30s\n        EXIT_ON_ZERO_ACTIVE_CONNECTIONS: 'true'\n      concurrency: 2\n",
        ),
        (
            '  annotations:\n    proxy.istio.io/config: "terminationDrainDuration: 10s\\nconcurrency: 2"\n',
            "    proxy.istio.io/config: |-\n      terminationDrainDuration: 41s\n      concurrency: 2\n",
        ),
        (
            "  annotations:\n",
            "  annotations:\n    proxy.istio.io/config: |\n      proxyMetadata:\n        MINIMUM_DRAIN_DURATION: 30s\n        EXIT_ON_ZERO_ACTIVE_CONNECTIONS: 'true'\n",
        ),
    ],
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_inside_an_annotation(annotation: str, after: str, line_end: str, tmp_path: Path) -> None:
    text = (ENABLED + POD % annotation).replace("\n", line_end).encode()
    new, done = fix_result(text, tmp_path, istio="1.26", p99="10s")
    assert not done.refused
    assert after.replace("\n", line_end) in new.decode()
    assert not [f for f in done.remaining if f.severity != "note"]


def test_helm_renderings_are_never_written(tmp_path: Path) -> None:
    text = "---\n# Source: shop/templates/pod.yaml\n" + POD % ""
    new, done = fix_result(text, tmp_path)
    assert new == text.encode()
    assert "shop/templates/pod.yaml" in done.refused[0].reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            (
                "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: &s\n  terminationGracePeriodSeconds: 0\n"
                "  containers: [{name: a, image: a, lifecycle: {preStop: {sleep: {seconds: 5}}}}]\n"
                "---\napiVersion: v1\nkind: Service\nmetadata: {name: a}\n"
            ),
            None,
        ),
        (
            (
                "apiVersion: v1\nkind: List\nitems:\n  - apiVersion: v1\n    kind: Pod\n    metadata: {name: a}\n"
                "    spec: &s {containers: [{name: a, image: a, lifecycle: {preStop: {exec: {command: [sleep, '30']}}}}]}\n"
                "  - apiVersion: v1\n    kind: Pod\n    metadata: {name: b}\n    spec: *s\n"
            ),
            "anchor",
        ),
    ],
)
def test_what_is_shared_is_left_alone(text: str, reason: str | None, tmp_path: Path) -> None:
    new, done = fix_result(text, tmp_path)
    if reason is None:
        assert done.texts
        return
    assert new == text.encode()
    assert all(reason in refused.reason for refused in done.refused)
    assert done.refused


def test_a_byte_order_mark_and_other_documents_stay(tmp_path: Path) -> None:
    text = b"\xef\xbb\xbf# first\nkind: Strange\n---\n" + (POD % "").encode() + b"...\n---\n# end"
    new, done = fix_result(text, tmp_path)
    assert done.fixed
    assert new.startswith(b"\xef\xbb\xbf# first\nkind: Strange\n---\n")
    assert new.endswith(b"...\n---\n# end")


def run(*arguments: str, text: str | None = None) -> tuple[int, str, str]:
    result = CliRunner().invoke(command_line(), ["check", *arguments], input=text)
    return result.exit_code, result.stdout, result.stderr


def test_fix_writes_and_tells(tmp_path: Path) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(POD % "")
    path.chmod(0o640)
    link = tmp_path / "link.yaml"
    link.symlink_to(path)
    code, out, err = run("--diff", str(link))
    assert (code, path.read_text()) == (1, POD % "")
    assert "+  terminationGracePeriodSeconds: 45\n" in out
    code, out, err = run("--fix", str(link))
    assert code == 0
    assert "fixed 1 finding in 1 file" in err
    assert "terminationGracePeriodSeconds: 45" in path.read_text()
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert run("--fix", str(link))[2] == ""
    assert run("--diff", str(link)) == (0, "", "")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.yaml", "pod.yaml"]


def test_standard_input_goes_to_standard_output() -> None:
    code, out, err = run("--fix", "-", text=POD % "")
    assert code == 0
    assert out == (POD % "").replace("spec:\n", "spec:\n  terminationGracePeriodSeconds: 45\n")
    code, out, err = run("--fix", "-", text="apiVersion: v1\nkind: Pod\nspec: {containers: [")
    assert code == 2
    assert out.startswith("apiVersion")
    assert "SL001" in err


def test_a_read_only_file_is_told_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutdownlint.atomic_write.os.access", lambda *_: False)
    path = tmp_path / "pod.yaml"
    path.write_text(POD % "")
    code, _, err = run("--fix", str(path))
    assert code == 2
    assert "read-only" in err
    assert path.read_text() == POD % ""


def test_a_file_that_changed_meanwhile_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(POD % "")
    monkeypatch.setattr(
        "shutdownlint.atomic_write.os.access", lambda *_: path.write_text("mine") > 0
    )
    code, _, err = run("--fix", str(path))
    assert code == 2
    assert "changed meanwhile" in err
    assert path.read_text() == "mine"


def test_context_files_are_not_fixed(tmp_path: Path) -> None:
    service = dedent("""
        apiVersion: v1
        kind: Service
        metadata: {name: shop, namespace: shop}
        spec:
          selector: {app: shop}
          ports: [{port: 80}]
          publishNotReadyAddresses: true
    """)
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: shop, namespace: shop, labels: {app: shop}}\n"
    )
    pod += (
        "spec: {containers: [{name: a, image: a, lifecycle: {preStop: {sleep: {seconds: 5}}}}]}\n"
    )
    (tmp_path / "mesh").mkdir()
    (tmp_path / "mesh" / "service.yaml").write_text(service)
    (tmp_path / "pod.yaml").write_text(pod)
    code, _, err = run(
        "--unsafe-fixes", "--context", str(tmp_path / "mesh"), str(tmp_path / "pod.yaml")
    )
    assert code == 1
    assert "is not writable in this run" in err
    assert (tmp_path / "mesh" / "service.yaml").read_text() == service
