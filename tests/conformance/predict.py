"""The predictions of shutdownlint for a case: its own ``explain``, on the case's manifests."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from typer.testing import CliRunner

from shutdownlint.cli.app import command_line

if TYPE_CHECKING:
    from tests.conformance.cases import Case


@dataclass(frozen=True)
class Prediction:
    """The outcome of every request, inbound first, and the times of all events."""

    outcomes: list[str]
    events: list[float]
    proxy_ends: float | None


def predict(case: Case) -> Prediction:
    """Ask ``shutdownlint explain`` about all requests of the case together."""
    with TemporaryDirectory() as folder:
        manifest, config = Path(folder, "case.yaml"), Path(folder, "shutdownlint.toml")
        manifest.write_text(case.manifest)
        config.write_text(case.config)
        command = ["explain", str(manifest), "--config", str(config), "--format", "json"]
        # A client whose stream was reset keeps its connection, which is then idle.
        idle = case.idle + case.idle_http2 + len(case.resets)
        command += ["--open-connections", "0", "--idle-connections", str(idle)]
        command += ["--idle-pool", str(case.pool), "--idle-tcp", str(case.idle_tcp)]
        istio, kubernetes = case.versions
        command += ["--istio-version", istio]
        command += ["--kubernetes-version", kubernetes] if kubernetes else []
        for arrives, lasts in case.requests:
            command += ["--request", f"{lasts}s@{arrives}s"]
        for lasts in case.resets:
            command += ["--request", f"{lasts}s"]
        for arrives, lasts in case.kept:
            command += ["--reused", f"{lasts}s@{arrives}s"]
        for arrives, lasts in case.outbound:
            command += ["--outbound", f"{lasts}s@{arrives}s"]
        result = CliRunner().invoke(command_line(), command)
    if result.exit_code != 0:
        raise AssertionError(f"explain failed on seed {case.seed}: {result.output}")
    (workload,) = json.loads(result.stdout)["workloads"]
    ends = [
        event["at"]
        for event in workload["events"]
        if event["container"] == "istio-proxy" and event["kind"] in ("exits", "killed")
    ]
    return Prediction(
        [request["outcome"] for request in workload["requests"]],
        sorted({event["at"] for event in workload["events"]}),
        ends[-1] if ends else None,
    )
