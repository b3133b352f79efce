"""A pod of a namespace that no file shows: which objects beside it suggest a mesh."""

from __future__ import annotations

import pytest

from shutdownlint.platforms.planned_pod import PlannedPod
from shutdownlint.platforms.traffic import meshes_of
from tests.helpers import check_files, plan_files, user_facts

POD = """
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: shop%s}
    spec:
      selector: {matchLabels: {app: shop}}
      template:
        metadata: {labels: {app: shop}%s}
        spec:
          containers:
          - {name: app, image: shop/app:1, lifecycle: {preStop: {sleep: {seconds: 10}}}}
    """
NAMESPACE = """
    apiVersion: v1
    kind: Namespace
    metadata: {name: team, %s}
    """
MESH_CONFIG = """
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: %s, namespace: istio-system}
    data: {%s: "defaultConfig: {}"}
    """


def planned(files: dict[str, str], mesh: list[str] | None = None) -> PlannedPod:
    (pod,) = plan_files(files, user_facts(mesh=mesh) if mesh else None).pods
    return pod


@pytest.mark.parametrize(
    ("beside", "mesh"),
    [
        (NAMESPACE % "labels: {istio-injection: enabled}", "istio"),
        (NAMESPACE % "labels: {'istio-injection': 'enabled'}", "istio"),
        (NAMESPACE % "labels: {istio.io/rev: stable}", "istio"),
        (NAMESPACE % "labels: {istio-injection: disabled}", None),
        (NAMESPACE % "annotations: {linkerd.io/inject: enabled}", "linkerd"),
        (NAMESPACE % "annotations: {linkerd.io/inject: disabled}", None),
        (NAMESPACE % "labels: {kuma.io/sidecar-injection: enabled}", "kuma"),
        (NAMESPACE % "labels: {team: shop}", None),
        (MESH_CONFIG % ("istio", "mesh"), "istio"),
        (MESH_CONFIG % ("istio", "other"), None),
        (MESH_CONFIG % ("shop-istio", "mesh"), None),
    ],
)
def test_what_is_beside_a_pod_suggests_its_mesh(beside: str, mesh: str | None) -> None:
    pod = planned({"pod.yaml": POD % ("", ""), "beside.yaml": beside})
    assert meshes_of(pod) == ([mesh] if mesh else [])
    assert pod.plan is not None
    texts = [a.text for proxy in pod.plan.proxies for a in proxy.assumptions]
    assert any("in beside.yaml suggests that the pod is in the mesh" in t for t in texts) is bool(
        mesh
    )
    others = [each.when for each in pod.alternatives]
    assert ("in no mesh" in others) is bool(mesh)


def test_nothing_is_suggested_to_a_pod_of_another_namespace() -> None:
    beside = NAMESPACE % "labels: {istio-injection: enabled}"
    assert meshes_of(planned({"a.yaml": POD % (", namespace: shop", ""), "b.yaml": beside})) == []
    away = {"apps/x/a.yaml": POD % ("", ""), "clusters/y/z/b.yaml": beside}
    assert meshes_of(planned(away)) == []


def test_the_user_knows_better_and_two_meshes_suggest_nothing() -> None:
    istio = NAMESPACE % "labels: {istio-injection: enabled}"
    linkerd = NAMESPACE % "annotations: {linkerd.io/inject: enabled}"
    pod = POD % ("", "")
    assert meshes_of(planned({"a.yaml": pod, "b.yaml": istio}, ["none"])) == []
    assert meshes_of(planned({"a.yaml": pod, "b.yaml": istio}, ["linkerd"])) == ["linkerd"]
    assert meshes_of(planned({"a.yaml": pod, "b.yaml": istio, "c.yaml": linkerd})) == []


@pytest.mark.parametrize(
    ("own", "meshes"),
    [
        (', annotations: {linkerd.io/inject: "enabled"}', ["linkerd"]),
        (', annotations: {linkerd.io/inject: "disabled"}', []),
    ],
)
def test_a_pods_own_annotation_counts_more(own: str, meshes: list[str]) -> None:
    files = {
        "a.yaml": POD % ("", own),
        "b.yaml": NAMESPACE % "annotations: {linkerd.io/inject: enabled}",
    }
    assert meshes_of(planned(files)) == meshes


def test_a_finding_that_rests_on_a_sign_is_no_error() -> None:
    files = {
        "a.yaml": POD % ("", ""),
        "b.yaml": NAMESPACE % "annotations: {linkerd.io/inject: enabled}",
    }
    found = [f for f in check_files(files).findings if f.rule == "SL201"]
    assert [f.severity for f in found] == ["warning"]
    assert any("suggests that the pod is in the mesh" in text for text in found[0].assumptions)
