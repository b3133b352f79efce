"""What a manifest shows of the framework's own shutdown."""

from __future__ import annotations

import pytest

from shutdownlint.shutdown import Request, Shutdown, seconds
from tests.helpers import dedent, plan_of


def container(lines: str) -> str:
    body = "\n".join(f"      {line}" for line in dedent(lines).strip().splitlines())
    return (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: shop}\nspec:\n  containers:\n"
        f"    - name: app\n      image: i\n{body}\n"
    )


def env(name: str, value: str) -> str:
    return f'env: [{{name: {name}, value: "{value}"}}]'


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("command: [gunicorn, --graceful-timeout, '25', 'app:app']", 25),
        ("command: [/usr/bin/gunicorn, --graceful-timeout=25]", 25),
        ("command: [sh, -c, 'exec gunicorn app --graceful-timeout 25']", 25),
        ("command: [gunicorn]\n" + env("GUNICORN_CMD_ARGS", "--graceful-timeout 25 -w 2"), 25),
        ("command: [gunicorn]\nargs: [--graceful-timeout, '25']", 25),
        ("command: [gunicorn, --timeout, '90']", None),
        ("command: [uvicorn, 'a:b', --timeout-graceful-shutdown, '7']", 7),
        ("command: [uvicorn]\n" + env("UVICORN_TIMEOUT_GRACEFUL_SHUTDOWN", "7"), 7),
        (env("UVICORN_TIMEOUT_GRACEFUL_SHUTDOWN", "7"), None),
        ("command: [hypercorn, --graceful-timeout, '3']", 3),
        ("command: [bundle, exec, sidekiq, -t, '60']", 60),
        ("command: [other, -t, '60']", None),
        (env("SPRING_LIFECYCLE_TIMEOUTPERSHUTDOWNPHASE", "45s"), 45),
        (env("SPRING_LIFECYCLE_TIMEOUT_PER_SHUTDOWN_PHASE", "1m"), 60),
        (env("SPRING_LIFECYCLE_TIMEOUTPERSHUTDOWNPHASE", "20000"), 20),
        (env("SPRING_LIFECYCLE_TIMEOUTPERSHUTDOWNPHASE", "PT1M5S"), 65),
        (env("SPRING_LIFECYCLE_TIMEOUTPERSHUTDOWNPHASE", "30"), None),
        (env("JAVA_TOOL_OPTIONS", "-Xmx1g -Dspring.lifecycle.timeout-per-shutdown-phase=9s"), 9),
        ("args: ['--spring.lifecycle.timeout-per-shutdown-phase=20s']", 20),
        (
            (
                "env: [{name: SPRING_LIFECYCLE_TIMEOUTPERSHUTDOWNPHASE, value: 45s}, "
                "{name: SERVER_SHUTDOWN, value: immediate}]"
            ),
            None,
        ),
        (
            "env: [{name: PM2_KILL_TIMEOUT, value: '1600'}, {name: PM2_KILL_TIMEOUT, value: '8000'}]",
            8,
        ),
        (env("DOTNET_SHUTDOWNTIMEOUTSECONDS", "15"), 15),
        (env("DOTNET_SHUTDOWNTIMEOUTSECONDS", "15s"), None),
        (env("QUARKUS_SHUTDOWN_TIMEOUT", "10s"), 10),
        (env("PM2_KILL_TIMEOUT", "3000"), 3),
        ("command: [gunicorn, --graceful-timeout, soon]", None),
        ("command: [gunicorn, --graceful-timeout]", None),
        ("command: [gunicorn, --graceful-timeout, '0']", None),
    ],
)
def test_what_is_written(lines: str, expected: float | None) -> None:
    found = plan_of(container(lines)).containers[0].finish_within
    assert (found and found.value) == (None if expected is None else seconds(expected))


def test_the_framework_ends_what_takes_longer() -> None:
    plan = plan_of(container("command: [gunicorn, --graceful-timeout, '12']"))
    cut, served = Shutdown(plan).ask([Request(seconds(0), seconds(n)) for n in (20, 12)])
    assert (cut.outcome, cut.at, served.outcome) == ("cut", seconds(12), "ok")
    assert "Gunicorn shutdown timeout 12s" in str(cut.by)
    assert Shutdown(plan).headroom.in_flight == seconds(12)
