"""The measured behaviour of programs at their stop signal, by how they are started."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from shutdownlint.platforms.pods.containers import ContainerFacts
from shutdownlint.platforms.programs.detect import ProgramFacts
from shutdownlint.shutdown.analysis import ShutdownAnalysis
from shutdownlint.shutdown.durations import seconds
from shutdownlint.shutdown.process import Never, Reaction
from shutdownlint.shutdown.request import Request
from tests.helpers import check_text, plan_pod_text, rule_lines, user_facts

if TYPE_CHECKING:
    from shutdownlint.platforms.planned_pod import PlannedPod

GRACEFUL, ABRUPT, IGNORING = "graceful", "abrupt", "ignoring"
SHELL = ["sh", "-c"]


def manifest(image: str = "shop/app:1", env: dict[str, str] | None = None, **keys: Any) -> str:
    container = {"name": "app", "image": image, **keys}
    if env is not None:
        container["env"] = [{"name": name, "value": value} for name, value in env.items()]
    spec = {"containers": [container], **keys.pop("spec", {})}
    spec["containers"][0].pop("spec", None)
    return yaml.safe_dump(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "shop"}, "spec": spec}
    )


def planned(**keys: Any) -> PlannedPod:
    return plan_pod_text(manifest(**keys))


def behaviour(pod: PlannedPod) -> str:
    found: ContainerFacts = pod.container_facts["app"][ContainerFacts]
    return found.behaviour.value


def certain(pod: PlannedPod) -> bool:
    found: ContainerFacts = pod.container_facts["app"][ContainerFacts]
    return found.behaviour.origin.kind == "explicit"


def others(pod: PlannedPod) -> list[tuple[str, str]]:
    found: ProgramFacts = pod.container_facts["app"][ProgramFacts]
    return [(when, value) for when, _, value in found.others]


CERTAIN = [
    (["gunicorn", "shop:app"], GRACEFUL),
    (["python", "-m", "gunicorn", "shop:app"], GRACEFUL),
    (["poetry", "run", "gunicorn", "shop:app"], GRACEFUL),
    (["uv", "run", "--with", "x", "uvicorn", "shop:app"], GRACEFUL),
    (["ddtrace-run", "gunicorn", "shop:app"], GRACEFUL),
    (["env", "A=1", "uvicorn", "shop:app"], GRACEFUL),
    (["timeout", "-s", "KILL", "100", "uvicorn", "shop:app"], GRACEFUL),
    (["nice", "-n", "5", "granian", "shop:app"], GRACEFUL),
    (["tini", "-g", "--", "gunicorn", "shop:app"], GRACEFUL),
    (["gosu", "app", "gunicorn", "shop:app"], GRACEFUL),
    (["bundle", "exec", "puma", "-C", "config/puma.rb"], GRACEFUL),
    (["bundle", "exec", "sidekiq"], GRACEFUL),
    (["caddy", "run"], GRACEFUL),
    (["celery", "-A", "shop", "worker"], GRACEFUL),
    (["tini", "--", "celery", "-A", "shop", "worker"], GRACEFUL),
    (["tini", "-g", "--", "celery", "-A", "shop", "worker", "-P", "threads"], GRACEFUL),
    (["tini", "-g", "--", "celery", "-A", "shop", "worker"], ABRUPT),
    (["dumb-init", "celery", "-A", "shop", "worker"], ABRUPT),
    (["dumb-init", "--single-child", "celery", "-A", "shop", "worker"], GRACEFUL),
    (["hypercorn", "shop:app"], GRACEFUL),
    (["hypercorn", "-w", "1", "shop:app"], GRACEFUL),
    (["hypercorn", "-w", "2", "shop:app"], ABRUPT),
    (["hypercorn", "--workers=4", "shop:app"], ABRUPT),
    (["daphne", "shop:app"], ABRUPT),
    (["uwsgi", "--http", ":80"], ABRUPT),
    (["uwsgi", "--die-on-term"], ABRUPT),
    (["uwsgi", "--hook-master-start", "unix_signal:15 gracefully_kill_them_all"], GRACEFUL),
    (["envoy", "-c", "envoy.yaml"], ABRUPT),
    (["varnishd", "-F"], ABRUPT),
    (["waitress-serve", "shop:app"], IGNORING),
    (["flask", "run"], IGNORING),
    (["python3", "-m", "flask", "--app", "shop", "run"], IGNORING),
    (["python", "-m", "http.server"], IGNORING),
    (["php", "-S", "0.0.0.0:80"], IGNORING),
    (["sleep", "infinity"], IGNORING),
    (["tini", "--", "waitress-serve", "shop:app"], ABRUPT),
    (["dumb-init", "flask", "run"], ABRUPT),
    ([*SHELL, "exec gunicorn shop:app"], GRACEFUL),
    ([*SHELL, "python manage.py migrate && exec gunicorn shop:app"], GRACEFUL),
    ([*SHELL, "gunicorn shop:app; echo done"], IGNORING),
    (["tini", "--", *SHELL, "exec gunicorn shop:app"], GRACEFUL),
    (["tini", "--", *SHELL, "gunicorn shop:app | cat"], ABRUPT),
    (["tritonserver", "--model-repository=/m"], GRACEFUL),
    (["python3", "-m", "sglang.launch_server"], GRACEFUL),
    (["ollama", "serve"], ABRUPT),
    (["tensorflow_model_server"], IGNORING),
    ([*SHELL, "vllm serve mistral"], ABRUPT),
    (["vllm", "serve", "mistral", "--shutdown-timeout", "60"], GRACEFUL),
    (["vllm", "serve", "mistral", "--shutdown-timeout=0"], ABRUPT),
    (["bash", "-euo", "pipefail", "-c", "gunicorn shop:app | cat"], IGNORING),
]


@pytest.mark.parametrize(("command", "expected"), CERTAIN, ids=" ".join)
def test_what_is_certain(command: list[str], expected: str) -> None:
    pod = planned(command=command)
    assert behaviour(pod) == expected
    assert certain(pod)
    assert others(pod) == []


BY_CODE = [
    (["node", "server.js"], "server.js", IGNORING),
    (["node", "-r", "dotenv/config", "dist/main.js"], "main.js", IGNORING),
    (["tini", "--", "node", "server.js"], "server.js", ABRUPT),
    ([*SHELL, "exec node server.js"], "server.js", IGNORING),
    (["python3.12", "-u", "/srv/app.py"], "app.py", IGNORING),
    (["python", "manage.py", "runserver"], "manage.py", IGNORING),
    (["ruby", "app.rb"], "app.rb", ABRUPT),
    (["java", "-Xmx1g", "-jar", "/srv/shop.jar"], "shop.jar", ABRUPT),
    (["pm2-runtime", "app.js"], "app.js", ABRUPT),
    (["pm2-runtime", "--kill-timeout", "9000", "dist/app.js"], "app.js", ABRUPT),
    (["/srv/shop", "--port", "80"], "shop", ABRUPT),
    (["haproxy", "-f", "x.cfg"], "HAProxy", ABRUPT),
    (["npm", "start"], "npm", ABRUPT),
    (["yarn", "start"], "Yarn 1", ABRUPT),
    (["/bin/sh", "/start.sh"], "start.sh", IGNORING),
    (["/docker-start.sh", "run"], "docker-start.sh", IGNORING),
    (["/docker-entrypoint.sh", "run"], "run", ABRUPT),
    (["nginx", "-g", "daemon off;"], "nginx", ABRUPT),
]


@pytest.mark.parametrize(("command", "name", "other"), BY_CODE)
def test_what_the_code_decides_is_an_assumption_about_it(
    command: list[str], name: str, other: str
) -> None:
    pod = planned(command=command)
    assert behaviour(pod) == GRACEFUL
    assert not certain(pod)
    assert others(pod)[0][1] == other
    assert pod.plan is not None
    assert any(a.text.startswith(f"{name} is assumed") for a in pod.plan.assumptions)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"image": "nginx:1.25"}, GRACEFUL),
        ({"image": "docker.io/library/nginx@sha256:0"}, GRACEFUL),
        ({"image": "nginx:1.25", "command": ["nginx", "-g", "daemon off;"]}, GRACEFUL),
        ({"image": "nginx:1.18"}, ABRUPT),
        ({"image": "nginx:1.19.5-alpine"}, GRACEFUL),
        ({"image": "nginx:1", "lifecycle": {"stopSignal": "SIGTERM"}}, ABRUPT),
        (
            {"image": "shop/web:1", "command": ["nginx"], "lifecycle": {"stopSignal": "SIGQUIT"}},
            GRACEFUL,
        ),
        ({"image": "httpd:2.4"}, GRACEFUL),
        ({"image": "haproxy:2.8-alpine"}, GRACEFUL),
        ({"image": "node:20", "command": ["npm", "start"]}, ABRUPT),
        ({"image": "vllm/vllm-openai:v0.18.0", "args": ["--model", "x"]}, ABRUPT),
        (
            {"image": "vllm/vllm-openai:v0.18.0", "args": ["--shutdown-timeout", "9"]},
            GRACEFUL,
        ),
        ({"image": "ollama/ollama"}, ABRUPT),
        ({"env": {"SERVER_SHUTDOWN": "graceful"}}, GRACEFUL),
        ({"env": {"SERVER_SHUTDOWN": "immediate"}}, ABRUPT),
        ({"env": {"QUARKUS_SHUTDOWN_TIMEOUT": "20s"}}, GRACEFUL),
    ],
)
def test_what_images_and_variables_show(keys: dict[str, Any], expected: str) -> None:
    pod = planned(**keys)
    assert behaviour(pod) == expected
    assert certain(pod)


@pytest.mark.parametrize(
    ("keys", "when"),
    [
        ({"image": "node:20-alpine", "command": ["npm", "start"]}, "where npm's shell"),
        ({"env": {"SPRING_PROFILES_ACTIVE": "p"}}, "with Spring Boot before 3.4"),
        ({"env": {"QUARKUS_HTTP_PORT": "80"}}, "with Quarkus without quarkus.shutdown.timeout"),
        ({"args": ["flask", "run"]}, "with an init or a shell in front of Flask"),
    ],
)
def test_other_cases(keys: dict[str, Any], when: str) -> None:
    (other,) = others(planned(**keys))
    assert other[0].startswith(when)
    assert other[1] == ABRUPT


@pytest.mark.parametrize(
    "arguments",
    [["--shutdown-timeout", "$(DRAIN)"], ["$EXTRA"], ["--config", "/etc/vllm.yaml"], ["${ARGS}"]],
)
def test_a_limit_of_vllm_that_is_not_visible_is_an_assumption(arguments: list[str]) -> None:
    pod = planned(command=["vllm", "serve", "m", *arguments])
    assert behaviour(pod) == GRACEFUL
    assert others(pod) == [("without --shutdown-timeout", ABRUPT)]


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("vllm/vllm-openai:v0.11.0", ABRUPT),
        ("mirror.example/vllm/vllm-openai:v0.11.0", ABRUPT),
        ("vllm/vllm-openai:v0.18.0-cu129", GRACEFUL),
        ("ghcr.io/llm-d/llm-d-cuda:v0.4.0", GRACEFUL),  # its own version, not vLLM's
    ],
)
def test_only_vllm_images_name_its_release(image: str, expected: str) -> None:
    command = ["vllm", "serve", "m", "--shutdown-timeout", "60"]
    assert behaviour(planned(image=image, command=command)) == expected


def test_a_variable_of_the_container_is_filled_in() -> None:
    arguments = ["vllm", "serve", "m", "--shutdown-timeout", "$(DRAIN)"]
    pod = planned(command=arguments, env={"DRAIN": "20"})
    assert behaviour(pod) == GRACEFUL
    assert others(pod) == []
    assert pod.container_facts["app"][ProgramFacts].finish_within.value == seconds(20)


@pytest.mark.parametrize("command", [["vllm", "bench", "serve"], ["vllm", "serve", "--headless"]])
def test_other_commands_of_vllm_serve_nothing(command: list[str]) -> None:
    assert not certain(planned(command=command))


def test_vllm_that_aborts_lives_on_until_it_is_killed() -> None:
    pod = planned(command=["vllm", "serve", "m"])
    assert pod.plan is not None
    timeline = ShutdownAnalysis(pod.plan).loaded_timeline.container("app")
    assert timeline.exit.at == seconds(30)


def test_the_process_namespace_of_the_pod_has_another_first_process() -> None:
    pod = planned(command=["flask", "run"], spec={"shareProcessNamespace": True})
    assert behaviour(pod) == ABRUPT


def test_details_of_processes() -> None:
    def process(*command: str) -> Any:
        plan = planned(command=list(command)).plan
        assert plan is not None
        return plan.containers[0]

    (phase,) = process("uwsgi").process.phases
    assert isinstance(phase.ending, Never)
    assert phase.cuts
    assert phase.inbound.new is Reaction.SERVES
    (phase,) = process("gunicorn").process.phases
    assert phase.inbound.new is Reaction.HANGS
    assert phase.ending.limit.value.total_seconds() == 30
    (phase,) = process("hypercorn").process.phases
    assert phase.ending.limit.value.total_seconds() == 3
    (wrapper,) = process("su", "-c", "gunicorn shop:app", "app").wrappers
    assert wrapper.kills_after.value.total_seconds() == 2
    (wrapper,) = process("runuser", "-u", "app", "--", "gunicorn", "shop:app").wrappers
    assert wrapper.name == "su"


def test_the_rules_say_why() -> None:
    def found(rule: str, **keys: Any) -> list[str]:
        result = check_text(manifest(**keys), user_facts())
        return [finding.message for finding in result.findings if finding.rule == rule]

    ports = [{"containerPort": 80}]
    (message,) = found("SL134", command=["hypercorn", "-w", "2", "shop:app"], ports=ports)
    assert message.startswith("app does not wait for its requests at its stop signal (Hypercorn")
    hook = {"preStop": {"exec": {"command": ["/drain"]}}}
    assert found("SL134", command=["daphne", "shop:app"], lifecycle=hook) == []
    (message,) = found("SL142", command=["flask", "run"])
    assert message.startswith("app ignores its stop signal (Flask's development server has no")
    assert found("SL142", command=["gunicorn", "shop:app"]) == []


def test_what_the_user_says_counts() -> None:
    facts = user_facts()
    assert behaviour(plan_pod_text(manifest(command=["daphne", "a:b"]), facts)) == ABRUPT
    from msgspec.structs import replace  # noqa: PLC0415

    from shutdownlint.platforms.user_facts import AppFacts  # noqa: PLC0415

    facts_with_app = replace(facts, apps=(AppFacts("*", behaviour=GRACEFUL),))
    pod = plan_pod_text(manifest(command=["daphne", "a:b"]), facts_with_app)
    assert behaviour(pod) == GRACEFUL


BOOT = """
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: boot, namespace: shop}
    data:
      application.yml: "server: {shutdown: graceful}"
      application-prod.yml: "server: {shutdown: immediate}"
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: shop, namespace: shop}
    spec:
      containers:
      - name: app
        image: shop/app:1
        env: [{name: SPRING_PROFILES_ACTIVE, value: "%s"}]
        volumeMounts: [{name: boot, mountPath: /config}]
      volumes: [{name: boot, configMap: {name: boot}}]
    """


@pytest.mark.parametrize(
    ("profiles", "expected"),
    [("prod", ABRUPT), ("test,prod", ABRUPT), ("test", GRACEFUL), ("production", GRACEFUL)],
)
def test_the_file_of_an_active_profile_is_stronger(profiles: str, expected: str) -> None:
    assert behaviour(plan_pod_text(BOOT % profiles)) == expected


def test_a_misspelled_mode_is_reported() -> None:
    result = check_text(manifest(env={"SERVER_SHUTDOWN": "gracefull"}))
    messages = [finding.message for finding in result.findings if finding.severity != "note"]
    assert any("is neither 'graceful' nor 'immediate'" in message for message in messages)


def in_flight(pod: PlannedPod, arrival: float, length: float) -> str:
    assert pod.plan is not None
    request = Request(seconds(arrival), seconds(length))
    (answer,) = ShutdownAnalysis(pod.plan).predict([request])
    return answer.prediction.outcome.value


NGINX_ARGS = ["/nginx-ingress-controller", "--election-id=x"]
WAIT = {"preStop": {"exec": {"command": ["/wait-shutdown"]}}}
HOUR = {"terminationGracePeriodSeconds": 3600}


@pytest.mark.parametrize(
    ("args", "arrival", "length", "outcome"),
    [
        ([], 0, 239, "ok"),
        ([], 0, 241, "cut"),
        ([], 1, 1, "refused"),
        (["--shutdown-grace-period=20"], 19, 1, "ok"),
        (["--shutdown-grace-period=20"], 21, 1, "refused"),
        (["--shutdown-grace-period", "20"], 0, 259, "ok"),
    ],
)
def test_ingress_nginx_drains_from_its_hook_on(
    args: list[str], arrival: float, length: float, outcome: str
) -> None:
    pod = planned(args=[*NGINX_ARGS, *args], lifecycle=WAIT, spec=HOUR)
    assert in_flight(pod, arrival, length) == outcome


@pytest.mark.parametrize(
    ("args", "arrival", "length", "outcome"),
    [
        ([], 0, 9, "ok"),
        ([], 0, 11, "cut"),
        (["--entryPoints.web.transport.lifeCycle.graceTimeOut=25s"], 0, 24, "ok"),
        (["--entrypoints.web.transport.lifecycle.requestacceptgracetimeout=5"], 4, 9, "ok"),
        (["--entrypoints.web.transport.lifecycle.requestacceptgracetimeout=5"], 6, 1, "refused"),
    ],
)
def test_traefik_by_its_arguments(
    args: list[str], arrival: float, length: float, outcome: str
) -> None:
    pod = planned(image="traefik:v3.0", args=["--ping=true", *args], spec=HOUR)
    assert in_flight(pod, arrival, length) == outcome


SQL = """
    apiVersion: v1
    kind: Pod
    metadata: {name: shop}
    spec:
      containers:
      - name: app
        image: shop/app:1
        ports: [{containerPort: 80}]
        lifecycle: {preStop: {sleep: {seconds: 10}}}
      - name: sql
        image: gcr.io/cloud-sql-connectors/cloud-sql-proxy:2.11.0
        args: ["--port=5432"%s]
    """


@pytest.mark.parametrize(
    ("flags", "outcome", "reported"),
    [
        ("", "cut", True),
        (", --min-sigterm-delay=5s", "cut", True),
        (", --min-sigterm-delay=20s", "ok", False),
        (", --max-sigterm-delay, 20s", "ok", False),
    ],
)
def test_requests_need_the_database_proxy(flags: str, outcome: str, reported: bool) -> None:
    assert in_flight(plan_pod_text(SQL % flags), 6, 2) == outcome
    rules = [rule for rule, _ in rule_lines(check_text(SQL % flags).findings)]
    assert ("SL160" in rules) is reported


WORDS = st.sampled_from(
    [
        "tini", "dumb-init", "-g", "--", "env", "A=1", "sh", "bash", "-c", "exec gunicorn a:b",
        "a; b", "exec", "su", "-c", "runuser", "gosu", "app", "timeout", "100", "nice", "-n", "5",
        "poetry", "run", "uv", "--with", "gunicorn", "node", "-r", "x.js", "python", "-m",
        "http.server", "npm", "start", "", " ", "-", "=", "$(X)", "'", "|", "&&", "nginx",
        "hypercorn", "-w", "²", "9" * 30, "cloud-sql-proxy", "--max-sigterm-delay", "1h",
        "/nginx-ingress-controller", "--shutdown-grace-period=x", "celery", "worker", "-P",
        "vllm", "--shutdown-timeout", "-jar", "java", "busybox", "x.sh", "sleep",
    ]
)  # fmt: skip


@given(
    st.lists(WORDS, max_size=6),
    st.lists(WORDS, max_size=4),
    st.sampled_from(
        ["", "nginx", "nginx:1@sha256:0", ":", "@", "a/b/c:d", "traefik:v3", "node:20"]
    ),
    st.booleans(),
)
def test_no_command_line_fails(
    command: list[str], args: list[str], image: str, shared: bool
) -> None:
    spec = {"shareProcessNamespace": shared}
    pod = planned(command=command, args=args, image=image or "x", spec=spec)
    assert behaviour(pod) in (GRACEFUL, ABRUPT, IGNORING)
    assert check_text(manifest(command=command, args=args, image=image or "x")).complete


@pytest.mark.parametrize(
    ("command", "arrival", "length", "outcome"),
    [
        (["/usr/sbin/nginx", "-s", "quit"], 0, 20, "ok"),
        (["/usr/sbin/nginx", "-s", "quit"], 1, 1, "refused"),
        ([*SHELL, "sleep 5; nginx -s quit; while pgrep nginx; do sleep 1; done"], 4, 9, "ok"),
        ([*SHELL, "sleep 5; nginx -s quit; while pgrep nginx; do sleep 1; done"], 6, 1, "refused"),
        (["kong", "quit"], 1, 1, "refused"),
        (["kong", "quit"], 0, 9, "ok"),
        (["kong", "quit"], 0, 11, "cut"),
        (["kong", "quit", "--wait=15"], 14, 9, "ok"),
        (["kong", "quit", "--wait", "15", "--timeout=20"], 14, 19, "ok"),
        (["kong", "quit", "--wait=15"], 16, 1, "refused"),
    ],
)
def test_a_hook_may_begin_the_drain(
    command: list[str], arrival: float, length: float, outcome: str
) -> None:
    hook = {"preStop": {"exec": {"command": command}}}
    assert (
        in_flight(planned(image="nginx:1.25", lifecycle=hook, spec=HOUR), arrival, length)
        == outcome
    )
