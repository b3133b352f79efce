"""The signals that a hook sends to the container's app, in every spelling."""

from __future__ import annotations

import pytest

from shutdownlint.shell.sent_signals import sent_signals
from shutdownlint.shutdown.durations import seconds

SHELL = ["sh", "-c"]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["kill", "1"], [("TERM", 0, "")]),
        (["kill", "-TERM", "1"], [("TERM", 0, "")]),
        (["kill", "-SIGTERM", "1"], [("TERM", 0, "")]),
        (["kill", "-15", "1"], [("TERM", 0, "")]),
        (["kill", "-s", "QUIT", "1"], [("QUIT", 0, "")]),
        (["/bin/kill", "-n", "3", "--", "1"], [("QUIT", 0, "")]),
        (["pkill", "--signal=INT", "uwsgi"], [("INT", 0, "uwsgi")]),
        (["killall", "-QUIT", "nginx"], [("QUIT", 0, "nginx")]),
        (["pkill", "-u", "app", "gunicorn"], [("TERM", 0, "gunicorn")]),
        (["nginx", "-s", "stop"], [("TERM", 0, "nginx")]),
        ([*SHELL, "kill -TERM 1; sleep 10"], [("TERM", 0, "")]),
        ([*SHELL, "sleep 5; kill -TERM 1"], [("TERM", 5, "")]),
        ([*SHELL, "sleep 5 && kill -TERM 1"], [("TERM", 5, "")]),
        ([*SHELL, "sleep 5; kill -QUIT 1; sleep 3; kill 1"], [("QUIT", 5, ""), ("TERM", 8, "")]),
        ([*SHELL, "(sleep 2; kill 1)"], [("TERM", 2, "")]),
        ([*SHELL, "sleep 9 & kill 1"], [("TERM", 0, "")]),
        ([*SHELL, "kill $(pidof app)"], [("TERM", 0, "")]),
        ([*SHELL, "exec kill 1"], [("TERM", 0, "")]),
        # None of these stops the app, or is sure to run.
        (["kill", "-0", "1"], []),
        (["kill", "-HUP", "1"], []),
        (["kill", "-KILL", "1"], []),
        (["kill", "-TERM", "7"], []),
        ([*SHELL, "test -f /x || kill 1"], []),
        ([*SHELL, "if test -f /x; then kill 1; fi"], []),
        ([*SHELL, "exit 0; kill 1"], []),
        ([*SHELL, "echo kill 1"], []),
        (["sleep", "5"], []),
    ],
)
def test_signals(command: list[str], expected: list[tuple[str, float, str]]) -> None:
    found = sent_signals(command, lambda _: None)
    wanted = [(signal, seconds(at), program) for signal, at, program in expected]
    assert [(each.signal, each.at, each.program) for each in found] == wanted
