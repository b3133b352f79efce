"""Certain verdicts about scripts, against what real shells did with them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from shutdownlint.shell.forwarding import SignalForwarding
from shutdownlint.shell.signals import signal_forwarding
from tests.helpers import run
from tests.shell.conformance.compare import contradicts, load, observe_all
from tests.shell.conformance.run import KILLED, LOST, SIGNALED, can_run, installed_shells
from tests.shell.conformance.scripts import SCRIPTS

if TYPE_CHECKING:
    from pathlib import Path

MEASURED = load()
#: No image is known whose sh is this one: what it does where all others agree is no alternative.
SELDOM = "mksh"
FINISHES = """\
name: App
programs: [app]
at_signal: {SIGTERM: finishes}
measured: tests/shell/conformance/app.py
examples: [{command: app, verdict: finishes its requests}]
"""


@pytest.mark.parametrize("script", SCRIPTS)
def test_certain_verdicts_are_right(script: str) -> None:
    assert contradicts(script, MEASURED[script]) == []


def test_most_scripts_that_all_shells_treat_alike_have_a_verdict() -> None:
    alike = {
        script: results for script, results in MEASURED.items() if len(set(results.values())) == 1
    }
    unsure = [
        script
        for script, results in alike.items()
        if signal_forwarding(script)
        is not (SignalForwarding.YES if SIGNALED in results.values() else SignalForwarding.NO)
    ]
    assert len(unsure) < len(alike) / 10, unsure


@pytest.mark.parametrize("known", [False, True])
def test_what_was_measured_is_the_answer_or_an_alternative(known: bool, tmp_path: Path) -> None:
    pods = [_pod(number, script) for number, script in enumerate(MEASURED)]
    (tmp_path / "pods.json").write_text(json.dumps({"kind": "List", "items": pods}))
    options = ["--mesh=none", "--request=0.5s", "--request=0.1s@2s", "--format=json"]
    if known:
        (tmp_path / "app.yaml").write_text(FINISHES)
        (tmp_path / "shutdownlint.toml").write_text('programs = ["."]\n')
        options.append(f"--config={tmp_path / 'shutdownlint.toml'}")
    code, out, err = run("explain", *options, str(tmp_path / "pods.json"))
    assert code == 0, err
    workloads = json.loads(out)["workloads"]
    assert len(workloads) == len(MEASURED)
    for script, workload in zip(MEASURED, workloads, strict=True):
        shells = [shell for shell in MEASURED[script] if shell != SELDOM]
        seen = {MEASURED[script][shell] for shell in shells}
        assert seen <= _answers(*workload["requests"]), script


def _pod(number: int, script: str) -> dict[str, object]:
    container = {
        "name": "app",
        "image": "shop/orders:1",
        "command": ["sh", "-c", script],
        "env": [{"name": "CMD", "value": "app"}],
    }
    metadata = {"name": f"pod-{number:03}", "namespace": "shop"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [container]},
    }


def _answers(in_flight: dict[str, Any], late: dict[str, Any]) -> set[str]:
    """Return what happens to the app in the likely case and in each alternative."""
    others = [
        {each["when"]: each["outcome"] for each in request["alternatives"]}
        for request in (in_flight, late)
    ]
    cases = [(in_flight["outcome"], late["outcome"])]
    cases += [
        (others[0].get(when, in_flight["outcome"]), others[1].get(when, late["outcome"]))
        for when in {**others[0], **others[1]}
    ]
    # A program that does not get its signal serves on.
    return {LOST if new == "ok" else SIGNALED if old == "ok" else KILLED for old, new in cases}


@pytest.mark.slow
@pytest.mark.skipif(not can_run(), reason="no pid namespace can be made here")
def test_the_shells_of_this_machine_agree_with_what_was_measured() -> None:
    shells = installed_shells()
    for script, results in observe_all(SCRIPTS[::6], shells).items():
        assert contradicts(script, results) == []
        assert results == {shell: MEASURED[script][shell] for shell in results}
