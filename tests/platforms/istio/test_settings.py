"""Injection and the merging of settings, from manifests to the plan."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from shutdownlint.platforms.istio import facts
from shutdownlint.shutdown.durations import seconds
from shutdownlint.shutdown.pod_plan import Confidence
from tests.helpers import check_text, dedent, plan_files, plan_pod_text, run, user_facts
from tests.platforms.istio.proxies import Proxy, proxy_in, proxy_of

if TYPE_CHECKING:
    from pathlib import Path


def namespace(labels: str, name: str = "shop") -> str:
    return (
        f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}, labels: {{{labels}}}}}\n---\n"
    )


def pod(labels: str = "", annotations: str = "", extra: str = "", namespace: str = "shop") -> str:
    return (
        dedent(f"""
        apiVersion: v1
        kind: Pod
        metadata:
          name: shop
          namespace: {namespace}
          labels: {{{labels}}}
          annotations: {{{annotations}}}
        spec:
          containers:
            - name: app
              image: shop/app:1
        """)
        + extra
    )


def proxy(text: str, istio: str | None = "1.26", kubernetes: str | None = None) -> Proxy | None:
    return proxy_in(text, user_facts(istio=istio, kubernetes=kubernetes))


ENABLED = namespace("istio-injection: enabled")


# facts/istio.md section 4: the webhook's selectors and what inject.go adds
@pytest.mark.parametrize(
    ("text", "injected"),
    [
        (ENABLED + pod(), True),
        (ENABLED + pod('sidecar.istio.io/inject: "false"'), False),
        (ENABLED + pod(annotations='sidecar.istio.io/inject: "false"'), False),
        (
            ENABLED + pod('sidecar.istio.io/inject: "true"', 'sidecar.istio.io/inject: "false"'),
            True,
        ),
        (ENABLED + pod(extra="  hostNetwork: true\n"), False),
        (ENABLED + pod(annotations="inject.istio.io/templates: grpc-agent"), False),
        (namespace("istio-injection: disabled") + pod('sidecar.istio.io/inject: "true"'), False),
        (namespace("istio-injection: disabled, istio.io/rev: a") + pod(), False),
        (namespace("istio.io/rev: canary") + pod(), True),
        (namespace("") + pod(), False),
        (namespace("") + pod('sidecar.istio.io/inject: "true"'), True),
        (namespace("") + pod("istio.io/rev: canary"), True),
        (namespace("") + pod(annotations='sidecar.istio.io/inject: "true"'), False),
        (namespace("istio.io/dataplane-mode: ambient") + pod(), False),
        (pod('sidecar.istio.io/inject: "true"', namespace="kube-system"), False),
        (pod('sidecar.istio.io/inject: "true"'), True),
        (pod("istio.io/dataplane-mode: ambient", "proxy.istio.io/config: '{}'"), False),
        (pod(), True),  # the Istio version that is set makes the mesh likely
    ],
)
def test_injection_as_the_webhook_decides_it(text: str, injected: bool) -> None:
    assert (proxy(text) is not None) is injected


def test_an_unseen_namespace_lowers_confidence() -> None:
    label = proxy(pod('sidecar.istio.io/inject: "true"'))
    annotation = proxy(pod(annotations="proxy.istio.io/config: '{}'"))
    seen = proxy(ENABLED + pod())
    assert label is not None
    assert annotation is not None
    assert seen is not None
    assert [a.confidence for a in label.assumptions] == [Confidence.MEDIUM]
    assert [a.confidence for a in annotation.assumptions] == [Confidence.LOW]
    assert not seen.assumptions


@pytest.mark.parametrize(
    ("istio", "kubernetes", "annotation", "mode", "sure"),
    [
        ("1.26", None, None, "classic", True),
        ("1.26", "1.33", None, "classic", True),
        ("1.27", "1.33", None, "native", True),
        ("1.27", "1.32", None, "classic", True),
        ("1.28", None, None, "classic", False),
        (None, "1.33", None, "classic", False),
        ("1.26", None, "true", "native", True),
        ("1.23", None, "true", "classic", True),
        ("1.27", "1.33", "false", "classic", True),
        (None, None, "true", "native", True),
    ],
)
def test_classic_or_native(
    istio: str | None, kubernetes: str | None, annotation: str | None, mode: str, sure: bool
) -> None:
    note = f'sidecar.istio.io/nativeSidecar: "{annotation}"' if annotation else ""
    found = proxy(ENABLED + pod(annotations=note), istio, kubernetes)
    assert found is not None
    assert found.mode.value.value == mode
    assert (not found.assumptions) is sure
    assert found.drain_hook is (mode == "native")


def test_native_without_its_drain_hook_before_1_21() -> None:
    operator = """
apiVersion: install.istio.io/v1alpha1
kind: IstioOperator
spec: {tag: 1.20.3, values: {pilot: {env: {ENABLE_NATIVE_SIDECARS: "true"}}}}
---
"""
    found = proxy(operator + ENABLED + pod(), istio=None)
    assert found is not None
    assert (found.mode.value.value, found.drain_hook) == ("native", False)
    assert (
        str(found.mode.origin)
        == "ENABLE_NATIVE_SIDECARS of mesh config (IstioOperator), shop.yaml:3"
    )


MESH = """
apiVersion: v1
kind: ConfigMap
metadata: {name: istio, namespace: istio-system}
data:
  mesh: |
    defaultConfig:
      terminationDrainDuration: 11s
      drainDuration: 22s
      proxyMetadata:
        MINIMUM_DRAIN_DURATION: 6s
        EXIT_ON_ZERO_ACTIVE_CONNECTIONS: "true"
---
"""


def resource(name: str, minimum: str, ns: str = "shop", selector: str = "") -> str:
    return f"""
apiVersion: networking.istio.io/v1beta1
kind: ProxyConfig
metadata: {{name: {name}, namespace: {ns}}}
spec:
  {selector}
  environmentVariables: {{MINIMUM_DRAIN_DURATION: {minimum}}}
---
"""


def test_istios_order_per_key() -> None:
    annotated = pod("app: shop", "proxy.istio.io/config: '{terminationDrainDuration: 12s}'")
    found = proxy(MESH + ENABLED + annotated)
    assert found is not None
    assert found.termination_drain.value == seconds(12)
    assert found.termination_drain.origin.kind == "explicit"
    assert found.drain_duration.value == seconds(22)
    assert str(found.drain_duration.origin) == "mesh config (ConfigMap istio), shop.yaml:8"
    assert found.minimum_drain.value == seconds(6)
    assert found.exit_on_zero.value is True


@pytest.mark.parametrize(
    ("resources", "annotation", "expected"),
    [
        ("", "", 6),
        (resource("root", "7s", "istio-system"), "", 7),
        (resource("root", "7s", "istio-system") + resource("ns", "8s"), "", 8),
        (resource("ns", "8s"), "9s", 9),
        (resource("w", "10s", selector="selector: {matchLabels: {app: shop}}"), "9s", 10),
        (resource("w", "10s", selector="selector: {matchLabels: {app: other}}"), "9s", 9),
        (resource("other", "8s", "elsewhere"), "", 6),
    ],
)
def test_environment_variables_merge_in_istios_order(
    resources: str, annotation: str, expected: int
) -> None:
    value = f"{{proxyMetadata: {{MINIMUM_DRAIN_DURATION: {annotation}}}}}"
    note = f"proxy.istio.io/config: '{value}'" if annotation else ""
    found = proxy(MESH + resources + ENABLED + pod("app: shop", note))
    assert found is not None
    assert found.minimum_drain.value == seconds(expected)


def test_two_meshes_that_contradict_are_not_guessed() -> None:
    other = MESH.replace("11s", "44s").replace("istio-system", "other-system")
    found = proxy(MESH + other + ENABLED + pod())
    assert found is not None
    assert found.termination_drain.origin.kind == "default"
    assert "contradict" in found.assumptions[0].text
    same = proxy(MESH + MESH + ENABLED + pod())
    assert same is not None
    assert same.termination_drain.value == seconds(11)


def test_a_revision_has_its_own_mesh_config() -> None:
    canary = MESH.replace("name: istio,", "name: istio-canary,").replace("11s", "44s")
    found = proxy(MESH + canary + namespace("istio.io/rev: canary") + pod())
    assert found is not None
    assert found.termination_drain.value == seconds(44)


@pytest.mark.parametrize(
    "install",
    [
        (
            "apiVersion: install.istio.io/v1alpha1\nkind: IstioOperator\nspec:\n"
            "  tag: 1.24.2\n  meshConfig: {defaultConfig: {terminationDrainDuration: 35s}}\n---\n"
        ),
        (
            "apiVersion: sailoperator.io/v1\nkind: Istio\nspec:\n  version: v1.24.2\n"
            "  values: {meshConfig: {defaultConfig: {terminationDrainDuration: 35s}}}\n---\n"
        ),
    ],
    ids=["IstioOperator", "Sail"],
)
def test_installations_show_settings_and_version(install: str) -> None:
    found = proxy(install + ENABLED + pod(), istio=None)
    assert found is not None
    assert found.termination_drain.value == seconds(35)
    assert found.version == "1.24.2"
    assert not found.assumptions


INJECTED = """
apiVersion: v1
kind: Pod
metadata:
  name: shop
  annotations:
    sidecar.istio.io/status: '{}'
    proxy.istio.io/config: '{"drainDuration": "33s", "proxyMetadata": {"MINIMUM_DRAIN_DURATION": "1s"}}'
spec:
  containers:
    - name: app
      image: shop/app:1
    - name: istio-proxy
      image: docker.io/istio/proxyv2:1.22.1
      args: [proxy, sidecar]
      env:
        - name: PROXY_CONFIG
          value: |
            {"drainDuration":"23s","terminationDrainDuration":"9s"}
        - name: EXIT_ON_ZERO_ACTIVE_CONNECTIONS
          value: "true"
        - name: MINIMUM_DRAIN_DURATION
          value: 14s
"""


def test_an_injected_proxy_is_taken_as_it_stands() -> None:
    found = proxy(INJECTED, istio=None)
    assert found is not None
    assert (found.mode.value.value, found.version) == ("classic", "1.22.1")
    assert found.termination_drain.value == seconds(9)
    # the agent applies the annotation after PROXY_CONFIG; environment variables stay the container's
    assert found.drain_duration.value == seconds(33)
    assert found.minimum_drain.value == seconds(14)
    assert found.exit_on_zero.value is True
    assert not found.assumptions


@pytest.mark.parametrize(
    ("init", "assumed"),
    [("", True), ("istio-init", False), ("istio-validation", False), ("migrate", True)],
)
def test_a_written_proxy_needs_something_that_leads_requests_to_it(
    init: str, assumed: bool
) -> None:
    text = INJECTED.replace("    sidecar.istio.io/status: '{}'\n", "")
    if init:
        text = text.replace("spec:\n", f"spec:\n  initContainers: [{{name: {init}, image: a}}]\n")
    found = proxy(text, istio=None)
    assert found is not None
    assert any("no init container" in each.text for each in found.assumptions) is assumed


@pytest.mark.parametrize(("version", "advised"), [("1.6.14", False), ("1.22.1", True)])
def test_istio_before_1_7_gets_no_advice_about_a_field_that_it_lacks(
    version: str, advised: bool
) -> None:
    plan = plan_pod_text(INJECTED.replace("1.22.1", version)).plan
    assert plan is not None
    (found,) = plan.proxies
    assert bool(found.knobs) is advised


@pytest.mark.parametrize(("labels", "injected"), [({}, False), ({facts.INJECT: "true"}, True)])
def test_the_label_of_a_pod_decides_also_for_istiod(labels: dict[str, str], injected: bool) -> None:
    written = "".join(f"{key}: '{value}', " for key, value in labels.items())
    text = f"""
apiVersion: v1
kind: Pod
metadata: {{name: istiod, namespace: istio-system, labels: {{{written}app: istiod}}}}
spec: {{containers: [{{name: discovery, image: istio/pilot}}]}}
"""
    assert (proxy(text, istio=None) is not None) is injected


def test_an_injected_native_proxy() -> None:
    text = INJECTED.replace("    - name: istio-proxy", "  initContainers:\n    - name: istio-proxy")
    text += """      restartPolicy: Always
      lifecycle:
        preStop: {exec: {command: [pilot-agent, request, --debug-port=15020, POST, drain]}}
"""
    found = proxy(text, istio=None)
    assert found is not None
    assert (found.mode.value.value, found.drain_hook) == ("native", True)
    without = proxy(text[: text.index("      lifecycle")], istio=None)
    assert without is not None
    assert without.drain_hook is False


def test_a_gateway_is_not_a_sidecar() -> None:
    found = proxy(INJECTED.replace("sidecar]", "router]"), istio=None)
    assert found is not None
    assert found.gateway


def test_container_environment_of_a_pod_to_be_injected() -> None:
    own = """    - name: istio-proxy
      image: auto
      env: [{name: MINIMUM_DRAIN_DURATION, value: 21s}]
"""
    note = "proxy.istio.io/config: '{proxyMetadata: {MINIMUM_DRAIN_DURATION: 9s}}'"
    found = proxy(ENABLED + pod(annotations=note, extra=own))
    assert found is not None
    assert found.minimum_drain.value == seconds(21)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (namespace("istio.io/rev: 1-24-2") + pod(), "1.24.2"),
        (namespace("istio.io/rev: 1-24") + pod(), "1.24"),
        (namespace("istio.io/rev: canary") + pod(), ""),
        (
            MESH.replace("namespace: istio-system", "labels: {helm.sh/chart: istiod-1.25.1}")
            + ENABLED
            + pod(),
            "1.25.1",
        ),
        (
            MESH.replace("namespace: istio-system", "labels: {operator.istio.io/version: 1.20.0}")
            + ENABLED
            + pod(),
            "1.20.0",
        ),
        (
            ENABLED
            + pod()
            + pod(namespace="istio-system")
            .replace("name: app", "name: discovery")
            .replace("shop/app:1", "docker.io/istio/pilot:1.26.2-distroless")
            .replace("apiVersion", "---\napiVersion"),
            "1.26.2",
        ),
    ],
    ids=["revision", "short revision", "other name", "chart label", "operator label", "istiod"],
)
def test_where_the_version_is_read(text: str, version: str) -> None:
    pods = plan_files({"a.yaml": text}).pods
    (found,) = [proxy for pod in pods if (proxy := proxy_of(pod)) is not None]
    assert found.version == version


IDLE_FIELD = "connectionSettings: {httpIdleTimeout: 30s, httpDrainTimeout: 2s}"
IDLE_VARIABLE = "proxyMetadata: {ISTIO_META_IDLE_TIMEOUT: 40s}"


@pytest.mark.parametrize(
    ("config", "istio", "timeout", "drain"),
    [
        (IDLE_FIELD, "1.31", 30, 2),
        (IDLE_FIELD, None, 30, 2),
        # Releases before 1.31 do not know the field.
        (IDLE_FIELD, "1.30", None, 5),
        (IDLE_VARIABLE, "1.30", 40, 5),
        (f"{IDLE_FIELD}, {IDLE_VARIABLE}", "1.31", 30, 2),
        (f"{IDLE_FIELD}, {IDLE_VARIABLE}", "1.30", 40, 5),
        ("drainDuration: 10s", "1.31", None, 5),
        ("proxyMetadata: {ISTIO_META_IDLE_TIMEOUT: soon}", "1.31", None, 5),
    ],
)
def test_when_idle_connections_are_closed(
    config: str, istio: str | None, timeout: float | None, drain: float
) -> None:
    found = proxy(ENABLED + pod(annotations=f"proxy.istio.io/config: '{{{config}}}'"), istio)
    assert found is not None
    written = found.settings.idle_timeout
    assert (None if written is None else written.value) == (
        None if timeout is None else seconds(timeout)
    )
    assert found.settings.connection_drain == seconds(drain)


def test_an_idle_timeout_of_a_wrong_type_rejects_the_pod() -> None:
    config = "connectionSettings: {httpIdleTimeout: 30}"
    text = ENABLED + pod(annotations=f"proxy.istio.io/config: '{{{config}}}'")
    found = check_text(text, user_facts(istio="1.31"))
    (rejected,) = [finding for finding in found.findings if finding.severity == "error"]
    assert "connectionSettings.httpIdleTimeout" in rejected.message


OVERRIDDEN = """
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: istio, namespace: istio-system}
    data:
      mesh: |
        defaultConfig: {terminationDrainDuration: 30s, proxyMetadata: {EXIT_ON_ZERO_ACTIVE_CONNECTIONS: '%s'}}
    ---
    apiVersion: v1
    kind: Pod
    metadata:
      name: shop
      namespace: shop
      labels: {sidecar.istio.io/inject: 'true'}
      annotations: {proxy.istio.io/config: "%s"%s}
    spec: {containers: [{name: app, image: 'shop/app:1'}]}
"""
SWITCH = "proxyMetadata: {EXIT_ON_ZERO_ACTIVE_CONNECTIONS: '%s'}"
NATIVE = ", sidecar.istio.io/nativeSidecar: 'true'"


@pytest.mark.parametrize(
    ("mesh", "own", "more", "keys"),
    [
        ("true", SWITCH % "false", "", ["EXIT_ON_ZERO_ACTIVE_CONNECTIONS"]),
        ("true", SWITCH % "true", "", []),
        ("false", SWITCH % "false", "", []),
        ("true", "terminationDrainDuration: 9s", "", ["terminationDrainDuration"]),
        ("true", "terminationDrainDuration: 40s", "", []),
        ("true", SWITCH % "false", NATIVE, []),
    ],
)
def test_what_ends_a_proxy_before_the_mesh_would(
    mesh: str, own: str, more: str, keys: list[str]
) -> None:
    text = dedent(OVERRIDDEN) % (mesh, own, more)
    findings = check_text(text, user_facts(istio="1.26", kubernetes="1.32")).findings
    found = [f for f in findings if f.rule == "SL254"]
    assert [finding.message.partition(" ")[0] for finding in found] == keys
    assert all("(mesh config (ConfigMap istio), line 6)" in finding.message for finding in found)


def test_overrides_of_a_mesh(tmp_path: Path) -> None:
    proxy_config = dedent("""
        ---
        apiVersion: networking.istio.io/v1beta1
        kind: ProxyConfig
        metadata: {name: all, namespace: %s}
        spec: {environmentVariables: {MINIMUM_DRAIN_DURATION: 9s}}
    """)
    pod = dedent(OVERRIDDEN) % ("true", "terminationDrainDuration: 9s", "")
    pod += proxy_config % "shop"
    (tmp_path / "pod.yaml").write_text(pod)
    code, out, err = run("explain", "--overrides", str(tmp_path), "--mesh=istio=1.26")
    assert code == 0, err
    cells = [
        [cell.strip() for cell in line.split("  ") if cell.strip()] for line in out.split("\n")
    ]
    assert [row[1:3] for row in cells[1:3]] == [
        ["MINIMUM_DRAIN_DURATION", "9s"],
        ["terminationDrainDuration", "9s (ends earlier)"],
    ]
    assert "1 of 1 workload in a mesh replace its drain settings" in out
    # A ProxyConfig of the root namespace is a setting of the mesh itself.
    (tmp_path / "pod.yaml").write_text(
        pod.replace("all, namespace: shop", "all, namespace: istio-system")
    )
    _, out, _ = run("explain", "--overrides", str(tmp_path), "--mesh=istio=1.26", "--format=json")
    (workload,) = json.loads(out)["workloads"]
    assert [each["setting"] for each in workload["overrides"]] == ["terminationDrainDuration"]
    assert workload["overrides"][0]["ends_earlier"] is True
