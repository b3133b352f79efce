"""Mistakes that were found by use, kept as tests."""

from __future__ import annotations

import pytest

from shutdownlint.engine.finding import Finding
from shutdownlint.manifests.skips import PLACEHOLDERS
from shutdownlint.shutdown.analysis import Answer, Doubt, ShutdownAnalysis, Traffic
from shutdownlint.shutdown.durations import seconds
from shutdownlint.shutdown.pod_plan import PodPlan
from shutdownlint.shutdown.process import Direction
from shutdownlint.shutdown.request import Request
from tests.helpers import check_files, check_text, plan_files, plan_of, rule_lines, user_facts
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


def ask(
    plan: PodPlan, *requests: tuple[float, float], traffic: Traffic | None = None
) -> list[Answer]:
    """Return the answers for requests (arrival, duration), asked together."""
    asked = [Request(seconds(arrival), seconds(duration)) for arrival, duration in requests]
    return list(ShutdownAnalysis(plan).predict(asked, traffic or Traffic()))


def notes(text: str) -> list[Finding]:
    return [f for f in check_text(text).findings if f.rule == "SL108"]


def test_an_alias_bomb_in_a_pod_is_refused_quickly() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    bomb = "apiVersion: v1\nkind: Pod\nspec: {containers: *a9}\n"
    result = check_text("\n".join([*lines, bomb]))
    assert rule_lines(result.findings) == [("SL001", 1)]
    assert not result.complete


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
    findings = check_text(text, user_facts(istio="1.26")).findings
    # The default drain of the mesh, which the version makes likely, is no placeholder.
    assert {f.rule for f in findings} <= {"SL203", "SL201", "SL182", "SL108"}


def test_a_rejected_grace_period_is_not_called_the_default() -> None:
    text = POD.replace("spec:", 'spec:\n  terminationGracePeriodSeconds: "60"')
    assert rule_lines(check_text(text).findings) == [("SL003", 5)]
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
    (pod,) = plan_files({"a.yaml": text}).pods
    assert pod.plan is None
    assert pod.skipped is not None
    assert "only a proxy" in pod.skipped.text


def test_a_refused_pod_says_so_when_explained() -> None:
    note = "{proxy.istio.io/config: 'terminationDrainDuration: 5'}"
    text = POD.replace("app: shop}}", f"app: shop}}, annotations: {note}}}")
    assumed = [str(a) for a in plan_of(text).assumptions]
    assert any("webhook rejects this pod" in text for text in assumed)


def test_idle_connections_keep_exit_on_zero_waiting() -> None:
    of = plan(app(pre_stop=15), proxy=proxy(exit_on_zero=True))
    (alone,) = ask(of, (12, 1), traffic=Traffic(open_connections=0))
    (held,) = ask(of, (12, 1), traffic=Traffic(idle=1, open_connections=0))
    assert alone.prediction.outcome == "refused"
    assert held.prediction.outcome == "ok"


def test_what_depends_on_traffic_has_a_probability() -> None:
    of = plan(app(pre_stop=15), proxy=proxy(exit_on_zero=True))
    (answer,) = ask(of, (8.5, 1), traffic=Traffic(open_connections=1))
    # three checks, at 6, 7 and 8, each survived with 1 - 1/e
    assert answer.prediction.outcome == "unknown"
    assert answer.prediction.probability == pytest.approx(0.632**3, abs=0.001)
    (sure,) = ask(of, (2, 1), traffic=Traffic(open_connections=1))
    assert (sure.prediction.outcome, sure.prediction.probability) == ("ok", None)


def test_the_apps_own_calls() -> None:
    of = plan(app(pre_stop=15), proxy=proxy())
    calls = [Request(seconds(at), seconds(2), Direction.OUTBOUND) for at in (1, 4, 6)]
    outcomes = [answer.prediction.outcome.value for answer in ShutdownAnalysis(of).predict(calls)]
    assert outcomes == ["ok", "cut", "refused"]


def test_a_proxy_that_inbound_requests_bypass_does_not_cut_them() -> None:
    labels = "app: shop, sidecar.istio.io/inject: 'true'}}"
    hook = "      lifecycle: {preStop: {sleep: {seconds: 15}}}\n"
    note = "annotations: {traffic.sidecar.istio.io/includeInboundPorts: ''}}"
    seen = POD.replace("app: shop}}", labels) + hook
    past = POD.replace("app: shop}}", labels[:-1] + ", " + note) + hook
    assert [f.rule for f in check_text(seen, user_facts(istio="1.26")).findings] == ["SL201"]
    (found,) = check_text(past, user_facts(istio="1.26")).verdicts
    assert found.lost == "own_calls"


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
    # That a wait of more than a minute slows rollouts is advice, and true of two of them; that none
    # has a readiness probe is true of all; and that endpoints may take 5s is an assumption.
    advice = ("SL108", "SL157", "SL182")
    assert [rule for rule, _ in rule_lines(result.findings) if rule not in advice] == []


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
    facts = user_facts(istio="1.26")
    (seen,) = check_files({"apps/pod.yaml": pod, "cluster/ns.yaml": namespace}, facts).findings
    (unseen,) = check_files({"apps/pod.yaml": pod}, facts).findings
    assert (seen.rule, seen.severity, seen.confidence) == ("SL201", "warning", "high")
    assert (unseen.rule, unseen.severity, unseen.confidence) == ("SL201", "warning", "medium")
    assert "side is not among the files" in unseen.assumptions[0]


NS = """
apiVersion: v1
kind: Namespace
metadata: {name: side, labels: {istio-injection: enabled}}
---
"""
MESHED = POD.replace("{name: shop, labels: {app: shop}}", "{name: shop, namespace: side}")
SLEEP_15 = "      lifecycle: {preStop: {sleep: {seconds: 15}}}\n"


def reported(text: str, **facts: str) -> list[str]:
    findings = check_text(text, user_facts(**facts)).findings
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
    assert reported(NS + operator + MESHED + SLEEP_15) == []


def test_native_sidecars_switched_on_in_istiods_deployment() -> None:
    istiod = MESHED.replace("name: app", "name: discovery").replace("side", "istio-system")
    istiod = istiod.replace("shop/app:1", "docker.io/istio/pilot:1.26.1")
    istiod += "      env: [{name: ENABLE_NATIVE_SIDECARS, value: 'true'}]\n---"
    assert reported(NS + istiod + MESHED + SLEEP_15) == []


def test_a_compatibility_version_switches_native_sidecars_off() -> None:
    operator = "apiVersion: install.istio.io/v1alpha1\nkind: IstioOperator\n"
    operator += "spec: {tag: 1.28.0, values: {compatibilityVersion: '1.26'}}\n---"
    text = NS + operator + MESHED + SLEEP_15
    assert reported(text, kubernetes="1.33") == ["SL201 warning"]


@pytest.mark.parametrize(("version", "rule"), [("1.29", "SL114 warning"), ("1.28", "SL113 error")])
def test_a_sleep_that_the_cluster_drops_takes_no_time(version: str, rule: str) -> None:
    for seconds_written in (45, 30, 0, -5):
        hook = f"      lifecycle: {{preStop: {{sleep: {{seconds: {seconds_written}}}}}}}\n"
        assert reported(POD + hook, kubernetes=version) == [rule]
    plan_there = plan_of(POD + SLEEP_15, user_facts(kubernetes=version))
    (late,) = ask(plan_there, (5, 1))
    assert late.prediction.outcome == "refused"


def test_which_container_serves_may_be_unknown() -> None:
    hooks = [f"      lifecycle: {{preStop: {{sleep: {{seconds: {n}}}}}}}\n" for n in (5, 20)]
    text = POD + hooks[0] + "    - name: logs\n      image: i\n" + hooks[1]
    (finding,) = check_text(text, user_facts(p99="15s")).findings
    assert (finding.rule, finding.severity) == ("SL101", "warning")
    assert "logs needs" in finding.message
    assert "which container serves" in finding.assumptions[0]


@pytest.mark.parametrize("line", ["preStop: '${HOOK}'", "preStop: {exec: {command: '${CMD}'}}"])
def test_placeholders_in_place_of_a_whole_part(line: str) -> None:
    result = check_text(POD + f"      lifecycle: {{{line}}}\n")
    assert not result.findings
    assert result.stats.skipped == {PLACEHOLDERS: 1}


def test_a_refused_mesh_config_lowers_what_rests_on_the_defaults() -> None:
    mesh = """
apiVersion: v1
kind: ConfigMap
metadata: {name: istio, namespace: istio-system}
data: {mesh: "defaultConfig: {terminationDrainDuration: 10}"}
---"""
    text = NS + mesh + MESHED + SLEEP_15
    assert reported(text, istio="1.26") == ["SL201 warning", "SL218 error"]


def test_what_nothing_reads_is_no_error() -> None:
    note = "annotations: {sidecar.istio.io/nativeSidecar: 'true', proxy.istio.io/config: "
    note += "'proxyMetadata: {MINIMUM_DRAIN_DURATION: \"10\"}'}"
    native = MESHED.replace("namespace: side}", f"namespace: side, {note}}}")
    assert reported(NS + native + SLEEP_15, istio="1.26") == []


def test_the_releases_that_never_see_zero() -> None:
    note = "annotations: {proxy.istio.io/config: 'proxyMetadata: {EXIT_ON_ZERO_ACTIVE_CONNECTIONS: \"true\"}'}"
    text = NS + MESHED.replace("namespace: side}", f"namespace: side, {note}}}") + SLEEP_15
    assert reported(text, istio="1.13.2") == ["SL216 warning"]
    assert reported(text, istio="1.14") == ["SL201 warning"]
    # before 1.12 the setting does not exist
    assert reported(text, istio="1.11") == ["SL201 warning", "SL253 warning"]


def test_a_shell_that_keeps_the_signal_makes_an_app_that_goes_on() -> None:
    text = POD + "      command: [sh, -c, '/server | tee /log']\n"
    (answer,) = ask(plan_of(text), (6, 1))
    assert answer.prediction.outcome == "ok"


def test_a_placeholder_of_the_mesh_leaves_kubernetes_rules_alone() -> None:
    note = "annotations: {proxy.istio.io/config: 'terminationDrainDuration: ${TDD}'}"
    text = NS + MESHED.replace("namespace: side}", f"namespace: side, {note}}}")
    assert reported(text + SLEEP_15.replace("15", "30"), istio="1.26") == ["SL102 error"]


def test_a_call_of_envoys_admin_is_not_istios_drain_hook() -> None:
    note = "annotations: {sidecar.istio.io/nativeSidecar: 'true'}"
    own = "    - name: istio-proxy\n      image: auto\n      lifecycle: {preStop: {exec: {command: "
    own += "[curl, 'localhost:15000/drain_listeners?inboundonly&graceful']}}}\n"
    text = NS + MESHED.replace("namespace: side}", f"namespace: side, {note}}}") + own
    assert reported(text, istio="1.26") == ["SL226 warning"]


def test_a_wrong_type_in_a_proxy_config_object() -> None:
    text = """
apiVersion: networking.istio.io/v1beta1
kind: ProxyConfig
metadata: {name: all, namespace: side}
spec:
  environmentVariables:
    EXIT_ON_ZERO_ACTIVE_CONNECTIONS: true
"""
    assert rule_lines(check_text(text).findings) == [("SL003", 6)]


def test_a_negative_p99_is_unreadable() -> None:
    note = "annotations: {shutdownlint.dev/p99: -5s}"
    assert reported(POD.replace("app: shop}}", f"app: shop}}, {note}}}")) == ["SL005 error"]


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
    assert rule_lines(check_text(text).findings) == [("SL214", 6), ("SL214", 7)]


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
    plan = plan_of("\n".join(lines))
    analysis = ShutdownAnalysis(plan)
    assert analysis.headroom.max_in_flight == seconds(8)
    late_headroom = analysis.headroom.max_late
    assert late_headroom is not None
    assert seconds(2.9) < late_headroom <= seconds(3)
    short, late = ask(plan, (4, 1), (4, 8))
    assert (short.prediction.outcome, late.prediction.outcome) == ("ok", "unknown")
    assert late.doubt is Doubt.TARGET
    assert analysis.solution.proven
    assert analysis.solution.value_of("finishWithin", "api") == seconds(10)
    by_default = plan_of("\n".join(lines).replace('--graceful-timeout, "3", ', ""))
    of_default = ShutdownAnalysis(by_default).solution
    assert of_default.proven
    assert of_default.value_of("finishWithin", "api") == seconds(10)


@pytest.mark.parametrize("days", [1, 2, 7, 400])
def test_a_grace_period_of_days_has_headroom(days: int) -> None:
    plan = plan_of(
        POD.replace("containers:", f"terminationGracePeriodSeconds: {days * 86400}\n  containers:")
    )
    assert ShutdownAnalysis(plan).headroom.max_in_flight == seconds(days * 86400)


def test_no_late_request_is_guaranteed_behind_an_unknown_hook() -> None:
    hook = "      lifecycle: {preStop: {exec: {command: [/drain.sh]}}}\n"
    headroom = ShutdownAnalysis(plan_of(POD + hook)).headroom
    assert (headroom.max_late, headroom.late_at) == (seconds(0), seconds(30))


def test_bounds_have_no_probability() -> None:
    hook = "      lifecycle: {preStop: {exec: {command: [/drain.sh]}}}\n"
    annotated = MESHED.replace(
        "namespace: side}",
        "namespace: side, annotations: {proxy.istio.io/config: "
        "\"{proxyMetadata: {EXIT_ON_ZERO_ACTIVE_CONNECTIONS: 'true'}}\"}}",
    )
    plan = plan_of(NS + annotated + hook, user_facts(istio="1.26"))
    (answer,) = ask(plan, (10, 1), traffic=Traffic(open_connections=1))
    assert answer.prediction.probability is None
