"""The requirements for every registered format."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from shutdownlint.fixes.suggest import complete_report, make_suggestions
from shutdownlint.linter.linter import check, plan_workloads
from shutdownlint.manifests.discovery import InputFile
from shutdownlint.manifests.inputs import Inputs, InputSource
from shutdownlint.reports.explanation import Explanations, explain_pods
from shutdownlint.reports.output import ReportOutput
from shutdownlint.reports.registry import (
    CHECK_REPORTERS,
    EXPLAIN_REPORTERS,
    SUGGEST_REPORTERS,
    Reporter,
)
from shutdownlint.reports.report import Report
from shutdownlint.shutdown.analysis import NO_TRAFFIC
from shutdownlint.shutdown.durations import seconds
from shutdownlint.shutdown.request import Request
from tests.helpers import lint_options, user_facts

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
NASTY = "a\\e[31m\\u202e::error::x"
MANIFEST = f"""\
apiVersion: v1
kind: Namespace
metadata: {{name: shop, labels: {{istio-injection: enabled}}}}
---
apiVersion: v1
kind: Pod
metadata: {{name: "{NASTY}", namespace: shop}}
spec:
  terminationGracePeriodSeconds: 20
  containers:
  - name: "{NASTY}"
    image: i
    lifecycle: {{preStop: {{exec: {{command: [sleep, "30"]}}}}}}
---
apiVersion: v1
kind: Pod
metadata: {{containers: [broken
"""
CLEAN = "apiVersion: v1\nkind: Secret\n"


def sources(text: str) -> Inputs:
    return Inputs((InputSource(InputFile(Path("bad.yaml"), "bad.yaml", text.encode())),))


def named(reporters: tuple[Reporter, ...]) -> list[Any]:
    return [pytest.param(reporter, id=reporter.name) for reporter in reporters]


def render(reporter: Reporter, report: object) -> str:
    text = reporter.render(report, ReportOutput("report"))
    assert text is not None
    assert not CONTROL.search(text), reporter.name
    assert text == "" or text.endswith("\n")
    return text


@pytest.mark.parametrize("reporter", named(CHECK_REPORTERS))
def test_a_check(reporter: Reporter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A place in a file is reported where there is such a file.
    monkeypatch.chdir(tmp_path)
    Path("bad.yaml").write_text(MANIFEST)
    options = lint_options(user_facts(istio="1.26"), notes=False)
    result = check(sources(MANIFEST), options)
    rules = {finding.rule for finding in result.findings}
    assert {"SL001", "SL102"} <= rules
    text = render(reporter, Report(result))
    missing = {rule for rule in rules if rule not in text}
    assert missing <= {"SL001"}, "only what could not be read may be reported in another way"
    for finding in result.findings if reporter.name != "statistics" else ():
        assert str(finding.region.line) in text


@pytest.mark.parametrize("reporter", named(CHECK_REPORTERS))
@pytest.mark.parametrize("text", [CLEAN, "", "# nothing\n"])
def test_a_clean_check(reporter: Reporter, text: str) -> None:
    result = check(sources(text), lint_options())
    assert "SL102" not in render(reporter, Report(result))


@pytest.mark.parametrize("reporter", named(EXPLAIN_REPORTERS))
def test_an_explanation(reporter: Reporter) -> None:
    run = plan_workloads(sources(MANIFEST), lint_options(user_facts(istio="1.26")))
    requests = [Request(seconds(0), seconds(8)), Request(seconds(7), seconds(1))]
    text = render(reporter, explain_pods(run.pods, requests, NO_TRAFFIC))
    assert "istio-proxy" in text or reporter.name == "summary"
    assert "Pod shop/a" in text or reporter.name == "json"
    assert render(reporter, Explanations()) is not None


@pytest.mark.parametrize("reporter", named(SUGGEST_REPORTERS))
def test_a_suggestion(reporter: Reporter) -> None:
    options = lint_options(user_facts(istio="1.26"))
    run = plan_workloads(sources(MANIFEST.replace(NASTY, "shop")), options)
    suggestions = make_suggestions(run.pods)
    text = render(reporter, complete_report(suggestions, run, options))
    # 30 s of sleep, 10 s of requests and the margin.
    assert "EXIT_ON_ZERO_ACTIVE_CONNECTIONS" in text
    assert "45" in text
    assert render(reporter, complete_report([], run, options)) is not None


def test_files_are_written_as_they_are_named(tmp_path: Path) -> None:
    for reporters in (CHECK_REPORTERS, EXPLAIN_REPORTERS, SUGGEST_REPORTERS):
        names = [reporter.name for reporter in reporters]
        assert len(set(names)) == len(names)
        assert names[0] == "text"


def test_standard_input_is_no_file() -> None:
    from typer.testing import CliRunner  # noqa: PLC0415

    from shutdownlint.cli.app import command_line  # noqa: PLC0415

    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n"
        "  terminationGracePeriodSeconds: 5\n  containers:\n"
        "  - {name: app, image: i, lifecycle: {preStop: {exec: {command: [sleep, '9']}}}}\n"
    )
    for form in ("sarif", "github"):
        result = CliRunner().invoke(command_line(), ["check", "--format", form, "-"], input=pod)
        assert "SL102" in result.stdout
        assert "stdin" not in result.stdout
