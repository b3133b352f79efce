from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from rich.console import Console

from shutdownlint.linter.result import LintResult
from shutdownlint.reports.json import to_data
from shutdownlint.reports.output import ReportOutput
from shutdownlint.reports.report import Report, safe
from shutdownlint.reports.sarif import render_sarif
from shutdownlint.reports.text_findings import draw_lines, draw_report
from tests.helpers import check_text, user_facts
from tests.reports.sarif_schema import official_schema

POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: shop
  namespace: front
spec:
  terminationGracePeriodSeconds: 60
  containers:
    - name: app
      image: shop/app:1
      lifecycle:
        preStop:
          exec:
            command: ["sleep", "60"]
"""


def report(result: LintResult) -> Report:
    return Report(result)


def write_sarif(of: Report) -> str:
    return render_sarif(of, ReportOutput("x.sarif"))


def printed(writer: Any, of: Report, *, colour: bool = False) -> str:
    out = io.StringIO()
    writer(of, Console(file=out, width=80, force_terminal=colour, highlight=False))
    return out.getvalue()


def test_text_shows_the_line_and_marks_what_decides_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("shop.yaml").write_text(POD)
    text = printed(draw_report, report(check_text(POD)))
    assert (
        text
        == """\
error[SL102] grace-spent-by-prestop: preStop of app takes 60s, but the grace period is 60s \
(line 7): no time is left after the hook. app gets its stop signal at 60s, and SIGKILL 2s later
  --> shop.yaml:14:32  Pod front/shop, container app
14 |             command: ["sleep", "60"]
   |                                ^^^^
   = fix: set terminationGracePeriodSeconds to more than 60s plus the time that the program \
needs to finish [--fix]

at a stop: 1 of 1 workload cuts requests longer than 2s (terminationGracePeriodSeconds 60s)
assumed: the program of 1 image finishes what it has, no mesh for 1 workload; not known: how long \
requests take (1 workload); say --p99, --mesh or run 'shutdownlint init'; 'shutdownlint verify' tests it
fixable: 1 with --fix
1 error; 1 workload in 1 document of 1 file
"""
    )


def test_colour_only_where_asked() -> None:
    of = report(check_text(POD))
    assert "\x1b[" in printed(draw_report, of, colour=True)
    assert "\x1b[" not in printed(draw_report, of)


def test_concise_is_one_line_a_finding() -> None:
    lines = printed(draw_lines, report(check_text(POD))).splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("shop.yaml:14:32: error SL102 preStop of app takes 60s")
    assert lines[0].endswith("[Pod front/shop]")


def test_json_keeps_its_contract() -> None:
    data = to_data(report(check_text(POD + "---\nkind: Pod\napiVersion: v1\nx: [containers\n")))
    finding = data["findings"][0]
    assert data["version"] == 1
    assert (
        finding
        | {
            "rule": "SL102",
            "name": "grace-spent-by-prestop",
            "severity": "error",
            "confidence": "high",
            "file": "shop.yaml",
            "line": 14,
            "column": 32,
            "end_line": 14,
            "end_column": 36,
            "workload": {"kind": "Pod", "namespace": "front", "name": "shop"},
            "container": "app",
            "fixes": [
                {
                    "safety": "safe",
                    "edits": [
                        {
                            "file": "shop.yaml",
                            "line": 7,
                            "column": 34,
                            "end_line": 7,
                            "end_column": 36,
                            "text": "75",
                        }
                    ],
                }
            ],
        }
        == finding
    )
    assert data["unreadable"] == [
        {
            "file": "shop.yaml",
            "line": 19,
            "reason": "did not find expected ',' or ']', in a flow sequence that begins in line 18",
        }
    ]
    assert data["summary"] == {
        "files": 1,
        "documents": 2,
        "workloads": 1,
        "errors": 2,
        "warnings": 0,
        "notes": 0,
        "hidden_notes": {},
        "known": 0,
        "unsure": 0,
        "ignored": 0,
        "rules_left_out": 0,
        "losses": {
            "workloads": 1,
            "cut": 0,
            "late": 0,
            "own_calls": 0,
            "work": 0,
            "long": 1,
            "none": 0,
            "not_judged": 0,
        },
    }
    json.dumps(data)


@pytest.fixture(scope="session")
def schema(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return official_schema(tmp_path_factory.getbasetemp())


@pytest.mark.network
@pytest.mark.parametrize(
    "text",
    [POD, "kind: Pod\napiVersion: v1\nx: [containers\n", "a: 1\n"],
    ids=["one", "bad", "none"],
)
def test_sarif_is_valid(text: str, schema: dict[str, Any]) -> None:
    log = json.loads(write_sarif(report(check_text(text))))
    jsonschema.validate(log, schema)
    assert isinstance(log["runs"][0]["results"], list)


def test_sarif_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("shop.yaml").write_text(POD)
    log = json.loads(write_sarif(report(check_text(POD))))
    run = log["runs"][0]
    (result,) = run["results"]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "SL102"
    physical = result["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"]["uri"] == "shop.yaml"
    assert physical["region"] == {
        "startLine": 14,
        "startColumn": 32,
        "endLine": 14,
        "endColumn": 36,
        "snippet": {"text": '"60"'},
    }
    assert "Fix: set terminationGracePeriodSeconds" in result["message"]["text"]
    assert result["relatedLocations"][0]["physicalLocation"]["region"]["startLine"] == 7


def test_fingerprints_survive_lines_inserted_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def prints(text: str) -> list[str]:
        Path("shop.yaml").write_text(text)
        results = json.loads(write_sarif(report(check_text(text))))["runs"][0]["results"]
        return [r["partialFingerprints"]["primaryLocationLineHash"] for r in results]

    assert prints(POD) == prints("# a comment\n" * 10 + POD)


def test_nothing_from_the_input_acts_on_the_screen() -> None:
    evil = POD.replace("name: app", 'name: "a\\e[31mpp\\u202e[bold]x[/bold]"')
    text = printed(draw_report, report(check_text(evil)))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "[bold]x[/bold]" in text
    assert safe("a\x1b\x9b\r\nb\tc") == "a\\u001b\\u009b\\u000d\\u000ab    c"


def test_sarif_messages_cannot_make_links() -> None:
    evil = POD.replace("name: app", 'name: "[click](http://x)"')
    (result,) = json.loads(write_sarif(report(check_text(evil))))["runs"][0]["results"]
    assert "\\[click\\](http://x)" in result["message"]["text"]


def test_assumptions_are_shown() -> None:
    text = POD.replace("  namespace: front\n", "  labels: {sidecar.istio.io/inject: 'true'}\n")
    shown = printed(draw_report, report(check_text(text.replace("60", "20"), user_facts(p99="1s"))))
    assert re.search(r"= medium confidence: the pod's namespace is not among the files", shown)
    assert "Istio's version is not known" in shown
