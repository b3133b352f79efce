"""The pods that get requests, their senders, and the losses of the other pods."""

from __future__ import annotations

import pytest

from shutdownlint.linter.verdicts import WorkloadVerdict
from tests.helpers import check_files, check_text, plan_of, plan_pod_text, user_facts

SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: a, namespace: shop}
spec: {selector: {app: a}, ports: [%s]}
---
"""
WORKLOAD = """\
apiVersion: apps/v1
kind: %s
metadata: {name: a, namespace: shop}
spec:
  %sselector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec:
      containers:
      - {name: a, image: '%s'%s}
"""
HTTP = "{port: 80}"
PORT = ", ports: [{containerPort: 8080}]"


def workload(
    more: str = "", *, kind: str = "Deployment", image: str = "shop/a:1", spec: str = ""
) -> str:
    return WORKLOAD % (kind, spec, image, more)


def verdict(text: str) -> WorkloadVerdict:
    (found,) = check_text(text, user_facts(mesh=["none"])).verdicts
    return found


@pytest.mark.parametrize(
    ("text", "gets"),
    [
        (SERVICE % HTTP + workload(), True),
        (workload(PORT), True),
        (workload(", readinessProbe: {httpGet: {port: 80}}"), True),
        (workload(", readinessProbe: {exec: {command: [ready]}}"), True),
        (workload(", livenessProbe: {tcpSocket: {port: 80}}"), True),
        (workload(", lifecycle: {preStop: {sleep: {seconds: 5}}}"), True),
        (workload(), False),
        (workload(", ports: [{containerPort: 9090, name: metrics}]"), False),
        (workload(", livenessProbe: {exec: {command: [alive]}}"), False),
    ],
)
def test_who_gets_requests(text: str, gets: bool) -> None:
    assert plan_of(text).gets_requests is gets
    assert verdict(text).gets_requests is gets


def test_a_worker_has_no_late_loss_and_no_arriving_requests() -> None:
    found = verdict(workload())
    assert (found.lost, found.losses) == ("none", ())
    assert check_text(workload(), user_facts()).findings == []


@pytest.mark.parametrize(
    ("text", "lost", "sure"),
    [
        (SERVICE % HTTP + workload(PORT), "late", True),
        (workload(PORT), "late", False),  # a Service elsewhere is assumed
        (SERVICE % "{port: 9090, name: metrics}" + workload(PORT), "late", False),
        (SERVICE % "{port: 5432}" + workload(), "late", False),
        (SERVICE % HTTP + workload(PORT, image="prom/node-exporter:1"), "late", False),
        (
            SERVICE % HTTP + workload(PORT, spec="replicas: 1\n  strategy: {type: Recreate}\n  "),
            "late",
            False,
        ),
        (
            SERVICE % HTTP + workload(PORT, kind="StatefulSet", spec="replicas: 1\n  "),
            "late",
            False,
        ),
        (
            SERVICE % HTTP + workload(f"{PORT}, lifecycle: {{preStop: {{sleep: {{seconds: 5}}}}}}"),
            "none",
            True,
        ),
    ],
)
def test_late_requests(text: str, lost: str, sure: bool) -> None:
    found = verdict(text)
    assert found.lost == lost
    assert all(loss.is_sure is sure for loss in found.losses)
    warned = [f.rule for f in check_text(text).findings if f.severity == "warning"]
    assert (warned == ["SL108"]) is (sure and lost == "late")


@pytest.mark.parametrize(
    ("namespace", "workload_file", "service_files", "sure"),
    [
        ("default", "app/a.yaml", ["app/service.yaml"], True),
        ("default", "app/a.yaml", ["service.yaml"], True),
        ("default", "app/a.yaml", ["app/network/service.yaml"], True),
        ("default", "deployments/a.yaml", ["services/a.yaml"], True),
        ("default", "examples/one/a.yaml", ["examples/two/s.yaml", "examples/three/s.yaml"], False),
        ("default", "charts/one/examples/x/a.yaml", ["charts/two/examples/x/s.yaml"], False),
        ("shop", "charts/one/examples/x/a.yaml", ["charts/two/examples/x/s.yaml"], True),
    ],
)
def test_a_service_of_another_application_is_doubted(
    namespace: str, workload_file: str, service_files: list[str], sure: bool
) -> None:
    # The default namespace names no application: the folders have to show what belongs together.
    files = {name: SERVICE.replace("shop", namespace) % HTTP for name in service_files}
    files[workload_file] = workload(PORT).replace("namespace: shop", f"namespace: {namespace}")
    (found,) = check_files(files, user_facts(mesh=["none"])).verdicts
    assert [loss.is_sure for loss in found.losses] == [sure]


def test_a_load_balancer_of_another_application_is_doubted() -> None:
    annotation = "service.beta.kubernetes.io/aws-load-balancer-nlb-target-type: ip"
    service = (SERVICE % HTTP).replace("shop}", f"default, annotations: {{{annotation}}}}}")
    service = service.replace("spec: {", "spec: {type: LoadBalancer, ")
    app = workload(PORT).replace("namespace: shop", "namespace: default")
    for file, sure in (("one/a/service.yaml", True), ("two/b/service.yaml", False)):
        files = {"one/a/app.yaml": app, file: service}
        (found,) = check_files(files, user_facts(mesh=["none"])).verdicts
        assert {loss.is_sure for loss in found.losses} == {sure}


@pytest.mark.parametrize(
    ("image", "port", "message"),
    [
        ("shop/a:1", HTTP, "a is assumed to stop accepting 0s after termination starts"),
        ("nginx:1.27", HTTP, "a stops accepting 0s after termination starts"),
        (
            "shop/a:1",
            "{port: 53, protocol: UDP}",
            "(the default for endpoints): the client sees no",
        ),
    ],
)
def test_the_words_of_a_late_loss(image: str, port: str, message: str) -> None:
    text = SERVICE % port + workload(PORT, image=image, spec="replicas: 2\n  ")
    findings = check_text(text, user_facts(mesh=["none"])).findings
    (found,) = [finding for finding in findings if finding.rule == "SL108"]
    assert message in found.message


def test_a_service_for_monitoring_is_named_only_where_there_is_no_other() -> None:
    monitored = SERVICE.replace("name: a,", "name: a-metrics,") % "{name: metrics, port: 9090}"
    text = monitored + SERVICE % HTTP + workload(PORT)
    findings = check_text(text, user_facts(mesh=["none"])).findings
    (found,) = [finding for finding in findings if finding.rule == "SL108"]
    assert "Service a may send" in found.message


TWO_PORTS = """\
apiVersion: v1
kind: Service
metadata: {name: orders, namespace: shop}
spec: {selector: {app: a}, ports: [{port: 9080}]}
---
apiVersion: v1
kind: Service
metadata: {name: stock, namespace: shop}
spec: {selector: {app: a}, ports: [{port: 80, targetPort: 9090}]}
---
"""


def test_each_container_has_the_service_that_leads_to_it() -> None:
    more = ", ports: [{containerPort: 9080}]}\n      - {name: b, image: i, ports: [{containerPort: 9090}]"
    found = [f for f in check_text(TWO_PORTS + workload(more)).findings if f.rule == "SL108"]
    assert [(f.container, "Service stock" in f.message) for f in found] == [
        ("a", False),
        ("b", True),
    ]
    assert "Service orders" in found[0].message
    assert found[0].fix is not None
    description = found[0].fix.description
    assert "of 5s on a (" in description
    assert ", set a preStop sleep of 5s on b (" in description


def test_a_hook_that_ends_the_pause_container_ends_every_container() -> None:
    hook = 'lifecycle: {preStop: {exec: {command: [sh, -c, "sleep 2; kill -TERM 1; sleep 5"]}}}'
    text = workload(
        f", command: [/app], {hook}}}\n      - {{name: b, image: i, command: [/b], {hook}"
    )
    shared = text.replace("    spec:\n", "    spec:\n      shareProcessNamespace: true\n")

    def ends(text: str) -> dict[str, float]:
        analysis = plan_pod_text(text).analysis
        assert analysis is not None
        return {
            c.plan.name: c.exit.at.total_seconds()
            for c in analysis.loaded_timeline.containers
            if c.killed
        }

    assert ends(shared) == {"a": 2, "b": 2}
    assert ends(text)["a"] == 30


def test_a_hook_stops_the_named_program_of_another_container() -> None:
    """It reaches it in a shared process namespace only."""
    hook = 'lifecycle: {preStop: {exec: {command: [sh, -c, "sleep 2; pkill server; sleep 9"]}}}'
    own = 'lifecycle: {preStop: {exec: {command: [sleep, "9"]}}}'
    text = SERVICE % HTTP + workload(
        f", command: [/server], ports: [{{containerPort: 80}}], {own}}}\n"
        f"      - {{name: b, image: i, command: [/b], {hook}"
    )
    shared = text.replace("    spec:\n", "    spec:\n      shareProcessNamespace: true\n")
    for given, late in ((shared, ["late"]), (text, [])):
        (found,) = check_text(given, user_facts(mesh=["none"])).verdicts
        assert [loss.kind for loss in found.losses if loss.kind == "late"] == late


def test_what_a_proxy_answers_rests_on_what_is_assumed_of_the_proxy() -> None:
    text = SERVICE % HTTP + workload(PORT)
    plain = text.replace("    metadata: {labels", "    metadata: {%s labels")
    annotated = plain % "annotations: {proxy.istio.io/config: 'concurrency: 2'},"
    for given, assumes in ((annotated, True), (text, False)):
        (found,) = (f for f in check_text(given).findings if f.rule == "SL108")
        assert ("503" in found.message) == assumes
        assert any("suggest injection" in each for each in found.assumptions) == assumes


def test_a_rejected_service_sends_nothing() -> None:
    for ports, rule in (("{port: 80, protocol: HTTP}", False), (HTTP, True)):
        found = check_text(SERVICE % ports + workload(PORT)).findings
        assert any(f.rule == "SL108" and f.severity == "warning" for f in found) is rule


def test_a_workload_without_pods_loses_nothing() -> None:
    for count, lost in (("0", "none"), ("2", "late")):
        text = SERVICE % HTTP + workload(PORT, spec=f"replicas: {count}\n  ")
        assert verdict(text).lost == lost
