"""The pods that get Linkerd's proxy, its mode, and its settings."""

from __future__ import annotations

from datetime import timedelta

import pytest

from shutdownlint.platforms.linkerd.control_plane import read_release
from shutdownlint.platforms.linkerd.platform import LinkerdProxyFacts
from shutdownlint.platforms.traffic import MeshProxyFacts
from shutdownlint.platforms.versions import Version, version_text
from shutdownlint.shutdown.analysis import ShutdownAnalysis
from shutdownlint.shutdown.request import Request
from tests.helpers import check_files, check_text, plan_files, plan_pod_text, rule_lines, user_facts

WAIT = "config.alpha.linkerd.io/proxy-wait-before-exit-seconds"
GRACE = "config.linkerd.io/shutdown-grace-period"
NATIVE = "config.linkerd.io/proxy-enable-native-sidecar"
ALPHA = "config.alpha.linkerd.io/proxy-enable-native-sidecar"
BETA = "config.beta.linkerd.io/proxy-enable-native-sidecar"


def pod(
    *annotations: str, sleep: int = 0, grace: int | None = None, namespace: str = "", spec: str = ""
) -> str:
    """Return a Pod with these annotations (``key: value``)."""
    lines = ["apiVersion: v1", "kind: Pod", "metadata:", "  name: shop"]
    if namespace:
        lines.append(f"  namespace: {namespace}")
    if annotations:
        lines += ["  annotations:", *(f"    {annotation}" for annotation in annotations)]
    lines.append("spec:")
    if grace is not None:
        lines.append(f"  terminationGracePeriodSeconds: {grace}")
    if spec:
        lines.append(f"  {spec}")
    lines += ["  containers:", "    - name: app", "      image: shop/app:1"]
    if sleep:
        lines.append(f"      lifecycle: {{preStop: {{sleep: {{seconds: {sleep}}}}}}}")
    return "\n".join(lines) + "\n"


def namespace(*annotations: str) -> str:
    """Return a Namespace with these annotations."""
    lines = ["apiVersion: v1", "kind: Namespace", "metadata:", "  name: shop"]
    if annotations:
        lines += ["  annotations:", *(f"    {annotation}" for annotation in annotations)]
    return "\n".join(lines) + "\n---\n"


INJECTED = "linkerd.io/inject: enabled"


def mode(text: str, version: str | None = None) -> str:
    """Classic, native, or empty where the pod gets no proxy."""
    mesh = [f"linkerd={version}"] if version else []
    planned = plan_pod_text(text, user_facts(mesh=mesh))
    found: MeshProxyFacts | None = planned.container_facts.get("linkerd-proxy", {}).get(
        MeshProxyFacts
    )
    return found.mode.value if found is not None else ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (pod(INJECTED), "classic"),
        (pod("linkerd.io/inject: ingress"), "classic"),
        (pod("linkerd.io/inject: disabled"), ""),
        (pod('linkerd.io/inject: "true"'), ""),
        (namespace(INJECTED) + pod(namespace="shop"), "classic"),
        (namespace("linkerd.io/inject: ingress") + pod(namespace="shop"), "classic"),
        (namespace(INJECTED) + pod("linkerd.io/inject: disabled", namespace="shop"), ""),
        (namespace(INJECTED) + pod("linkerd.io/inject: on-demand", namespace="shop"), ""),
        (namespace("linkerd.io/inject: disabled") + pod(INJECTED, namespace="shop"), "classic"),
        (namespace("linkerd.io/inject: maybe") + pod(INJECTED, namespace="shop"), ""),
        (namespace(GRACE + ": 5s") + pod(namespace="shop"), ""),
        (pod(INJECTED, spec="hostNetwork: true"), ""),
    ],
)
def test_the_injector_takes_pods_as_annotations_say(text: str, expected: str) -> None:
    assert mode(text) == expected


def test_the_user_says_the_mesh_of_namespaces_that_no_file_shows() -> None:
    assert mode(pod(namespace="shop"), "2.18") == "classic"
    assert mode(pod("linkerd.io/inject: disabled", namespace="shop"), "2.18") == ""
    # The file shows the namespace: it decides.
    assert mode(namespace() + pod(namespace="shop"), "2.18") == ""
    planned = plan_pod_text(pod(INJECTED, namespace="shop"), user_facts(mesh=["none"]))
    assert "linkerd-proxy" not in planned.container_facts


@pytest.mark.parametrize(
    ("annotations", "version", "expected"),
    [
        ((), "2.19", "classic"),
        ((), "2.20", "native"),
        ((f'{ALPHA}: "true"',), "2.15", "native"),
        ((f'{BETA}: "true"',), "2.18", "classic"),
        ((f'{BETA}: "true"',), "2.19", "native"),
        ((f'{NATIVE}: "true"',), "2.19", "classic"),
        ((f'{NATIVE}: "true"',), "2.20", "native"),
        ((f'{NATIVE}: "false"',), "2.20", "classic"),
        ((f'{ALPHA}: "false"',), "2.20", "classic"),
        # The stable spelling counts before the beta one, and that before the alpha one.
        ((f'{ALPHA}: "true"', f'{NATIVE}: "false"'), "2.20", "classic"),
        ((f'{ALPHA}: "false"', f'{BETA}: "true"'), "2.19", "native"),
        ((f'{NATIVE}: "yes"',), "2.20", "native"),
    ],
)
def test_the_mode_depends_on_the_version_and_the_spelling(
    annotations: tuple[str, ...], version: str, expected: str
) -> None:
    assert mode(pod(INJECTED, *annotations), version) == expected


def test_the_beta_spelling_is_inherited_from_the_namespace_in_one_release_only() -> None:
    text = namespace(INJECTED, f'{BETA}: "true"') + pod(namespace="shop")
    assert mode(text, "2.19") == "native"
    off = namespace(INJECTED, f'{BETA}: "false"') + pod(namespace="shop")
    assert mode(off, "2.20") == "native"  # by default


def settings(text: str, version: str = "2.18") -> tuple[timedelta, timedelta]:
    planned = plan_pod_text(text, user_facts(mesh=[f"linkerd={version}"]))
    found = planned.container_facts["linkerd-proxy"][LinkerdProxyFacts].settings
    return found.wait.value.low, found.grace.value


def test_settings_come_from_the_pod_then_from_its_namespace() -> None:
    both = namespace(INJECTED, f'{WAIT}: "7"', f"{GRACE}: 40s")
    seconds = timedelta(seconds=1)
    assert settings(pod(INJECTED)) == (0 * seconds, 120 * seconds)
    assert settings(both + pod(namespace="shop")) == (7 * seconds, 40 * seconds)
    own = pod(f'{WAIT}: "3"', f"{GRACE}: 1m30s", namespace="shop")
    assert settings(both + own) == (3 * seconds, 90 * seconds)
    ignored = pod(f'{WAIT}: "3s"', f'{GRACE}: "45"', INJECTED)
    assert settings(ignored) == (0 * seconds, 120 * seconds)


CONTROL_PLANE = """
apiVersion: v1
kind: ConfigMap
metadata: {name: linkerd-config, namespace: linkerd}
data:
  values: |
    linkerdVersion: edge-25.4.4
    proxy:
      nativeSidecar: false
      waitBeforeExitSeconds: 9
      shutdownGracePeriod: 25s
"""
RELEASE = """
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: linkerd, namespace: flux}
spec:
  chart: {spec: {chart: linkerd-control-plane, version: 2025.10.7}}
  values:
    proxy: {nativeSidecar: true}
"""
APPLICATION = """
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: linkerd, namespace: argocd}
spec:
  source:
    chart: linkerd-control-plane
    targetRevision: 2025.4.4
    helm:
      values: |
        proxy:
          waitBeforeExitSeconds: 9
"""


def test_the_control_plane_among_the_files_gives_version_and_defaults() -> None:
    (planned,) = plan_files({"a.yaml": CONTROL_PLANE, "shop.yaml": pod(INJECTED)}).pods
    found = planned.container_facts["linkerd-proxy"][LinkerdProxyFacts]
    assert version_text(found.version) == "2.18"
    assert found.settings.wait.value.low == timedelta(seconds=9)
    assert found.settings.grace.value == timedelta(seconds=25)
    location = found.settings.grace.origin.location
    assert location is not None
    region = location.region()
    assert (region.file, region.line) == ("a.yaml", 10)


def test_installations_give_version_and_defaults() -> None:
    (planned,) = plan_files({"a.yaml": RELEASE, "shop.yaml": pod(INJECTED)}).pods
    found = planned.container_facts["linkerd-proxy"][LinkerdProxyFacts]
    assert (version_text(found.version), found.settings.native) == ("2.19", True)
    (planned,) = plan_files({"a.yaml": APPLICATION, "shop.yaml": pod(INJECTED)}).pods
    found = planned.container_facts["linkerd-proxy"][LinkerdProxyFacts]
    assert (version_text(found.version), found.settings.wait.value.low) == (
        "2.18",
        timedelta(seconds=9),
    )


def test_two_control_planes_that_disagree_say_nothing() -> None:
    other = CONTROL_PLANE.replace("Seconds: 9", "Seconds: 4").replace("25.4.4", "24.11.8")
    files = {"a.yaml": CONTROL_PLANE, "b.yaml": other, "shop.yaml": pod(INJECTED)}
    (planned,) = plan_files(files).pods
    found = planned.container_facts["linkerd-proxy"][LinkerdProxyFacts]
    assert (version_text(found.version), found.settings.wait.value.low) == ("", timedelta(0))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("stable-2.14.1", "2.14.1"),
        ("enterprise-2.17.0", "2.17.0"),
        ("cr.l5d.io/linkerd/proxy:edge-26.5.2", "2.20"),
        ("edge-26.5.1", "2.19"),
        ("edge-23.1.1", None),
        ("v2.366", None),
    ],
)
def test_releases_are_read(text: str, expected: str | None) -> None:
    assert read_release(text) == (Version.parse(expected) if expected else None)


WRITTEN = """
apiVersion: v1
kind: Pod
metadata:
  name: shop
  annotations: {linkerd.io/proxy-version: edge-25.4.4}
spec:
  terminationGracePeriodSeconds: 40
  containers:
    - name: linkerd-proxy
      image: cr.l5d.io/linkerd/proxy:edge-25.4.4
      env:
        - {name: LINKERD2_PROXY_SHUTDOWN_GRACE_PERIOD, value: 8s}
      lifecycle: {preStop: {exec: {command: [/bin/sleep, "6"]}}}
    - name: app
      image: shop/app:1
"""


def test_an_injected_manifest_is_read_as_it_is() -> None:
    planned = plan_pod_text(WRITTEN)
    found = planned.container_facts["linkerd-proxy"][LinkerdProxyFacts]
    assert (version_text(found.version), found.settings.mode.value) == ("2.18", "classic")
    assert settings(WRITTEN) == (timedelta(seconds=6), timedelta(seconds=8))
    assert planned.plan is not None
    proxy = ShutdownAnalysis(planned.plan).loaded_timeline.container("linkerd-proxy")
    assert proxy.gave_up.at == timedelta(seconds=14)


# What the documentation and the known issues say


def outcome(text: str, arrives: float, takes: float, version: str = "2.18") -> str:
    """Return the outcome of a request."""
    planned = plan_pod_text(text, user_facts(mesh=[f"linkerd={version}"]))
    assert planned.plan is not None
    request = Request(timedelta(seconds=arrives), timedelta(seconds=takes))
    (answer,) = ShutdownAnalysis(planned.plan).predict([request])
    return answer.prediction.outcome.value


BAD = pod(INJECTED, f'{GRACE}: "45"', sleep=15, grace=30)
GOOD = pod(INJECTED, f'{WAIT}: "25"', f"{GRACE}: 30s", sleep=20, grace=60)


def test_the_proxy_refuses_at_its_signal_and_finishes_what_it_has() -> None:
    assert outcome(BAD, -1, 10) == "ok"
    assert outcome(BAD, 1, 1) == "refused"
    assert outcome(GOOD, 19, 10) == "ok"
    assert outcome(GOOD, 19, 38) == "cut"


def test_a_native_proxy_stays_until_the_app_is_gone() -> None:
    assert outcome(BAD, 14, 10, "2.20") == "ok"


def test_the_documented_pods_are_judged() -> None:
    mesh = user_facts(mesh=["linkerd=2.18"])
    assert rule_lines(check_text(BAD, mesh).findings) == [("SL201", 5), ("SL407", 7)]
    assert rule_lines(check_text(GOOD, mesh).findings) == []


@pytest.mark.parametrize("version", ["2.18", "2.20"])
def test_the_default_grace_period_of_the_proxy_is_no_finding(version: str) -> None:
    mesh = user_facts(mesh=[f"linkerd={version}"])
    assert rule_lines(check_text(pod(INJECTED), mesh).findings) == []


def test_an_upgrade_makes_the_wait_ineffective() -> None:
    text = pod(INJECTED, f'{WAIT}: "25"', sleep=20, grace=60)
    for version, expected in (("2.19", []), ("2.20", [("SL405", 7)])):
        mesh = user_facts(mesh=[f"linkerd={version}"])
        assert rule_lines(check_text(text, mesh).findings) == expected


def test_a_refused_pod_is_taken_without_its_proxy() -> None:
    text = pod(INJECTED, f'{ALPHA}: "true"', f'{WAIT}: "5"')
    mesh = user_facts(mesh=["linkerd=2.18"])
    assert rule_lines(check_text(text, mesh).findings) == [("SL404", 8)]
    assert "linkerd-proxy" not in plan_pod_text(text, mesh).container_facts


def test_a_wait_for_the_whole_mesh_is_reported_where_it_is_written() -> None:
    config = CONTROL_PLANE.replace("Sidecar: false", "Sidecar: true")
    result = check_files({"a.yaml": config, "shop.yaml": pod(INJECTED)})
    (finding,) = [f for f in result.findings if f.severity != "note"]
    assert (finding.rule, finding.region.file, finding.region.line) == ("SL404", "a.yaml", 9)


DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: shop
  annotations:
    config.alpha.linkerd.io/proxy-wait-before-exit-seconds: "25"
spec:
  selector: {matchLabels: {app: shop}}
  template:
    metadata:
      labels: {app: shop}
      annotations: {linkerd.io/inject: enabled}
    spec:
      containers:
        - name: app
          image: shop/app:1
          lifecycle: {preStop: {sleep: {seconds: 15}}}
"""


def test_annotations_on_the_workload_itself_have_no_effect() -> None:
    mesh = user_facts(mesh=["linkerd=2.18"])
    assert rule_lines(check_text(DEPLOYMENT, mesh).findings) == [("SL214", 6), ("SL201", 12)]


@pytest.mark.parametrize("name", ["istio", "istio=1.26"])
def test_the_user_says_that_pods_are_in_istio(name: str) -> None:
    planned = plan_pod_text(pod(namespace="shop"), user_facts(mesh=[name]))
    assert "istio-proxy" in planned.container_facts
    inside = plan_pod_text(namespace() + pod(namespace="shop"), user_facts(mesh=[name]))
    assert "istio-proxy" not in inside.container_facts


def test_no_rule_of_another_mesh_speaks() -> None:
    for text in (BAD, GOOD, WRITTEN, DEPLOYMENT):
        findings = check_text(text, user_facts(mesh=["linkerd=2.18"], p99="10s")).findings
        for finding in findings:
            texts = f"{finding.message} {finding.fix.description if finding.fix else ''}"
            assert "istio" not in texts.lower(), texts
