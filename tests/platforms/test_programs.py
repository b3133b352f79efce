"""The signs of the framework's own shutdown in a manifest."""

from __future__ import annotations

import pytest

from shutdownlint.platforms.locations import source_location
from shutdownlint.platforms.pods.containers import ContainerFacts
from shutdownlint.platforms.programs.detect import ProgramFacts
from shutdownlint.shutdown.analysis import ShutdownAnalysis
from shutdownlint.shutdown.durations import seconds
from shutdownlint.shutdown.pod_plan import PodPlan
from shutdownlint.shutdown.request import Prediction, Request
from tests.helpers import check_text, dedent, plan_of, plan_pod_text, user_facts


def container(lines: str) -> str:
    body = "\n".join(f"      {line}" for line in dedent(lines).strip().splitlines())
    return (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: shop}\nspec:\n  containers:\n"
        f"    - name: app\n      image: i\n{body}\n"
    )


def program(text: str) -> ProgramFacts:
    found: ProgramFacts = plan_pod_text(text).container_facts["app"][ProgramFacts]
    return found


def ask(plan: PodPlan, *durations: float) -> list[Prediction]:
    requests = [Request(seconds(0), seconds(duration)) for duration in durations]
    return [answer.prediction for answer in ShutdownAnalysis(plan).predict(requests)]


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
        (env("SPRING_LIFECYCLE_TIMEOUTPERSHUTDOWNPHASE", "30"), 0.03),
        ("command: [pm2-runtime, app.js]\n" + env("PM2_KILL_TIMEOUT", "10s"), 0),
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
        ("command: [gunicorn, --graceful-timeout, '0']", 0),
    ],
)
def test_what_is_written(lines: str, expected: float | None) -> None:
    found = program(container(lines)).finish_within
    assert (found and found.value) == (None if expected is None else seconds(expected))


def test_the_framework_ends_what_takes_longer() -> None:
    plan = plan_of(container("command: [gunicorn, --graceful-timeout, '12']"))
    cut, served = ask(plan, 20, 12)
    assert (cut.outcome, cut.at, served.outcome) == ("cut", seconds(12), "ok")
    assert "Gunicorn shutdown timeout 12s" in str(cut.cause)
    assert ShutdownAnalysis(plan).headroom.max_in_flight == seconds(12)


FILES = """
apiVersion: v1
kind: ConfigMap
metadata: {name: app}
data:
  application.yaml: |
    server:
      shutdown: graceful
    spring:
      lifecycle:
        timeoutPerShutdownPhase: 40s
  TIMEOUT: "17"
---
"""


@pytest.mark.parametrize(
    ("lines", "expected", "line"),
    [
        ("volumeMounts: [{name: config, mountPath: /config}]", 40, 10),
        ("volumeMounts: [{name: other, mountPath: /config}]", None, None),
        # a variable is stronger than a file, and -D than a variable
        (
            "volumeMounts: [{name: config, mountPath: /config}]\n"
            + env("SPRING_LIFECYCLE_TIMEOUTPERSHUTDOWNPHASE", "9s"),
            9,
            21,
        ),
        (
            (
                "env: [{name: UVICORN_TIMEOUT_GRACEFUL_SHUTDOWN, valueFrom: "
                "{configMapKeyRef: {name: app, key: TIMEOUT}}}]\ncommand: [uvicorn]"
            ),
            17,
            11,
        ),
    ],
)
def test_config_maps_among_the_files(lines: str, expected: int | None, line: int | None) -> None:
    volumes = "  volumes: [{name: config, configMap: {name: app}}]\n"
    found = program(FILES + container(lines) + volumes).finish_within
    assert (found and found.value) == (None if expected is None else seconds(expected))
    location = source_location(found)
    if location is not None:
        assert location.region().line == line


def test_variables_of_a_whole_config_map() -> None:
    files = """
apiVersion: v1
kind: ConfigMap
metadata: {name: app}
data: {TIMEOUT_GRACEFUL_SHUTDOWN: "9"}
---
"""
    lines = "envFrom: [{prefix: UVICORN_, configMapRef: {name: app}}]\ncommand: [uvicorn]"
    found = program(files + container(lines)).finish_within
    assert found is not None
    assert found.value == seconds(9)
    # where it is not visible, the variable may have any value: no default is reported
    hidden = program(container(lines))
    assert (hidden.finish_within, hidden.defaults) == (None, None)


def test_properties_files() -> None:
    files = FILES.replace(
        "  application.yaml: |\n    server:\n      shutdown: graceful\n    spring:\n"
        "      lifecycle:\n        timeoutPerShutdownPhase: 40s\n",
        "  application.properties: |\n    # one\n    spring.lifecycle.timeout-per-shutdown-phase=8s\n",
    )
    assert files != FILES
    volumes = "  volumes: [{name: config, projected: {sources: [{configMap: {name: app}}]}}]\n"
    lines = "volumeMounts: [{name: config, mountPath: /config}]"
    found = program(files + container(lines) + volumes).finish_within
    assert found is not None
    assert found.value == seconds(8)


@pytest.mark.parametrize(
    ("lines", "name", "limit", "unbounded"),
    [
        ("command: [gunicorn]", "Gunicorn", 30, False),
        ("command: [puma]", "Puma", None, True),
        ("command: [puma, -w, '2']", "Puma", 30, False),
        ("command: [bundle, exec, sidekiq]", "Sidekiq", 25, False),
        ("command: [celery, -A, app, worker]", "Celery", None, True),
        ("command: [nginx, -g, 'daemon off;']", "nginx", None, True),
        (env("SERVER_SHUTDOWN", "graceful"), "Spring Boot", 30, False),
        (
            "env: [{name: SERVER_SHUTDOWN, value: graceful}, {name: SPRING_PROFILES_ACTIVE, value: p}]",
            "Spring Boot",
            30,
            False,
        ),
        (env("SPRING_PROFILES_ACTIVE", "p"), "Spring Boot", 30, False),
        (env("MICRONAUT_LIFECYCLE_GRACEFUL_SHUTDOWN_ENABLED", "true"), "Micronaut", 15, False),
        ("command: [gunicorn, --graceful-timeout, '20']", None, None, False),
        ("command: [java, -jar, app.jar]", None, None, False),
    ],
)
def test_default_limits(lines: str, name: str | None, limit: int | None, unbounded: bool) -> None:
    found = program(container(lines))
    defaults = found.defaults
    assert (defaults.name.value if defaults else None) == name
    if defaults is not None:
        assert found.finish_within is None
        assert (defaults.default and defaults.default.value) == (limit and seconds(limit))
        assert defaults.unbounded is unbounded


@pytest.mark.parametrize(
    ("lines", "behaviour"),
    [
        (env("SERVER_SHUTDOWN", "immediate"), "abrupt"),
        ("args: ['--server.shutdown=immediate']", "abrupt"),
        (env("JAVA_TOOL_OPTIONS", "-Dserver.shutdown=immediate"), "abrupt"),
        # the command line is stronger
        (
            "args: ['--server.shutdown=graceful']\n" + env("SERVER_SHUTDOWN", "immediate"),
            "graceful",
        ),
        ("command: [celery, worker]\n" + env("REMAP_SIGTERM", "SIGQUIT"), "abrupt"),
        (env("REMAP_SIGTERM", "SIGQUIT"), "graceful"),
    ],
)
def test_what_does_not_wait(lines: str, behaviour: str) -> None:
    pod = plan_pod_text(container(lines))
    assert pod.container_facts["app"][ContainerFacts].behaviour.value == behaviour
    assert pod.plan is not None
    (prediction,) = ask(pod.plan, 2)
    assert prediction.outcome == ("cut" if behaviour == "abrupt" else "ok")


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (env("SPRING_LIFECYCLE_TIMEOUT_PER_SHUTDOWN_FASE", "20s"), "meant?"),
        (env("SPRING_LIFECYCLE_TIMEOUTPERSHUTDOWNPHASE", "30"), "30 milliseconds"),
        (env("SPRING_LIFECYCLE_TIMEOUTPERSHUTDOWNPHASE", "soon"), "such as 30s"),
        (env("DOTNET_SHUTDOWNTIMEOUTSECONDS", "15s"), "without a unit"),
        ("command: [gunicorn, --gracefull-timeout=9]", "--graceful-timeout"),
        ("command: [gunicorn, --graceful-timeout, 9s]", "without a unit"),
        ("command: [uvicorn, --timeout-gracefull-shutdown, '9']", "meant?"),
        (env("PM2_KILL_TIMEOUT", "20"), ""),
        (env("SPRING_LIFECYCLE_TIMEOUTPERSHUTDOWNPHASE", "${T}"), ""),
        (env("SPRING_DATASOURCE_URL", "x"), ""),
        ("command: [gunicorn, --timeout, '90']", ""),
    ],
)
def test_ineffective_settings_are_reported(lines: str, reason: str) -> None:
    found = [f for f in check_text(container(lines)).findings if f.rule == "SL136"]
    assert bool(found) is bool(reason)
    assert all(reason in finding.message for finding in found)


SPRING_FILE = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data:
  %s: |
    %s
---
apiVersion: v1
kind: Pod
metadata: {name: shop, namespace: shop}
spec:
  containers:
  - {name: app, image: shop/app, volumeMounts: [{name: settings, mountPath: /config}]}
  volumes: [{name: settings, configMap: {name: settings}}]
"""


@pytest.mark.parametrize(
    ("file", "text", "is_spring"),
    [
        ("application.yml", "server: {port: 8080}", True),
        ("application.yaml", "spring: {application: {name: shop}}", True),
        ("application.properties", "server.port=8080", True),
        ("application.yml", "micronaut: {server: {port: 8080}}", False),
        ("settings.yml", "server: {port: 8080}", False),
    ],
)
def test_a_mounted_file_shows_spring_boot(file: str, text: str, is_spring: bool) -> None:
    plan = plan_pod_text(SPRING_FILE % (file, text)).plan
    assert plan is not None
    found = any("Spring Boot" in a.text for c in plan.containers for a in c.assumptions)
    found = found or any("Spring Boot" in a.text for a in plan.assumptions)
    assert found is is_spring


SPRING = dedent("""
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: shop}
    data:
      %s
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: shop}
    spec:
      volumes: [{name: config, configMap: {name: shop}}]
      containers:
        - name: app
          image: shop/app:1
          ports: [{containerPort: 80}]
          volumeMounts: [{name: config, mountPath: /config}]
""")


@pytest.mark.parametrize(
    ("data", "rules"),
    [
        ("application.yml: 'spring: {server: {shutdown: graceful}}'", {"SL136", "SL168"}),
        ("application.yml: '{server: {port: 80}, shutdown: graceful}'", {"SL136", "SL168"}),
        ("application.properties: 'spring.server.shutdown=graceful'", {"SL136", "SL168"}),
        ("application.yml: '{server: {port: 80}, lifecycle: {timeout-per-shutdown-phase: 9s}}'",
         {"SL136", "SL168"}),
        ("application.yml: '{server: {port: 80}}'", {"SL168"}),
        ("application.yml: '{server: {port: 80}, shutdown: maybe}'", {"SL168"}),
        ("application.yml: 'server: {shutdown: graceful}'", set()),
        ("application.yml: 'server: {shutdown: immediate}'", {"SL134"}),
        ("application.yml: 'micronaut: {shutdown: graceful}'", set()),
        ("settings.yml: 'spring: {server: {shutdown: graceful}}'", set()),
    ],
)  # fmt: skip
def test_properties_of_spring_boot(data: str, rules: set[str]) -> None:
    findings = check_text(SPRING % data, user_facts()).findings
    assert {f.rule for f in findings} & {"SL134", "SL136", "SL168"} == rules


def test_a_setting_that_cuts_has_what_to_write_instead() -> None:
    text = SPRING % "application.yml: 'server: {shutdown: immediate}'"
    (found,) = [f for f in check_text(text, user_facts()).findings if f.rule == "SL134"]
    assert found.fix is not None
    assert "set server.shutdown to graceful (shop.yaml:5:40)" in found.fix.description
