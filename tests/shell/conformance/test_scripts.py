"""Certain verdicts about scripts, against what real shells did with them."""

from __future__ import annotations

import pytest

from shutdownlint.shell.forwarding import SignalForwarding
from shutdownlint.shell.signals import signal_forwarding
from tests.shell.conformance.compare import contradicts, load, observe_all
from tests.shell.conformance.run import SIGNALED, can_run, installed_shells
from tests.shell.conformance.scripts import SCRIPTS

MEASURED = load()


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


@pytest.mark.slow
@pytest.mark.skipif(not can_run(), reason="no pid namespace can be made here")
def test_the_shells_of_this_machine_agree_with_what_was_measured() -> None:
    shells = installed_shells()
    for script, results in observe_all(SCRIPTS[::6], shells).items():
        assert contradicts(script, results) == []
        assert results == {shell: MEASURED[script][shell] for shell in results}
