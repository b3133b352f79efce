"""The published experiments with a real Envoy, as manifests, through the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from shutdownlint.cli.app import command_line

if TYPE_CHECKING:
    from pathlib import Path

RUN = CliRunner()


def explain(root: Path, name: str, *requests: str) -> dict[str, Any]:
    file = str(root / "tests" / "fixtures" / "published" / f"{name}.yaml")
    options = [option for request in requests for option in ("--request", request)]
    result = RUN.invoke(
        command_line(), ["explain", file, "--format", "json", "--istio-version", "1.26", *options]
    )
    assert result.exit_code == 0, result.output
    (workload,) = json.loads(result.stdout)["workloads"]
    return dict(workload)


def found(root: Path, name: str, *options: str) -> list[tuple[str, str]]:
    file = str(root / "tests" / "fixtures" / "published" / f"{name}.yaml")
    result = RUN.invoke(
        command_line(), ["check", file, "--format", "json", "--istio-version", "1.26", *options]
    )
    return [(f["rule"], f["severity"]) for f in json.loads(result.stdout)["findings"]]


@pytest.mark.parametrize(
    ("name", "outcome", "at", "cause", "findings"),
    [
        ("classic-defaults", "cut", 5.0, "terminationDrainDuration 5s", [("SL202", "error")]),
        ("exit-on-zero", "ok", 10.0, "", []),
        (
            "exit-on-zero-grace-7",
            "cut",
            7.0,
            "terminationGracePeriodSeconds 7s",
            [("SL101", "error")],
        ),
        ("termination-drain-12", "ok", 10.0, "", []),
        ("native-sidecar", "ok", 10.0, "", []),
    ],
)
def test_a_ten_second_request(
    root: Path, name: str, outcome: str, at: float, cause: str, findings: list[tuple[str, str]]
) -> None:
    (request,) = explain(root, name, "10s")["requests"]
    assert (request["outcome"], request["at"]) == (outcome, at)
    assert request["cause"].startswith(cause)
    assert bool(cause) is bool(request["cause"])
    assert found(root, name, "--p99", "10s") == findings


def test_an_apps_sleep_alone(root: Path) -> None:
    late = ["1s@4s", "1s@5s", "1s@14s"]
    requests = explain(root, "app-sleep-15", *late)["requests"]
    assert [request["outcome"] for request in requests] == ["ok", "refused", "refused"]
    assert [request["at"] for request in requests] == [5.0, 5.0, 14.0]
    assert found(root, "app-sleep-15") == [("SL201", "warning")]


def test_a_hook_longer_than_the_grace_period(root: Path) -> None:
    workload = explain(root, "native-prestop-30-grace-10", "20s")
    (request,) = workload["requests"]
    assert (request["outcome"], request["at"]) == ("cut", 10.0)
    ends = {
        event["container"]: event["at"]
        for event in workload["events"]
        if event["kind"] in ("killed", "exits")
    }
    assert ends == {"istio-proxy": 10.0, "app": 12.0}
    assert found(root, "native-prestop-30-grace-10") == [("SL102", "error")]


def test_headroom(root: Path) -> None:
    headrooms = {
        name: {at: explain(root, name)["headroom"][at] for at in ("in_flight", "late")}
        for name in ("classic-defaults", "exit-on-zero", "native-sidecar", "app-sleep-15")
    }
    assert headrooms == {
        "classic-defaults": {"in_flight": 5.0, "late": 5.0},
        "exit-on-zero": {"in_flight": 30.0, "late": 30.0},
        "native-sidecar": {"in_flight": 30.0, "late": 25.0},
        "app-sleep-15": {"in_flight": 5.0, "late": 0.0},
    }
