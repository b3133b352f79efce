from __future__ import annotations

import pytest

from shutdownlint.shell.signals import signal_forwarding
from shutdownlint.shell.syntax import misquoted_command, shell_script
from shutdownlint.shell.timing import command_time, script_time
from shutdownlint.shutdown.durations import DurationRange, seconds

ENVIRONMENT = {"DRAIN_TIME_SECONDS": "15", "EMPTY": ""}


def span(low: float, high: float | None = -1) -> DurationRange:
    return DurationRange(
        seconds(low), None if high is None else seconds(low if high == -1 else high)
    )


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["sleep", "5"], span(5)),
        (["/bin/sleep", "15"], span(15)),
        (["/usr/bin/sleep", "15s"], span(15)),
        (["/test/sleep", "1"], span(1)),
        (["sleep", "1m", "30s"], span(90)),
        (["sleep", "1.5"], span(1.5)),
        (["sleep", "soon"], span(0, None)),
        (["sleep"], span(0, None)),
        (["sh", "-c", "sleep 10"], span(10)),
        (["/bin/bash", "-c", "--", "sleep 20"], span(20)),
        (["/bin/bash", "-ec", "sleep 3"], span(3)),
        (["busybox", "sh", "-c", "sleep 2"], span(2)),
        (["/usr/bin/env", "sh", "-c", "sleep 4"], span(4)),
        (["sh", "/pre-stop.sh"], span(0, None)),
        (["timeout", "10", "/drain"], span(0, 10)),
        (["/usr/bin/gateway", "sleep", "--duration=40s"], span(40)),
        (["/wait-shutdown"], span(0, None)),
        (["/usr/sbin/nginx", "-s", "quit"], span(0, None)),
        (["tini", "--", "sleep", "5"], span(5)),
        ([], span(0)),
    ],
)
def test_commands(command: list[str], expected: DurationRange) -> None:
    assert command_time(command, ENVIRONMENT.get) == expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("sleep 10", span(10)),
        ("kill -15 1; sleep 15s", span(15)),
        ("kill -SIGUSR1 $(pidof haproxy); sleep 25", span(25)),
        ("sleep $DRAIN_TIME_SECONDS", span(15)),
        ("sleep ${DRAIN_TIME_SECONDS}", span(15)),
        # the image may set what the manifest does not
        ('sleep "${ELSEWHERE:-7}"', span(0, None)),
        ("sleep ${EMPTY:-7}", span(7)),
        ("sleep $ELSEWHERE", span(0, None)),
        ("sleep $(cat /seconds)", span(0, None)),
        ("curl -X POST http://localhost:9901/drain; sleep $DRAIN_TIME_SECONDS", span(15, None)),
        ("wget -O /dev/null 127.0.0.1:19000/healthcheck/fail; sleep 12", span(12, None)),
        ("nginx -s quit; while killall -0 nginx; do sleep 1; done", span(0, None)),
        ("sleep 20; while true; do sleep 1; done", span(20, None)),
        ("sleep 5 && nginx -s quit", span(5, None)),
        ("nginx -s quit && sleep 5", span(0, None)),
        ("echo bye && sleep 5", span(5)),
        ("sleep 5; sleep 1m # then go", span(65)),
        ("echo a\nsleep 3\n", span(3)),
        ("sleep \\\n 3", span(3)),
        ("(sleep 2; sleep 3)", span(5)),
        ("{ sleep 2; }", span(2)),
        ("sleep 5 | cat", span(5)),
        ("sleep 10 > /dev/null 2>&1", span(10)),
        # The hook ends when its output is closed.
        ("sleep 3 &", span(3)),
        ("sleep 3 & exit 0", span(3)),
        ("sleep 3 & sleep 1", span(3)),
        ("sleep 3 >/dev/null 2>&1 & exit 0", span(0)),
        ("sleep 3 >/dev/null 2>&1 & sleep 1", span(1)),
        ("sleep 3 >/dev/null 2>&1 & wait", span(3)),
        ("sleep 3 >/dev/null & true", span(0, 3)),
        ("sleep 3 & wait", span(3)),
        ("sleep 3 & drain", span(3, None)),
        ("for i in 1 2 3; do sleep 1; done", span(3)),
        ("for i in 1 2; do echo $i; sleep 2; done; sleep 1", span(5)),
        ("for i in $LIST; do sleep 1; done", span(0, None)),
        ("for i in 1 2; do sleep 1 && sleep 2; done", span(0, None)),
        ("usleep 2500000", span(2.5)),
        ("sleep infinity", span(86400, None)),
        ("true || sleep 100; sleep 2", span(2)),
        ("/check || sleep 5", span(0, None)),
        ("exec sleep 4; sleep 100", span(4)),
        ("exit 0; sleep 10", span(0)),
        # A script that may have ended before must not be counted on.
        ("test -f /ready || exit 0; sleep 10", span(0, 10)),
        ("set -e; /drain; sleep 10", span(0, None)),
        ("/drain; sleep 10", span(10, None)),
        ("if true; then sleep 5; fi; sleep 2", span(2, None)),
        ("PRE=1 sleep 3", span(3)),
        ("sh -c 'sleep 9'", span(9)),
        ("sleep 'unfinished", span(0, None)),
    ],
)
def test_scripts(script: str, expected: DurationRange) -> None:
    assert script_time(script, ENVIRONMENT.get) == expected


def test_errexit_by_flag_ends_a_script_early() -> None:
    assert command_time(["sh", "-ec", "/drain; sleep 10"], ENVIRONMENT.get) == span(0, None)
    assert command_time(["sh", "-c", "/drain; sleep 10"], ENVIRONMENT.get) == span(10, None)


def test_inner_quotes_make_one_word() -> None:
    assert misquoted_command("'sleep 10'") == "sleep 10"
    assert misquoted_command("sleep 10") is None
    assert misquoted_command("echo 'sleep 10'") is None


def test_only_dash_c_has_a_script() -> None:
    assert shell_script(["sh", "-c", "x"]) == "x"
    assert shell_script(["sh", "-x", "/file"]) is None
    assert shell_script(["bash", "-euo", "pipefail", "-c", "x"]) == "x"
    assert shell_script(["bash", "-o", "pipefail", "-c", "x"]) == "x"
    assert shell_script(["bash", "-euo", "pipefail", "/file"]) is None
    assert shell_script(["bash", "-c", "--", "x"]) == "x"
    assert shell_script(["/app/sh-like", "-c", "x"]) is None


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        # facts: measured with bash, dash, busybox ash, mksh and ksh93 as PID 1
        ("server", "depends-on-shell"),
        ("prepare && server", "depends-on-shell"),
        ("cd /app; server", "depends-on-shell"),
        ("exec server", "yes"),
        ("cd /x && exec server", "yes"),
        ("server | tee log", "no"),
        ("exec server | tee log", "no"),
        ("exec server || exit 1", "yes"),
        ("exec server; exit 1", "yes"),
        ("eval exec server", "yes"),
        ("prepare || server", "depends-on-shell"),
        ("server; true", "no"),
        ("server || true", "no"),
        ("server & wait", "no"),
        ("server &\nother &\nwait -n", "no"),
        ("eval server", "no"),
        ("trap 'kill 0' TERM; server & wait", "unknown"),
        ("while true; do work; sleep 1; done", "no"),
        ("sleep infinity", "no-app"),
        ("echo hello; sleep 3600", "no-app"),
    ],
)
def test_who_gets_the_signal(script: str, expected: str) -> None:
    assert signal_forwarding(script).value == expected
