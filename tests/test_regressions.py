"""Mistakes that were found by use, kept as tests."""

from __future__ import annotations

import pytest

from shutdownlint.engine.finding import Finding
from shutdownlint.shutdown import Request, Shutdown, Traffic, seconds
from tests.helpers import check_files, check_text, given, plan_of, read_files, told
from tests.shutdown.builders import app, plan, proxy

POD = """
apiVersion: v1
kind: Pod
metadata: {name: shop, labels: {app: shop}}
spec:
  containers:
    - name: app
      image: shop/app:1
"""
SERVICE = """
---
apiVersion: v1
kind: Service
metadata: {name: front}
spec: {selector: {app: shop}, ports: [{port: 80, targetPort: %s}]}
"""


def notes(text: str) -> list[Finding]:
    return [f for f in check_text(text).findings if f.rule == "SL108"]


def test_an_alias_bomb_in_a_pod_is_refused_quickly() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    bomb = "apiVersion: v1\nkind: Pod\nspec: {containers: *a9}\n"
    result = check_text("\n".join([*lines, bomb]))
    assert told(result.findings) == [("SL001", 1)]
    assert not result.whole


def test_one_mistake_is_one_finding() -> None:
    hook = "      lifecycle: {preStop: {exec: {command: [sleep, 45, 1.5]}}}\n"
    findings = check_text(POD + hook).findings
    assert [f.region.column for f in findings if f.rule == "SL003"] == [53, 57]
    assert all("unquoted it reads as a number" in f.message for f in findings)


@pytest.mark.parametrize(
    "annotations",
    [
        "{proxy.istio.io/config: 'terminationDrainDuration: ${DRAIN}'}",
        "{proxy.istio.io/config: 'proxyMetadata: {EXIT_ON_ZERO_ACTIVE_CONNECTIONS: ${X}}'}",
        "{shutdownlint.dev/p99: '${P99}'}",
    ],
)
def test_placeholders_are_left_alone(annotations: str) -> None:
    text = POD.replace("app: shop}}", f"app: shop}}, annotations: {annotations}}}")
    assert not check_text(text, given(istio="1.26")).findings


def test_a_rejected_grace_period_is_not_called_the_default() -> None:
    text = POD.replace("spec:", 'spec:\n  terminationGracePeriodSeconds: "60"')
    assert told(check_text(text).findings) == [("SL003", 5)]
    assert plan_of(text).grace.value.high is None


def test_only_the_last_of_duplicate_keys_counts() -> None:
    two = POD + POD.lstrip().replace("shop/app:1", "shop/other:1")
    result = check_text(two)
    assert result.workloads == 1
    assert {f.rule for f in result.findings} == {"SL004"}


def test_a_named_target_port_leads_to_the_first_container_that_has_it() -> None:
    ports = "      ports: [{name: http, containerPort: %d}]\n"
    second = "    - name: second\n      image: i\n"
    text = POD + ports % 80 + second + ports % 81
    assert [f.container for f in notes(text + SERVICE % "http")] == ["app"]
    assert [f.container for f in notes(text + SERVICE % "81")] == ["second"]
    assert notes(POD + SERVICE % "metrics") == []


def test_a_service_of_the_same_file_is_named_and_shown() -> None:
    (finding,) = notes(POD + SERVICE % "80")
    assert "Service front" in finding.message
    assert [(r.label, r.region.line) for r in finding.related] == [("Service front", 12)]


def test_pods_that_end_by_themselves_get_no_traffic() -> None:
    once = POD.replace("spec:", "spec:\n  restartPolicy: Never")
    assert notes(once + SERVICE % "80") == []


def test_gateways_are_not_taken_for_graceful_apps() -> None:
    text = POD.replace("name: app", "name: istio-proxy").replace("shop/app:1", "auto")
    (pod,) = read_files({"a.yaml": text}).pods
    assert pod.plan is None
    assert "only a proxy" in str(pod.unplanned)


def test_a_refused_pod_says_so_when_explained() -> None:
    note = "{proxy.istio.io/config: 'terminationDrainDuration: 5'}"
    text = POD.replace("app: shop}}", f"app: shop}}, annotations: {note}}}")
    assumed = [str(a) for a in plan_of(text).assumptions]
    assert any("webhook rejects this pod" in text for text in assumed)


def test_idle_connections_hold_exit_on_zero_up() -> None:
    of = Shutdown(plan(app(pre_stop=15), proxy=proxy(exit_on_zero=True)))
    late = [Request(seconds(12), seconds(1))]
    assert of.ask(late, Traffic(open_connections=0))[0].outcome == "refused"
    assert of.ask(late, Traffic(idle=1, open_connections=0))[0].outcome == "ok"


def test_luck_has_odds() -> None:
    of = Shutdown(plan(app(pre_stop=15), proxy=proxy(exit_on_zero=True)))
    (answer,) = of.ask([Request(seconds(8.5), seconds(1))], Traffic(open_connections=1))
    # three looks, at 6, 7 and 8, each survived with 1 - 1/e
    assert answer.outcome == "unknown"
    assert answer.chance == pytest.approx(0.632**3, abs=0.001)
    (sure,) = of.ask([Request(seconds(2), seconds(1))], Traffic(open_connections=1))
    assert (sure.outcome, sure.chance) == ("ok", None)


def test_the_apps_own_calls() -> None:
    of = Shutdown(plan(app(pre_stop=15), proxy=proxy()))
    calls = [Request(seconds(at), seconds(2), outbound=True) for at in (1, 4, 6)]
    assert [answer.outcome.value for answer in of.ask(calls)] == ["ok", "cut", "refused"]


def test_a_proxy_that_inbound_requests_bypass_does_not_cut_them() -> None:
    labels = "app: shop, sidecar.istio.io/inject: 'true'}}"
    hook = "      lifecycle: {preStop: {sleep: {seconds: 15}}}\n"
    note = "annotations: {traffic.sidecar.istio.io/includeInboundPorts: ''}}"
    seen = POD.replace("app: shop}}", labels) + hook
    past = POD.replace("app: shop}}", labels[:-1] + ", " + note) + hook
    assert [f.rule for f in check_text(seen, given(istio="1.26")).findings] == ["SL201"]
    assert not check_text(past, given(istio="1.26")).findings


#: Thirty-two production apps (deregistration, preStop, grace), margins of 2 to 10 s at each step.
BUDGETS = [
    *[(3, 5, 10)] * 8,
    *[(10, 15, 20)] * 6,
    *[(1, 3, 5)] * 5,
    *[(5, 10, 15)] * 4,
    *[(60, 70, 80)] * 2,
    *[(30, 40, 50)] * 2,
    (20, 25, 30),
    (30, 35, 40),
    (25, 30, 35),
    (1, 5, 10),
    (15, 20, 25),
]


def test_budgets_that_work_in_production_stay_silent() -> None:
    assert len(BUDGETS) == 32
    documents = []
    for number, (deregistration, pre_stop, grace) in enumerate(BUDGETS):
        name = f"app-{number}"
        attributes = f"deregistration_delay.timeout_seconds={deregistration}"
        documents.append(f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: apps}}
spec:
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      terminationGracePeriodSeconds: {grace}
      containers:
        - name: app
          image: i
          ports: [{{name: http, containerPort: 8080}}]
          lifecycle: {{preStop: {{sleep: {{seconds: {pre_stop}}}}}}}
        - name: nginx
          image: nginx:1
          ports: [{{name: web, containerPort: 80}}]
          lifecycle: {{preStop: {{sleep: {{seconds: {pre_stop}}}}}}}
---
apiVersion: v1
kind: Service
metadata:
  name: {name}
  namespace: apps
  annotations: {{alb.ingress.kubernetes.io/target-group-attributes: {attributes}}}
spec: {{selector: {{app: {name}}}, ports: [{{port: 80, targetPort: web}}]}}
""")
    result = check_text("---".join(documents))
    assert result.workloads == 32
    assert result.findings == []


def test_three_hooks_of_one_pod_overlap() -> None:
    hook = "      lifecycle: {preStop: {sleep: {seconds: 30}}}\n"
    more = "".join(f"    - name: c{n}\n      image: i\n{hook}" for n in (2, 3))
    text = POD.replace("spec:", "spec:\n  terminationGracePeriodSeconds: 50") + hook + more
    assert check_text(text).findings == []


def test_a_namespace_in_another_file_counts_and_its_absence_lowers_confidence() -> None:
    pod = POD.replace(
        "{name: shop, labels: {app: shop}}",
        "{name: shop, namespace: side, labels: {sidecar.istio.io/inject: 'true'}}",
    )
    pod += "      lifecycle: {preStop: {sleep: {seconds: 15}}}\n"
    labels = "{name: side, labels: {istio-injection: enabled}}"
    namespace = f"apiVersion: v1\nkind: Namespace\nmetadata: {labels}\n"
    said = given(istio="1.26")
    (seen,) = check_files({"apps/pod.yaml": pod, "cluster/ns.yaml": namespace}, said).findings
    (unseen,) = check_files({"apps/pod.yaml": pod}, said).findings
    assert (seen.rule, seen.severity, seen.confidence) == ("SL201", "error", "high")
    assert (unseen.rule, unseen.severity, unseen.confidence) == ("SL201", "warning", "medium")
    assert "side is not among the files" in unseen.assumed[0]


NS = """
apiVersion: v1
kind: Namespace
metadata: {name: side, labels: {istio-injection: enabled}}
---
"""
MESHED = POD.replace("{name: shop, labels: {app: shop}}", "{name: shop, namespace: side}")
SLEEP_15 = "      lifecycle: {preStop: {sleep: {seconds: 15}}}\n"


def parse_rule_list(text: str, **said: str) -> list[str]:
    findings = check_text(text, given(**said)).findings
    return [f"{f.rule} {f.severity.value}" for f in findings if f.severity != "note"]


@pytest.mark.parametrize(
    "native",
    [
        (
            "spec: {tag: 1.26.1, components: {pilot: {k8s: {env: "
            "[{name: ENABLE_NATIVE_SIDECARS, value: 'true'}]}}}}"
        ),
        "spec: {tag: 1.26.1, values: {pilot: {env: {ENABLE_NATIVE_SIDECARS: 'true'}}}}",
    ],
)
def test_native_sidecars_switched_on_in_the_operator(native: str) -> None:
    operator = f"apiVersion: install.istio.io/v1alpha1\nkind: IstioOperator\n{native}\n---"
    assert parse_rule_list(NS + operator + MESHED + SLEEP_15) == []


def test_native_sidecars_switched_on_in_istiods_deployment() -> None:
    istiod = MESHED.replace("name: app", "name: discovery").replace("side", "istio-system")
    istiod = istiod.replace("shop/app:1", "docker.io/istio/pilot:1.26.1")
    istiod += "      env: [{name: ENABLE_NATIVE_SIDECARS, value: 'true'}]\n---"
    assert parse_rule_list(NS + istiod + MESHED + SLEEP_15) == []


def test_a_compatibility_version_switches_native_sidecars_off() -> None:
    operator = "apiVersion: install.istio.io/v1alpha1\nkind: IstioOperator\n"
    operator += "spec: {tag: 1.28.0, values: {compatibilityVersion: '1.26'}}\n---"
    text = NS + operator + MESHED + SLEEP_15
    assert parse_rule_list(text, kubernetes="1.33") == ["SL201 error"]


@pytest.mark.parametrize(("version", "rule"), [("1.29", "SL114 warning"), ("1.28", "SL113 error")])
def test_a_sleep_that_the_cluster_drops_takes_no_time(version: str, rule: str) -> None:
    for seconds_written in (45, 30, 0, -5):
        hook = f"      lifecycle: {{preStop: {{sleep: {{seconds: {seconds_written}}}}}}}\n"
        assert parse_rule_list(POD + hook, kubernetes=version) == [rule]
    plan_there = plan_of(POD + SLEEP_15, given(kubernetes=version))
    (late,) = Shutdown(plan_there).ask([Request(seconds(5), seconds(1))])
    assert late.outcome == "refused"


def test_which_container_serves_may_be_unknown() -> None:
    hooks = [f"      lifecycle: {{preStop: {{sleep: {{seconds: {n}}}}}}}\n" for n in (5, 20)]
    text = POD + hooks[0] + "    - name: logs\n      image: i\n" + hooks[1]
    (finding,) = check_text(text, given(p99="15s")).findings
    assert (finding.rule, finding.severity) == ("SL101", "warning")
    assert "logs needs" in finding.message
    assert "which container serves" in finding.assumed[0]


@pytest.mark.parametrize("line", ["preStop: '${HOOK}'", "preStop: {exec: {command: '${CMD}'}}"])
def test_placeholders_in_place_of_a_whole_part(line: str) -> None:
    result = check_text(POD + f"      lifecycle: {{{line}}}\n")
    assert not result.findings
    assert result.scene.reading.skipped == {"pods whose shutdown settings are placeholders": 1}


def test_a_refused_mesh_config_lowers_what_rests_on_the_defaults() -> None:
    mesh = """
apiVersion: v1
kind: ConfigMap
metadata: {name: istio, namespace: istio-system}
data: {mesh: "defaultConfig: {terminationDrainDuration: 10}"}
---"""
    text = NS + mesh + MESHED + SLEEP_15
    assert parse_rule_list(text, istio="1.26") == ["SL218 error", "SL201 warning"]


def test_what_nothing_reads_is_no_error() -> None:
    note = "annotations: {sidecar.istio.io/nativeSidecar: 'true', proxy.istio.io/config: "
    note += "'proxyMetadata: {MINIMUM_DRAIN_DURATION: \"10\"}'}"
    native = MESHED.replace("namespace: side}", f"namespace: side, {note}}}")
    assert parse_rule_list(NS + native + SLEEP_15, istio="1.26") == []


def test_the_releases_that_never_see_zero() -> None:
    note = "annotations: {proxy.istio.io/config: 'proxyMetadata: {EXIT_ON_ZERO_ACTIVE_CONNECTIONS: \"true\"}'}"
    text = NS + MESHED.replace("namespace: side}", f"namespace: side, {note}}}") + SLEEP_15
    assert parse_rule_list(text, istio="1.13.2") == ["SL216 warning"]
    assert parse_rule_list(text, istio="1.14") == ["SL205 warning"]
    # before 1.12 the setting does not exist
    assert parse_rule_list(text, istio="1.11") == ["SL201 error"]


def test_a_shell_that_keeps_the_signal_makes_an_app_that_goes_on() -> None:
    text = POD + "      command: [sh, -c, '/server | tee /log']\n"
    (answer,) = Shutdown(plan_of(text)).ask([Request(seconds(6), seconds(1))])
    assert answer.outcome == "ok"


def test_a_placeholder_of_the_mesh_leaves_kubernetes_rules_alone() -> None:
    note = "annotations: {proxy.istio.io/config: 'terminationDrainDuration: ${TDD}'}"
    text = NS + MESHED.replace("namespace: side}", f"namespace: side, {note}}}")
    assert parse_rule_list(text + SLEEP_15.replace("15", "30"), istio="1.26") == ["SL102 error"]


def test_a_call_of_envoys_admin_is_not_istios_drain_hook() -> None:
    note = "annotations: {sidecar.istio.io/nativeSidecar: 'true'}"
    own = "    - name: istio-proxy\n      image: auto\n      lifecycle: {preStop: {exec: {command: "
    own += "[curl, 'localhost:15000/drain_listeners?inboundonly&graceful']}}}\n"
    text = NS + MESHED.replace("namespace: side}", f"namespace: side, {note}}}") + own
    assert parse_rule_list(text, istio="1.26") == ["SL226 warning"]


def test_a_wrong_type_in_a_proxy_config_object() -> None:
    text = """
apiVersion: networking.istio.io/v1beta1
kind: ProxyConfig
metadata: {name: all, namespace: side}
spec:
  environmentVariables:
    EXIT_ON_ZERO_ACTIVE_CONNECTIONS: true
"""
    assert told(check_text(text).findings) == [("SL003", 6)]


def test_a_negative_p99_is_unreadable() -> None:
    note = "annotations: {shutdownlint.dev/p99: -5s}"
    assert parse_rule_list(POD.replace("app: shop}}", f"app: shop}}, {note}}}")) == ["SL005 error"]


def test_pod_annotations_on_the_workload_itself() -> None:
    text = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: shop
  annotations:
    sidecar.istio.io/nativeSidecar: "true"
    inject.istio.io/templates: sidecar
spec:
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec: {containers: [{name: app, image: i}]}
"""
    assert told(check_text(text).findings) == [("SL214", 6), ("SL214", 7)]


TWO = """
apiVersion: v1
kind: Service
metadata: {name: shop}
spec: {selector: {app: shop}, ports: [{name: a, port: 80, targetPort: 8080}, {name: b, port: 81, targetPort: 9090}]}
---
apiVersion: v1
kind: Pod
metadata: {name: shop, labels: {app: shop}}
spec:
  containers:
  - {name: web, image: a, ports: [{containerPort: 8080}], lifecycle: {preStop: {sleep: {seconds: 5}}}}
  - {name: api, image: a, ports: [{containerPort: 9090}], lifecycle: {preStop: {sleep: {seconds: 5}}}, command: [hypercorn, --graceful-timeout, "3", "x:app"]}
"""


@pytest.mark.parametrize("swapped", [False, True])
def test_every_container_that_may_be_asked_counts(swapped: bool) -> None:
    lines = TWO.splitlines()
    if swapped:
        lines[-2:] = lines[:-3:-1]
    shutdown = Shutdown(plan_of("\n".join(lines)))
    assert (shutdown.headroom.in_flight, shutdown.headroom.late) == (seconds(8), seconds(3))
    short, late = shutdown.ask([Request(seconds(4), seconds(1)), Request(seconds(4), seconds(8))])
    assert (short.outcome, late.outcome) == ("ok", "unknown")
    assert "the container that it is meant for" in str(late.by)
    assert not shutdown.solution.proven
    assert "api" in shutdown.solution.because


@pytest.mark.parametrize("days", [1, 2, 7, 400])
def test_a_grace_period_of_days_has_headroom(days: int) -> None:
    plan = plan_of(
        POD.replace("containers:", f"terminationGracePeriodSeconds: {days * 86400}\n  containers:")
    )
    headroom = Shutdown(plan).headroom
    assert headroom.in_flight == seconds(days * 86400)


def test_late_requests_of_an_unknown_hook_are_none_for_sure() -> None:
    hook = "      lifecycle: {preStop: {exec: {command: [/drain.sh]}}}\n"
    shutdown = Shutdown(plan_of(POD + hook))
    assert (shutdown.headroom.late, shutdown.headroom.late_at) == (seconds(0), seconds(30))


def test_bounds_have_no_odds() -> None:
    hook = "      lifecycle: {preStop: {exec: {command: [/drain.sh]}}}\n"
    annotated = MESHED.replace(
        "namespace: side}",
        "namespace: side, annotations: {proxy.istio.io/config: "
        "\"{proxyMetadata: {EXIT_ON_ZERO_ACTIVE_CONNECTIONS: 'true'}}\"}}",
    )
    shutdown = Shutdown(plan_of(NS + annotated + hook, given(istio="1.26")))
    (answer,) = shutdown.ask([Request(seconds(10), seconds(1))], Traffic(open_connections=1))
    assert answer.chance is None
