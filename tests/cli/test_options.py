"""Options of reports and rules: formats, colours, statistics, names, confidence, ignores."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.helpers import POD, run, served

TWO = f"{POD}---\n{served()}"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.yaml").write_text(TWO)


def test_a_format_names_its_file() -> None:
    code, out, _ = run("check", "--format", "json=r.json", "--format", "gitlab=g.json", "a.yaml")
    assert code == 1
    assert out.startswith("error[SL102]")
    assert json.loads(Path("r.json").read_text())["findings"][0]["rule"] == "SL102"
    (entry,) = json.loads(Path("g.json").read_text())
    assert entry["description"].startswith("Pod shop: preStop of app takes 20s")
    assert ". Fix: set terminationGracePeriodSeconds" in entry["description"]
    out = run("check", "--format", "github", "--format", "json=r.json", "a.yaml")[1]
    assert out.startswith("::error file=a.yaml")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--format", "jsn"), "--format jsn: no such format; did you mean json?"),
        (("--format", "json=a", "-o", "b"), "--output goes with --format NAME"),
        (("--statistics", "--format", "json"), "--statistics is a format of its own"),
        (("--select", "SL99"), "unknown rule or prefix: SL99"),
        (("--select", "grace-to-short"), "did you mean grace-too-short?"),
        (("--ignore", "SLL102"), "did you mean SL102?"),
        (("--add-ignore", " "), "--add-ignore needs a reason"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], text: str) -> None:
    code, out, stderr = run("check", *arguments, "a.yaml")
    assert (code, out) == (2, "")
    assert text in stderr


def test_rules_by_name() -> None:
    assert run("check", "--ignore", "grace-spent-by-prestop", "a.yaml")[0] == 0
    assert "SL102" in run("check", "--select", "Grace-Spent-By-PreStop", "a.yaml")[1]
    Path("shutdownlint.toml").write_text('[severity]\ngrace-spent-by-prestop = "warning"\n')
    assert run("check", "a.yaml")[1].startswith("warning[SL102]")


def test_statistics_count_by_rule() -> None:
    Path("b.yaml").write_text(POD)
    out = run("check", "--statistics", "--notes", "a.yaml", "b.yaml")[1]
    lines = out.splitlines()
    assert lines[0] == "     2  SL102    error    grace-spent-by-prestop  2 fixable"
    assert re.match(r" +1  SL1\d\d    note     ", lines[1])
    assert run("check", "--statistics", "a.yaml")[2] == ""
    assert run("check", "--statistics", "-q", "a.yaml")[1].count("\n") == 1


def test_quiet_prints_findings_only() -> None:
    _, out, stderr = run("check", "-q", "a.yaml")
    assert out.startswith("error[SL102]")
    assert out.endswith("[--fix]\n\n")
    assert stderr == ""
    Path("b.yaml").write_text("# nothing\n")
    assert run("check", "-q", "--ignore", "SL102", "a.yaml") == (0, "", "")
    assert run("check", "-q", "b.yaml")[0] == 2


def test_colours() -> None:
    assert "\x1b[" in run("check", "--color", "always", "a.yaml")[1]
    assert "\x1b[" not in run("check", "--color", "never", "a.yaml")[1]
    assert "\x1b[" not in run("check", "a.yaml")[1]
    assert "\x1b[" in run("explain", "--color", "always", "a.yaml")[1]
    linked = run("check", "--color", "always", "a.yaml")[1]
    assert "https://shutdownlint.github.io/shutdownlint/rules/SL102/" in linked


def test_unsure_findings_are_only_counted() -> None:
    # Where the mesh's version is not known, the finding rests on it.
    Path("a.yaml").write_text(
        served(sleep=15)
        .replace("labels: {app: shop}", "labels: {app: shop, sidecar.istio.io/inject: 'true'}", 1)
        .replace("{labels: {app: shop}}", "{labels: {app: shop, sidecar.istio.io/inject: 'true'}}")
    )
    _, out, _ = run("check", "a.yaml")
    assert "medium confidence" in out
    code, out, _ = run("check", "--min-confidence", "high", "a.yaml")
    assert code == 0
    assert "of lower confidence (--min-confidence low)" in out
    Path("shutdownlint.toml").write_text('min-confidence = "high"\n')
    assert run("check", "a.yaml")[0] == 0
    assert run("check", "--min-confidence", "medium", "a.yaml")[0] == 1


def test_what_can_be_fixed_is_counted() -> None:
    assert "fixable: 1 with --fix\n" in run("check", "a.yaml")[1]


def test_a_rule_is_found_by_a_word() -> None:
    code, out, _ = run("rule", "eviction")
    assert code == 0
    assert "SL153" in out
    assert "SL102" not in out
    code, _, stderr = run("rule", "grace-to-short")
    assert (code, "did you mean grace-too-short?" in stderr) == (2, True)


def test_ignores_are_added_with_a_reason() -> None:
    code, _, stderr = run("check", "--add-ignore", "the vendor's, OPS-1", "a.yaml")
    assert (code, "ignored 1 finding in 1 file" in stderr) == (0, True)
    line = Path("a.yaml").read_text().splitlines()[6]
    assert line.endswith("}  # shutdownlint: ignore[SL102] the vendor's, OPS-1")
    code, out, _ = run("check", "a.yaml")
    assert (code, "(1 suppressed)" in out) == (0, True)


def test_what_the_baseline_has_gets_no_comment() -> None:
    before = Path("a.yaml").read_text()
    run("check", "--write-baseline", "known.json", "a.yaml")
    _, _, stderr = run("check", "--baseline", "known.json", "--add-ignore", "why", "a.yaml")
    assert "ignored 0 findings" in stderr
    assert Path("a.yaml").read_text() == before


def test_an_ignore_names_a_rule_and_also_a_related_line() -> None:
    lines = POD.splitlines()
    lines[4] += "  # shutdownlint: ignore[grace-spent-by-prestop] until spring"
    Path("a.yaml").write_text("\n".join(lines) + "\n")
    code, out, stderr = run("check", "a.yaml")
    assert (code, "(1 suppressed)" in out, stderr) == (0, True, "")
    lines[4] = lines[4].replace("grace-spent", "grace-spend")
    Path("a.yaml").write_text("\n".join(lines) + "\n")
    code, _, stderr = run("check", "a.yaml")
    assert code == 1
    assert "names no rule: grace-spend-by-prestop; did you mean grace-spent-by-prestop?" in stderr


def test_a_workload_that_is_meant() -> None:
    code, _, stderr = run("explain", ".", "shopp")
    assert (code, "no workload matches shopp in .; did you mean shop?" in stderr) == (2, True)


def test_a_summary_has_a_line_for_each_workload() -> None:
    code, out, _ = run("explain", "--summary", ".")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].split()[:3] == ["workload", "file", "in"]
    assert lines[1].startswith("Pod shop ")
    assert "SL102" in lines[1]
    assert lines[-1].startswith("at a stop: 1 of 2 workloads ")
    given = ("--rate", "100", "--rollouts", "5", "--p99", "40s")
    out = run("explain", "--summary", *given, ".")[1]
    assert "a week (5 rollouts of 1 pod)" in out
    assert run("explain", "--summary", "--format", "svg", ".")[0] == 2
    assert run("explain", "--summary", "--request", "1s", ".")[0] == 2


def test_the_summary_as_json_says_what_the_check_says() -> None:
    code, out, _ = run("explain", "--summary", "--format", "json", ".")
    assert code == 0
    data = json.loads(out)
    first, second = data["workloads"]
    assert first["workload"] == {"kind": "Pod", "namespace": None, "name": "shop"}
    assert (first["file"], first["lost"], first["reported_by"]) == ("a.yaml", "long", ["SL102"])
    assert second["lost"] == "none"
    losses = data["summary"]["losses"]
    assert (losses["workloads"], losses["long"], losses["none"]) == (2, 1, 1)
    checked = json.loads(run("check", "--format", "json", ".")[1])
    assert checked["summary"]["losses"] == losses


def test_what_cannot_be_explained_is_in_the_list() -> None:
    knative = (
        "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: hello}\n"
        "spec: {template: {spec: {containers: [{name: a, image: i}]}}}\n"
    )
    Path("k.yaml").write_text(knative)
    out = run("explain", "--summary", ".")[1]
    assert re.search(r"^Service hello +k.yaml:\d+ .* not analysed: Knative", out, re.MULTILINE)
    assert out.splitlines()[-1].endswith(
        ", 1 is not analysed (Knative workloads (Knative sets their shutdown itself))"
    )
    _, out, stderr = run("explain", ".", "--format", "json")
    assert json.loads(out)["unplanned"][0]["workload"] == "Service hello"
    assert "Service hello is not analysed: Knative" in stderr


def test_suggestions_as_json() -> None:
    code, out, _ = run("suggest", "--format", "json", "--p99", "10s", "a.yaml")
    assert code == 0
    data = json.loads(out)
    first = data["workloads"][0]
    assert first["proven"]
    assert {change["setting"] for change in first["changes"]} == {"terminationGracePeriodSeconds"}
    assert data["patches"][0]["diff"].startswith("--- a/a.yaml\n+++ b/a.yaml\n")
