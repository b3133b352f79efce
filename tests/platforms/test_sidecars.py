"""Consul, Kuma and Dapr: injection, timing, and the traps of their annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from shutdownlint.platforms.traffic import meshes_of
from shutdownlint.shutdown.analysis import ShutdownAnalysis
from shutdownlint.shutdown.durations import seconds
from shutdownlint.shutdown.request import Outcome, Request
from tests.helpers import check_files, check_text, plan_files, plan_pod_text, user_facts

if TYPE_CHECKING:
    from shutdownlint.platforms.planned_pod import PlannedPod

CONSUL = "consul.hashicorp.com/"
GRACE = f"{CONSUL}sidecar-proxy-lifecycle-shutdown-grace-period-seconds"
POD = """
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: shop, namespace: shop%s}
    spec:
      selector: {matchLabels: {app: shop}}
      template:
        metadata: {labels: {app: shop%s}, annotations: {%s}}
        spec:
          terminationGracePeriodSeconds: 60
          containers:
          - {name: app, image: shop/app:1, ports: [{containerPort: 80}], lifecycle: {preStop: {sleep: {seconds: %s}}}}
    """


def pod(annotations: str, labels: str = "", pre_stop: int = 5, owner: str = "") -> str:
    return POD % (owner, labels, annotations, pre_stop)


def outcome(planned: PlannedPod, duration: float, at: float = 0) -> Outcome:
    assert planned.plan is not None
    request = Request(seconds(at), seconds(duration))
    (answer,) = ShutdownAnalysis(planned.plan).predict([request])
    return answer.prediction.outcome


def ends(planned: PlannedPod, name: str) -> float:
    assert planned.plan is not None
    timeline = ShutdownAnalysis(planned.plan).idle_timeline
    return timeline.container(name).exit.at.total_seconds()


@pytest.mark.parametrize(
    ("annotations", "end"),
    [
        (f'{CONSUL}connect-inject: "true"', 30),
        (f'{CONSUL}connect-inject: "true", {GRACE}: "12"', 12),
        (f'{CONSUL}connect-inject: "true", {CONSUL}enable-sidecar-proxy-lifecycle: "false"', 0),
        (f'{CONSUL}connect-inject: "true", {CONSUL}enable-consul-dataplane-as-sidecar: "true"', 35),
    ],
)
def test_consul_serves_for_its_whole_grace_period(annotations: str, end: float) -> None:
    planned = plan_pod_text(pod(annotations))
    assert ends(planned, "consul-dataplane") == end
    assert meshes_of(planned) == ["consul"]
    assert outcome(planned, end - 1 if end > 1 else 1) is (Outcome.OK if end > 1 else Outcome.CUT)
    if end in (12, 30):
        assert outcome(planned, end + 1) is Outcome.CUT


def test_consul_needs_its_annotation_or_the_user() -> None:
    assert meshes_of(plan_pod_text(pod(""))) == []
    assert meshes_of(plan_pod_text(pod(f'{CONSUL}connect-inject: "false"'))) == []
    facts_with_app = user_facts(mesh=["consul"])
    assert meshes_of(plan_pod_text(pod(""), facts_with_app)) == ["consul"]
    none = user_facts(mesh=["none"])
    assert meshes_of(plan_pod_text(pod(f'{CONSUL}connect-inject: "true"'), none)) == []


@pytest.mark.parametrize(
    ("labels", "annotations", "mesh", "end"),
    [
        (", kuma.io/sidecar-injection: enabled", "", (), 30),
        (", kuma.io/sidecar-injection: enabled", "kuma.io/sidecar-drain-time: 12s", (), 12),
        (", kuma.io/sidecar-injection: enabled", "", ("kuma=2.12",), 30),
        (", kuma.io/sidecar-injection: enabled", "", ("kuma=2.14",), 5),
        (", kuma.io/sidecar-injection: disabled", "", (), None),
        ("", "kuma.io/sidecar-injection: enabled", (), None),
    ],
)
def test_kuma_drains_for_its_whole_drain_time(
    labels: str, annotations: str, mesh: tuple[str, ...], end: float | None
) -> None:
    planned = plan_pod_text(pod(annotations, labels), user_facts(mesh=mesh))
    assert meshes_of(planned) == ([] if end is None else ["kuma"])
    if end is not None:
        assert ends(planned, "kuma-sidecar") == end


def test_kumas_namespace_label_counts() -> None:
    namespace = """
        apiVersion: v1
        kind: Namespace
        metadata: {name: shop, labels: {kuma.io/sidecar-injection: enabled}}
        """
    (planned,) = plan_files({"pod.yaml": pod(""), "ns.yaml": namespace}).pods
    assert meshes_of(planned) == ["kuma"]
    assert planned.plan is not None
    (proxy,) = planned.plan.proxies
    assert "Kuma's version is not known" in str(proxy.assumptions[0])


@pytest.mark.parametrize(
    ("annotations", "at", "expected"),
    [
        ("", 0, Outcome.OK),
        ('dapr.io/enabled: "true"', 0, Outcome.CUT),
        ('dapr.io/enabled: "yes"', 0, Outcome.CUT),
        ('dapr.io/enabled: "no"', 0, Outcome.OK),
        ('dapr.io/enabled: "true", dapr.io/block-shutdown-duration: 12s', 4, Outcome.OK),
        ('dapr.io/enabled: "true", dapr.io/block-shutdown-duration: 5s', 4, Outcome.CUT),
        ('dapr.io/enabled: "true", dapr.io/enable-native-sidecar: "true"', 4, Outcome.OK),
    ],
)
def test_requests_need_daprs_apis(annotations: str, at: float, expected: Outcome) -> None:
    planned = plan_pod_text(pod(annotations))
    found = outcome(planned, 3, at)
    assert (found is Outcome.OK) is (expected is Outcome.OK)
    assert planned.plan is not None
    listed = any("need Dapr's sidecar" in a.text for a in planned.plan.assumptions)
    assert listed is (annotations != "" and '"no"' not in annotations)


def findings(text: str, rule: str, p99: str | None = None) -> list[str]:
    result = check_text(text, user_facts(p99))
    return [f"{f.region.line}: {f.message}" for f in result.findings if f.rule == rule]


def test_values_that_are_not_read() -> None:
    (found,) = findings(pod(f'{CONSUL}connect-inject: "true", {GRACE}: 12s'), "SL220")
    assert "is not a whole number of seconds: the default applies" in found
    labels = ", kuma.io/sidecar-injection: enabled"
    (found,) = findings(pod('kuma.io/sidecar-drain-time: "45"', labels), "SL220")
    assert "is not a duration such as 30s" in found
    (found,) = findings(pod("kuma.io/sidecar-injection: enabled"), "SL220")
    assert "is read as a label only" in found
    (found,) = findings(
        pod('dapr.io/enabled: "true", dapr.io/graceful-shutdown-seconds: 30s'), "SL220"
    )
    assert "is not a whole number of seconds" in found


def test_annotations_of_the_workload_itself_are_not_read() -> None:
    owner = ', annotations: {dapr.io/enabled: "true", kuma.io/sidecar-drain-time: 5s}'
    result = check_files({"shop.yaml": pod("", owner=owner)})
    found = [f.message for f in result.findings if f.rule == "SL214"]
    text = "is on the Deployment itself, where it has no effect"
    assert [message.partition(" ")[0] for message in found if text in message] == [
        "dapr.io/enabled",
        "kuma.io/sidecar-drain-time",
    ]


def test_what_the_rules_add_up() -> None:
    text = pod(f'{CONSUL}connect-inject: "true", {GRACE}: "12"', pre_stop=5)
    (found,) = findings(text, "SL202", "10s")
    assert "cuts requests 12s after termination starts (shutdown grace 12s, line 7)" in found
    assert "but needs 5s until the last one begins + 10s for the slowest (--p99) = 15s" in found
    assert findings(text, "SL202", "6s") == []
    (found,) = findings(pod('dapr.io/enabled: "true"', pre_stop=20), "SL201")
    assert "stops 0s after termination starts (block-shutdown-duration 0s, Dapr's default)" in found
    block = 'dapr.io/enabled: "true", dapr.io/block-shutdown-duration: 25s'
    (found,) = findings(pod(block, pre_stop=20), "SL201")
    assert "the app's own calls beyond 5s fail" in found
    assert findings(pod(block, pre_stop=20), "SL201", "4s") == []


@pytest.mark.parametrize(
    ("annotations", "labels", "meshes", "assumed"),
    [
        (f'{CONSUL}connect-inject: "true", {GRACE}: "$(GRACE)"', "", ["consul"], "30s is assumed"),
        (f'{CONSUL}connect-inject: "${{INJECT}}"', "", [], "false is assumed"),
        ("", ", kuma.io/sidecar-injection: $(INJECT)", [], "taken without Kuma's proxy"),
        (
            'kuma.io/sidecar-drain-time: "$(DRAIN)"',
            ", kuma.io/sidecar-injection: enabled",
            ["kuma"],
            "30s is assumed",
        ),
        ('dapr.io/enabled: "$(DAPR)"', "", [], "false is assumed"),
        (
            'dapr.io/enabled: "true", dapr.io/block-shutdown-duration: "$(BLOCK)"',
            "",
            [],
            "0s is assumed",
        ),
    ],
)
def test_a_placeholder_is_an_assumption(
    annotations: str, labels: str, meshes: list[str], assumed: str
) -> None:
    planned = plan_pod_text(pod(annotations, labels))
    assert meshes_of(planned) == meshes
    assert planned.plan is not None
    texts = [a.text for a in planned.plan.assumptions]
    texts += [a.text for container in planned.plan.containers for a in container.assumptions]
    assert any(text.endswith(assumed) and "is a placeholder" in text for text in texts), texts
