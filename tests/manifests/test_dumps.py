"""Objects as ``kubectl get -o yaml`` prints them: one verdict for each workload."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import plan_files, run

if TYPE_CHECKING:
    from shutdownlint.linter.result import PlannedRun

APP = {
    "name": "app",
    "image": "shop:1",
    "lifecycle": {"preStop": {"exec": {"command": ["sleep", "20"]}}},
}
PROXY = {"name": "istio-proxy", "image": "docker.io/istio/proxyv2:1.24.1", "args": ["proxy"]}
TEMPLATE = {
    "metadata": {"labels": {"app": "shop"}},
    "spec": {"terminationGracePeriodSeconds": 30, "containers": [APP]},
}


def made(kind: str, name: str, owner: tuple[str, str] | None = None, **more: Any) -> dict[str, Any]:
    """Return an object of the API server: with an identity, and who made it."""
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": "prod",
        "uid": f"{kind}-{name}",
        "resourceVersion": "1",
        "creationTimestamp": more.pop("created", "2026-11-01T00:00:00Z"),
        "labels": {"app": "shop", **more.pop("labels", {})},
    }
    if owner is not None:
        metadata["ownerReferences"] = [{"kind": owner[0], "name": owner[1], "controller": True}]
    version = {"Pod": "v1", "CronJob": "batch/v1", "Job": "batch/v1"}.get(kind, "apps/v1")
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **more}


def deployment() -> dict[str, Any]:
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "shop"}}, "template": TEMPLATE}
    return made("Deployment", "shop", spec=spec)


def replica_set(name: str, replicas: int) -> dict[str, Any]:
    spec = {**deployment()["spec"], "replicas": replicas}
    return made("ReplicaSet", name, ("Deployment", "shop"), spec=spec)


def pod(name: str, *containers: Any, owner: tuple[str, str] | None = None, **more: Any) -> Any:
    return made(
        "Pod",
        name,
        owner or ("ReplicaSet", "shop-5d4"),
        labels={"pod-template-hash": "5d4"},
        spec={"terminationGracePeriodSeconds": 30, "containers": list(containers)},
        status={"phase": more.pop("phase", "Running")},
        **more,
    )


ALL = [
    deployment(),
    replica_set("shop-old", 0),
    replica_set("shop-5d4", 2),
    pod("shop-5d4-a", APP, PROXY),
    pod("shop-5d4-b", APP, PROXY),
]
NAMESPACE = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "prod", "labels": {"istio-injection": "enabled"}, "resourceVersion": "1"},
}


def plan(*objects: Any, form: str = "list", **others: list[Any]) -> PlannedRun:
    """Return the pods of a dump; ``others`` are further files."""
    files = {"dump": list(objects), **others}
    texts: dict[str, str | bytes] = {}
    for name, items in files.items():
        if form == "list":
            texts[f"{name}.yaml"] = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
        else:
            texts[f"{name}.yaml"] = "\n---\n".join(json.dumps(item) for item in items)
    return plan_files(texts)


def shown(run_: PlannedRun) -> list[str]:
    return [
        f"{pod.id} {' '.join(c.name for c in pod.plan.containers)}" for pod in run_.pods if pod.plan
    ]


@pytest.mark.parametrize("form", ["list", "documents"])
@pytest.mark.parametrize("reverse", [False, True])
def test_one_workload_with_what_runs(form: str, *, reverse: bool) -> None:
    objects = ALL[::-1] if reverse else ALL
    assert shown(plan(*objects, form=form)) == ["Deployment prod/shop app istio-proxy"]


def test_the_rest_of_a_workload_is_one_too() -> None:
    assert shown(plan(*ALL[:3])) == ["Deployment prod/shop app"]
    assert shown(plan(*ALL[2:])) == ["Deployment prod/shop app istio-proxy"]
    assert shown(plan(*ALL[3:])) == ["Deployment prod/shop app istio-proxy"]
    assert shown(plan(*ALL[1:3])) == ["Deployment prod/shop app"]


def test_the_pods_of_other_controllers() -> None:
    owned = [
        pod("db-0", APP, owner=("StatefulSet", "db")),
        pod("db-1", APP, owner=("StatefulSet", "db")),
        pod("log-x", APP, owner=("DaemonSet", "log")),
        made("Job", "night-1", ("CronJob", "night"), spec={"template": TEMPLATE}),
        pod("night-1-x", APP, owner=("Job", "night-1"), phase="Succeeded"),
    ]
    names = sorted(str(each.id) for each in plan(*owned).pods)
    assert names == ["CronJob prod/night", "DaemonSet prod/log", "StatefulSet prod/db"]


def test_a_pod_that_ends_is_no_example() -> None:
    ending = pod("shop-5d4-z", APP, created="2026-11-02T00:00:00Z", phase="Failed")
    assert shown(plan(*ALL, ending)) == ["Deployment prod/shop app istio-proxy"]


def test_nothing_is_added_to_a_pod_that_exists() -> None:
    bare = plan(NAMESPACE, deployment(), replica_set("shop-5d4", 2), pod("shop-5d4-a", APP))
    assert shown(bare) == ["Deployment prod/shop app"]
    assert shown(plan(NAMESPACE, deployment())) == ["Deployment prod/shop app istio-proxy"]


def test_kinds_in_files_of_their_own() -> None:
    found = plan(*ALL[:1], form="list", pods=ALL[1:])
    assert shown(found) == ["Deployment prod/shop app istio-proxy"]


def test_two_clusters_stay_apart() -> None:
    found = plan(*ALL, other=[deployment(), pod("shop-5d4-a", APP)])
    assert sorted(shown(found)) == [
        "Deployment prod/shop app",
        "Deployment prod/shop app istio-proxy",
    ]


@pytest.mark.parametrize(("folder", "together"), [("b", True), ("a", False), ("c", False)])
def test_only_files_of_one_folder_are_of_one_cluster(folder: str, *, together: bool) -> None:
    items = {"b/pods": ALL[1:], f"{folder}/owners": ALL[:1]}
    texts = {
        f"{name}.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": each})
        for name, each in items.items()
    }
    found = shown(plan_files(texts))
    assert (found == ["Deployment prod/shop app istio-proxy"]) is together


def test_a_dump_is_not_edited(tmp_path: Path) -> None:
    short = {**APP, "lifecycle": {"preStop": {"exec": {"command": ["sleep", "30"]}}}}
    items = [deployment(), replica_set("shop-5d4", 1), pod("shop-5d4-a", short)]
    file = tmp_path / "dump.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    before = file.read_text()
    code, out, err = run("check", "--fix", str(file))
    assert code == 1
    assert "SL102" in out
    assert "Deployment prod/shop" in out
    assert "not fixed: the file is rendered from the owner of the pod" in err
    assert file.read_text() == before


def test_pods_of_a_node_are_single() -> None:
    node = ("Node", "cp1")
    found = plan(pod("etcd-cp1", APP, owner=node), pod("scheduler-cp1", APP, owner=node))
    assert sorted(str(each.id) for each in found.pods) == [
        "Pod prod/etcd-cp1",
        "Pod prod/scheduler-cp1",
    ]


def test_a_file_for_each_kind() -> None:
    found = plan(*ALL[3:], deployments=ALL[:1], replicas=ALL[1:3])
    assert shown(found) == ["Deployment prod/shop app istio-proxy"]


def test_pods_of_two_templates_without_their_owner() -> None:
    other = pod("shop-77-a", APP, owner=("ReplicaSet", "shop-77"))
    other["metadata"]["labels"]["pod-template-hash"] = "77"
    assert len(plan(pod("shop-5d4-a", APP, PROXY), other).pods) == 2
