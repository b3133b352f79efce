"""Real manifests: what must be found, what must stay silent, and no region that does not exist."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from shutdownlint.engine.finding import Finding
from shutdownlint.linter.linter import check
from shutdownlint.linter.read import read
from shutdownlint.linter.result import LintResult
from shutdownlint.manifests.discovery import FileSearch
from shutdownlint.manifests.skips import CRDS, GO_TEMPLATE
from shutdownlint.reports.output import ReportOutput
from shutdownlint.reports.report import Report
from shutdownlint.reports.sarif import render_sarif
from tests.helpers import lint_options
from tests.reports.sarif_schema import official_schema

#: Istio's own fixtures of which something is true: one replaces the drain hook by a sleep, two are
#: Jobs beside a classic sidecar, two have a hook that runs nginx -s quit.
TRUE_OF_FIXTURES = {
    "proxy-override.yaml.injected": ["SL226"],
    "job-old-version.yaml.injected": ["SL232"],
    "cronjob-old-version.yaml.injected": ["SL232"],
    "frontend.yaml.injected": ["SL128"],
    "list-frontend.yaml.injected": ["SL128"],
    # Two containers have one name.
    "sidecar-spire.yaml.injected": ["SL003"],
}

#: The losses of a pod's defaults: no delay for late requests, a classic sidecar's five seconds.
DEFAULTS = ("SL108", "SL203")

pytestmark = pytest.mark.slow


@cache
def run(corpus: Path) -> LintResult:
    return check(read([str(corpus)], FileSearch()), lint_options())


def findings(corpus: Path, part: str) -> list[Finding]:
    return [f for f in run(corpus).findings if part in f.region.file and f.severity != "note"]


def test_counts(corpus: Path) -> None:
    stats = run(corpus).stats
    assert stats.files > 5000
    assert stats.documents > 9000
    assert run(corpus).workloads > 1600
    assert stats.skipped[CRDS] > 100
    templates = [n for reason, n in stats.skipped.items() if reason.code == GO_TEMPLATE.code]
    assert sum(templates) > 200
    # one file, deliberately broken by its authors
    assert [Path(u.region.file).name for u in stats.unreadable] == [
        "inject_gettest_deployment.bad.input.yml"
    ]


def test_the_classics_are_found(corpus: Path) -> None:
    (nginx,) = findings(corpus, "examples/service/pod-with-graceful-termination.yaml")
    assert (nginx.rule, nginx.severity, nginx.region.line) == ("SL102", "error", 31)
    assert "3m" in nginx.message
    assert "2m" in nginx.message
    # Some of them have nginx 1.18, which sets no graceful stop signal, and a delay of 10 s.
    others = ("SL134", "SL163")
    rollouts = [f for f in findings(corpus, "Rollout/actions/testdata") if f.rule not in others]
    assert {(f.rule, f.severity.value) for f in rollouts} == {("SL102", "error")}
    assert all("30s (the Kubernetes default)" in f.message for f in rollouts)


@pytest.mark.parametrize(
    "part",
    [
        "third_party/contour-latest",
        "third_party/kourier-latest",
        "ingress/latest/kourier",
        "alphagov__govuk-helm-charts",
        "stefanprodan__podinfo",
        "kyverno__kyverno",
    ],
)
def test_what_must_stay_silent(corpus: Path, part: str) -> None:
    # Three pods of Kyverno's tests have nginx before 1.19.5 (SL134), two end their script with an
    # app in Debian's sh (SL109). Kourier's budget of 80 % leaves none to a drain at its autoscaler's
    # minimum of one pod (SL180). Hardly any of them has a delay for late requests (SL108).
    known = ("SL108", "SL109", "SL134", "SL180")
    found = [f for f in findings(corpus, part) if f.rule not in known]
    assert [f for f in found if "pod-rejected" not in f.region.file] == []


def test_budgets_that_are_rejected(corpus: Path) -> None:
    """Test a chart and a controller's test that write minAvailable and maxUnavailable."""
    # Services of its tests have no ports: 0 is written for them.
    others = ("SL003", "SL108")
    found = [f for f in findings(corpus, "envoyproxy__gateway") if f.rule not in others]
    assert [f.rule for f in found] == ["SL194", "SL194"]
    assert {Path(f.region.file).name for f in found} == {
        "custom.yaml",
        "control-plane-with-pdb.out.yaml",
    }


def test_istios_own_injected_pods_stay_silent(corpus: Path) -> None:
    """Rendered by Istio itself: native sidecars with their drain hook among them."""
    folder = corpus / "istio__istio" / "pkg" / "kube" / "inject" / "testdata" / "inject"
    files = [str(path) for path in sorted(folder.glob("*.injected"))]
    assert len(files) > 100
    for file in files:
        result = check(read([file], FileSearch()), lint_options())
        found = [f.rule for f in result.findings if f.severity != "note" and f.rule not in DEFAULTS]
        assert found == TRUE_OF_FIXTURES.get(Path(file).name, []), file


def test_no_warning_is_left_unread(selected_corpus: Path) -> None:
    found = [f for f in run(selected_corpus).findings if f.rule != "SL108"]
    warnings = Counter(f.rule for f in found if f.severity == "warning")
    # SL161: vLLM without a drain.
    # SL203: Istio's own test data, and gitops-istio, whose kustomization puts its apps into an
    # injected namespace. SL108, the most frequent, was read in a sample only.
    assert warnings == {
        "SL004": 4,
        "SL107": 2,
        # Official images of Debian, whose sh stays in front of the app.
        "SL109": 3,
        # A written drain of 35 s above the default grace period.
        "SL124": 1,
        # Hooks that run nginx -s quit.
        "SL128": 3,
        "SL153": 1,
        "SL161": 1,
        # Kubernetes' own objects, whose every text is the name of its field.
        "SL170": 18,
        "SL174": 7,
        # Knative's and Kourier's budgets of 80 %, and of 1, beside autoscalers with a minimum of 1.
        "SL180": 7,
        "SL203": 39,
        "SL134": 1,  # an Istio before 1.1, whose proxy ends at its stop signal
        "SL471": 1,
    }


def test_errors_are_few_and_of_known_rules(selected_corpus: Path) -> None:
    """Each was read and is true; a new one must be read too."""
    errors = [f for f in run(selected_corpus).findings if f.severity == "error"]
    counted: dict[str, int] = {}
    for finding in errors:
        counted[finding.rule] = counted.get(finding.rule, 0) + 1
    assert counted == {
        "SL001": 1,
        # Kubernetes' own objects again, Services without ports, removed versions, protocol HTTP.
        "SL003": 560,
        "SL102": 4,
        "SL104": 18,  # with SL116 and SL117: Kubernetes' own objects with every field filled
        "SL116": 18,
        "SL117": 36,
        "SL171": 8,  # the same objects, whose every text is the name of its field
        "SL176": 14,
        "SL194": 4,  # two of them the same objects, two of Envoy Gateway's own tests
    }


@pytest.mark.network
def test_sarif_is_valid_and_points_at_real_lines(
    corpus: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    report = Report(run(corpus))
    log: dict[str, Any] = json.loads(render_sarif(report, ReportOutput("x.sarif")))
    for location in _locations(log):
        physical = location["physicalLocation"]
        region = physical["region"]
        path = Path(physical["artifactLocation"]["uri"].removeprefix("file://"))
        lines = path.read_text(encoding="utf-8-sig").splitlines()
        line = lines[region["startLine"] - 1]
        assert 1 <= region["startColumn"] <= len(line) + 1
        assert line[region["startColumn"] - 1 : region["endColumn"] - 1].strip()
    jsonschema.validate(log, official_schema(tmp_path_factory.getbasetemp()))


def _locations(log: dict[str, Any]) -> list[dict[str, Any]]:
    results = log["runs"][0]["results"]
    return [
        location
        for result in results
        for location in (*result["locations"], *result.get("relatedLocations", ()))
    ]
