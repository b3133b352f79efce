"""Timelines as pictures: well-formed, also as text, and safe whatever the names are."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree.ElementTree import fromstring
from xml.sax.saxutils import escape

import pytest
from typer.testing import CliRunner

from shutdownlint.cli.app import command_line
from tests.helpers import run

SHOP = Path(__file__).parents[2] / "examples" / "shop"
NASTY = '<script>alert(1)</script>&"\\u001b[31m'


def explain(*arguments: str) -> str:
    result = CliRunner().invoke(command_line(), ["explain", *arguments])
    assert result.exit_code == 0
    return result.stdout


def texts(svg: str) -> list[str]:
    return [
        element.text or "" for element in fromstring(svg).iter() if element.tag.endswith("}text")
    ]


def test_what_is_drawn_is_also_written() -> None:
    svg = explain(
        "--format", "svg", "--request", "8s", "--request", "3s@12s", str(SHOP), "checkout"
    )
    shown = texts(svg)
    for words in (
        "Deployment shop/checkout",
        "8s request at 0s: served, done at 8s",
        "3s request at 12s: refused at 12s",
        "terminationGracePeriodSeconds 45s (line 23)",
        "MINIMUM_DRAIN_DURATION 5s (Istio's default)",
    ):
        assert words in shown
    bars = [e for e in fromstring(svg).iter() if e.tag.endswith("}rect")]
    assert {"accepts", "maybe", "served", "lost"} <= {
        name for bar in bars for name in bar.attrib["class"].split()
    }
    width = float(fromstring(svg).attrib["width"])
    for bar in bars:
        assert 0 <= float(bar.attrib.get("x", 0)) + float(bar.attrib["width"]) <= width


def test_pods_stand_below_each_other() -> None:
    svg = explain("--format", "svg", str(SHOP))
    tops = [int(top) for top in re.findall(r"translate\(0 (\d+)\)", svg)]
    assert tops == sorted(set(tops))
    assert len(tops) == 5


@pytest.mark.parametrize("output", ["svg", "html"])
def test_names_are_only_text(tmp_path: Path, output: str) -> None:
    (tmp_path / "a.yaml").write_text(
        f'apiVersion: v1\nkind: Pod\nmetadata: {{name: "{NASTY.replace(chr(34), chr(92) + chr(34))}"}}\n'
        "spec:\n  containers:\n  - {name: a, image: i}\n"
    )
    report = explain("--format", output, str(tmp_path))
    assert "<script>" not in report
    assert "\x1b" not in report
    if output == "svg":
        assert any("<script>" in text for text in texts(report))


def test_a_page_has_the_tables() -> None:
    page = explain("--format", "html", str(SHOP), "checkout")
    for text in ("<h2>Deployment shop/checkout</h2>", "Events", "Losses", "Assumptions"):
        assert text in page


def test_a_placeholder_has_no_timeline(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n"
        "  terminationGracePeriodSeconds: ${GRACE}\n  containers:\n  - {name: a, image: i}\n"
    )
    assert "the grace period is a placeholder" in explain("--format", "svg", str(tmp_path))


DAPR = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: dapr}
spec:
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}, annotations: {dapr.io/enabled: "true"}}
    spec:
      containers:
      - {name: app, image: shop/app:1, lifecycle: {preStop: {sleep: {seconds: 5}}}}
"""


@pytest.mark.parametrize(
    ("workload", "verdict"),
    [
        ("catalog", "requests longer than 2s are cut (at 32s)"),
        (
            "checkout",
            "the app's own calls fail (6s to 45s); new requests may be refused (6s to 10s)",
        ),
        (
            "frontend",
            (
                "the app's own calls fail (5s to 30s); requests longer than 5s are cut (at 5s); "
                "new requests may be refused (5s to 15s)"
            ),
        ),
        ("search", "requests of up to 20s are served"),
        ("dapr", "the app's own calls fail (0s to 30s)"),
    ],
)
def test_a_verdict_in_one_line(tmp_path: Path, workload: str, verdict: str) -> None:
    (tmp_path / "dapr.yaml").write_text(DAPR)
    paths = [str(SHOP), str(tmp_path)]
    line = f"  verdict    {verdict}, if the assumptions below are right"
    assert line in explain(*paths, workload).splitlines()
    (found,) = json.loads(explain("--format", "json", *paths, workload))["workloads"]
    assert found["verdict"].startswith(verdict)
    assert escape(verdict) in explain("--format", "html", *paths, workload)


def test_a_rejected_pod_has_no_other_verdict() -> None:
    (found,) = json.loads(explain("--format", "json", str(SHOP), "orders"))["workloads"]
    assert found["verdict"] == "not analysed: the API server rejects it"
    assert found["lost"] == "not_judged"


def test_requests_that_fail_are_drawn(tmp_path: Path) -> None:
    (tmp_path / "dapr.yaml").write_text(DAPR)
    lines = explain(str(tmp_path)).splitlines()
    assert "x accepts, but requests fail" in lines[0]
    (lane,) = [line for line in lines if line.startswith("  app ")]
    assert set(lane.split()[1]) == {"x", "┃", "·"}


def test_which_requests_the_timeline_is_shown_with() -> None:
    assert "  timeline   shown without requests" in explain(str(SHOP), "frontend")
    asked = explain("--request", "8s", str(SHOP), "frontend")
    assert "  timeline   shown with the requests below" in asked
    # With --p99 the picture shows how the app finishes what it has.
    typical = explain("--p99", "25s", str(SHOP), "frontend")
    assert "  timeline   shown with a request of 25s that begins at 0s" in typical
    (lane,) = [line for line in typical.splitlines() if line.startswith("  frontend ")]
    assert "▒" in lane
    # A proxy that exits on zero would live on: what its early end loses would not show.
    early = explain("--p99", "7s", str(SHOP), "checkout")
    assert "  timeline   shown without requests" in early


def test_a_shell_that_may_keep_the_stop_signal_is_another_case(tmp_path: Path) -> None:
    script = "sleep 0.1; uvicorn shop:app"
    (tmp_path / "a.yaml").write_text(
        "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n"
        "spec: {selector: {app: a}, ports: [{port: 80}]}\n---\n"
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {app: a}}\nspec:\n"
        f'  containers:\n  - {{name: a, image: i, command: [sh, -c, "{script}"]}}\n'
    )
    shown = explain("--mesh", "none", str(tmp_path))
    assert "verdict    new requests are refused (0s to 5s), if the assumptions below" in shown
    case = "where the shell that starts a keeps the stop signal"
    assert f"otherwise  {case}: requests of up to 25s are served" in shown
    assert "assumption the shell that starts a is assumed to pass the stop signal on" in shown
    (found,) = json.loads(explain("--format", "json", "--mesh", "none", str(tmp_path)))["workloads"]
    assert found["lost"] == "late"
    assert [(o["when"], o["lost"]) for o in found["headroom"]["alternatives"]] == [(case, "none")]


@pytest.mark.parametrize(
    ("kubernetes", "verdict", "arrival"),
    [
        ("1.30", "requests of up to 10s are cut (at 20s)", True),
        ("1.27", "requests of up to 20s are served", False),
    ],
)
def test_requests_on_kept_connections_begin_just_before_the_stop_signal(
    tmp_path: Path, kubernetes: str, verdict: str, arrival: bool
) -> None:
    """Kubernetes 1.22 to 1.27 counts the grace period from the end of the hook on."""
    (tmp_path / "a.yaml").write_text(
        "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n"
        "spec: {selector: {app: a}, ports: [{port: 80}]}\n---\n"
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {app: a}}\nspec:\n"
        "  terminationGracePeriodSeconds: 20\n  containers:\n"
        "  - {name: a, image: i, lifecycle: {preStop: {exec: {command: [sleep, '15']}}}}\n"
    )
    given = ["--p99", "10s", "--kubernetes-version", kubernetes, "--mesh", "none", str(tmp_path)]
    shown = explain(*given)
    assert f"  verdict    {verdict}, if" in shown
    line = "those that begin at 15s, on connections that clients keep open"
    assert (line in shown) is arrival
    assert (line in explain("--format", "html", *given)) is arrival
    _, out, _ = run("check", *given)
    assert ("error[SL101]" in out) is arrival
    assert ("nothing to change" in run("suggest", *given)[1]) is not arrival
