"""Kustomizations applied to the manifests that they name: values, and where each is written."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from shutdownlint import limits
from shutdownlint.manifests.skips import (
    HELM_VALUES,
    KUSTOMIZE_PATCH,
    REMOTE_RESOURCES,
    missing_resource,
    not_applied,
)
from tests.helpers import check_files, plan_files

if TYPE_CHECKING:
    from shutdownlint.engine.finding import Finding
    from shutdownlint.platforms.planned_pod import PlannedPod

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: shop
spec:
  selector: {matchLabels: {app: shop}}
  template:
    metadata:
      labels: {app: shop}
    spec:
      terminationGracePeriodSeconds: 30
      containers:
      - name: log
        image: log:1
      - name: app
        image: shop:1
        lifecycle: {preStop: {exec: {command: [sleep, "10"]}}}
"""
PATCH = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  template:
    spec:
      %s
"""
BASE = {"base/kustomization.yaml": "resources: [shop.yaml]\n", "base/shop.yaml": DEPLOYMENT}
OVERLAY = "resources: [../base]\n"


def plan(overlay: str, **files: str) -> PlannedPod:
    """Return the only pod of the base with an overlay; ``files`` are beside the overlay's."""
    others = {f"over/{name}.yaml": text for name, text in files.items()}
    run = plan_files({**BASE, "over/kustomization.yaml": OVERLAY + overlay, **others})
    assert not run.stats.unreadable, run.stats.unreadable
    (pod,) = run.pods
    return pod


def grace(pod: PlannedPod) -> tuple[float, str]:
    """Return the grace period in seconds, and where it is written."""
    assert pod.plan is not None
    setting = pod.plan.grace
    return setting.value.low.total_seconds(), str(setting.origin.location.region())  # type: ignore[union-attr]


INLINE = "patches:\n- patch: |\n    " + (PATCH % "terminationGracePeriodSeconds: 50").replace(
    "\n", "\n    "
)
JSON_PATCH = """\
patches:
- target: {kind: Deployment, name: sh.*}
  patch: |
    - op: replace
      path: /spec/template/spec/terminationGracePeriodSeconds
      value: 50
"""


@pytest.mark.parametrize(
    ("overlay", "patch", "place"),
    [
        ("patches: [{path: p.yaml}]\n", PATCH % "terminationGracePeriodSeconds: 50", "p.yaml:7:38"),
        (
            "patchesStrategicMerge: [p.yaml]\n",
            PATCH % "terminationGracePeriodSeconds: 50",
            "p.yaml:7:38",
        ),
        (
            "patchesJson6902: [{target: {group: apps, version: v1, kind: Deployment}, path: p.yaml}]\n",
            "- {op: add, path: /spec/template/spec/terminationGracePeriodSeconds, value: 50}\n",
            "p.yaml:1:",
        ),
        (INLINE, "", "kustomization.yaml:10:42"),
        (JSON_PATCH, "", "kustomization.yaml:7:14"),
    ],
)
def test_each_form_of_patch_sets_the_value_and_is_its_place(
    overlay: str, patch: str, place: str
) -> None:
    seconds, where = grace(plan(overlay, p=patch))
    assert seconds == 50
    assert where.startswith(f"over/{place}")


def test_what_no_patch_sets_stays_where_it_is() -> None:
    pod = plan("patches: [{path: p.yaml}]\n", p=PATCH % "restartPolicy: Always")
    assert grace(pod) == (30, "base/shop.yaml:11:38")


def test_null_removes_and_the_default_counts() -> None:
    pod = plan("patches: [{path: p.yaml}]\n", p=PATCH % "terminationGracePeriodSeconds: null")
    assert pod.plan is not None
    assert pod.plan.grace.value.low.total_seconds() == 30
    assert "default" in str(pod.plan.grace.origin)


@pytest.mark.parametrize(
    ("patch", "hook", "names"),
    [
        ("containers: [{name: app, lifecycle: {preStop: null}}]", 0, ["app", "log"]),
        (
            "containers: [{name: app, lifecycle: {preStop: {exec: null, sleep: {seconds: 7}}}}]",
            7,
            ["app", "log"],
        ),
        ("containers: [{name: new, image: i}]", 10, ["new", "log", "app"]),
        ("containers: [{name: log, $patch: delete}]", 10, ["app"]),
        ("containers: [{$patch: replace}, {name: app, image: i}]", 0, ["app"]),
        ("$patch: replace\n      containers: [{name: app, image: i}]", 0, ["app"]),
    ],
)
def test_lists_of_containers_are_merged_by_name(patch: str, hook: int, names: list[str]) -> None:
    pod = plan("patches: [{path: p.yaml}]\n", p=PATCH % patch)
    spec = pod.workload.template.spec
    assert [container.name for container in spec.containers] == names
    assert pod.plan is not None
    assert pod.plan.container("app").hook.duration.value.low.total_seconds() == hook


def test_json_patches_move_the_elements_of_lists() -> None:
    overlay = (
        "patches:\n- target: {kind: Deployment}\n  patch: |\n"
        "    - {op: remove, path: /spec/template/spec/containers/0}\n"
        "    - op: add\n      path: /spec/template/spec/containers/-\n"
        "      value: {name: last, image: i}\n"
        "    - op: add\n      path: /spec/template/spec/containers/0/lifecycle/preStop/exec/command/1\n"
        '      value: "12"\n'
    )
    pod = plan(overlay)
    containers = pod.workload.template.spec.containers
    assert [container.name for container in containers] == ["app", "last"]
    hook = containers[0].lifecycle
    assert hook is not None
    assert hook.preStop is not None
    assert hook.preStop.exec is not None
    assert hook.preStop.exec.command == ["sleep", "12", "10"]
    document = pod.ref.document
    at = (*pod.workload.spec.key_path, "containers")
    assert str(document.ref(*at, 0, "image").region()).startswith("base/shop.yaml:16:")
    assert str(document.ref(*at, 1, "image").region()).startswith("over/kustomization.yaml:8:")


@pytest.mark.parametrize(
    "operation",
    [
        "{op: replace, path: /spec/template/spec/containers/9, value: 1}",
        "{op: remove, path: /spec/template/spec/containers/9}",
        "{op: add, path: /spec/none/below, value: 1}",
        "{op: melt, path: /spec}",
    ],
)
def test_a_patch_that_does_not_apply_is_reported_where_it_is(operation: str) -> None:
    overlay = f"patches:\n- target: {{kind: Deployment}}\n  patch: '[{operation}]'\n"
    result = check_files({**BASE, "over/kustomization.yaml": OVERLAY + overlay})
    assert not result.complete
    (finding,) = [each for each in result.findings if each.rule == "SL001"]
    assert finding.region.file == "over/kustomization.yaml"
    assert "does not apply to Deployment shop" in finding.message


def test_namespaces_names_labels_annotations_replicas_and_images() -> None:
    overlay = (
        "namespace: prod\nnamePrefix: my-\nnameSuffix: -v2\nreplicas: [{name: shop, count: 3}]\n"
        "images: [{name: shop, newName: other/shop, newTag: '2'}]\n"
        "commonAnnotations: {proxy.istio.io/config: '{}'}\n"
        "labels: [{pairs: {team: a}, includeTemplates: true}]\n"
    )
    pod = plan(overlay)
    assert str(pod.id) == "Deployment prod/my-shop-v2"
    assert pod.replicas is not None
    assert pod.replicas.value == 3
    template = pod.workload.template
    assert template.metadata.labels == {"app": "shop", "team": "a"}
    assert template.metadata.annotations == {"proxy.istio.io/config": "{}"}
    assert template.spec.containers[1].image == "other/shop:2"
    where = (pod.workload.annotations / "proxy.istio.io/config").region()
    assert where.file == "over/kustomization.yaml"


def test_components_change_what_is_there_and_come_before_the_overlay() -> None:
    files = {
        **BASE,
        "part/kustomization.yaml": "kind: Component\npatches: [{path: p.yaml}]\n",
        "part/p.yaml": PATCH % "terminationGracePeriodSeconds: 60",
        "over/kustomization.yaml": OVERLAY + "components: [../part]\n",
    }
    (pod,) = plan_files(files).pods
    assert grace(pod) == (60, "part/p.yaml:7:38")
    files["over/kustomization.yaml"] += JSON_PATCH
    (pod,) = plan_files(files).pods
    assert grace(pod)[0] == 50


def test_unquoted_words_are_text_as_kustomize_reads_them() -> None:
    pod = plan("patches: [{path: p.yaml}]\n", p=PATCH % "containers: [{name: y, image: i}]")
    assert not pod.problems
    assert pod.workload.template.spec.containers[0].name == "y"


def overlays(*names: str) -> dict[str, str]:
    """Return the base with an overlay for each name, in a namespace of that name."""
    return {
        **BASE,
        **{f"{name}/kustomization.yaml": f"{OVERLAY}namespace: {name}\n" for name in names},
    }


def errors(files: dict[str, str]) -> list[Finding]:
    return [f for f in check_files(dict(files)).findings if f.severity.value == "error"]


def test_a_base_is_checked_as_its_overlays_deploy_it() -> None:
    short = DEPLOYMENT.replace("Seconds: 30", "Seconds: 5")
    files = {**overlays("dev", "prod", "test"), "base/shop.yaml": short}
    (finding,) = errors(files)
    assert finding.rule == "SL102"
    assert finding.variants == ("dev", "prod", "test")
    assert finding.fix is not None
    assert finding.fix.changes
    files["prod/kustomization.yaml"] += "patches: [{path: p.yaml}]\n"
    files["prod/p.yaml"] = PATCH % "terminationGracePeriodSeconds: 60"
    (finding,) = errors(files)
    assert finding.variants == ("dev", "test")
    files["prod/p.yaml"] = PATCH % "terminationGracePeriodSeconds: 9"
    both = errors(files)
    assert [each.variants for each in both] == [("dev", "test"), ("prod",)]
    assert "prod/p.yaml:7" in both[1].message


def test_nothing_of_one_overlay_decides_another() -> None:
    mesh = (
        "apiVersion: v1\nkind: Namespace\n"
        "metadata: {name: all, labels: {istio-injection: enabled}}\n"
    )
    files = {
        **BASE,
        "dev/kustomization.yaml": f"{OVERLAY}namespace: all\n",
        "prod/kustomization.yaml": f"{OVERLAY}- namespace.yaml\nnamespace: all\n".replace(
            "[../base]", "\n- ../base"
        ),
        "prod/namespace.yaml": mesh,
    }
    run = plan_files(files)
    proxies = {pod.variant: len(pod.plan.proxies) for pod in run.pods if pod.plan is not None}
    assert proxies == {"dev": 0, "prod": 1}


APPLICATION = """
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop}
spec:
  source:
    repoURL: https://charts.example.com
    chart: shop
    helm:
      values: |
        terminationGracePeriodSeconds: 5
        lifecycle: {preStop: {exec: {command: [sleep, "10"]}}}
"""
GATEWAY = """
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge}
spec: {gatewayClassName: istio, listeners: [{name: http, port: 80, protocol: HTTP}]}
"""


def test_pods_of_no_overlay_are_reported_once() -> None:
    # Gateways and values of charts describe pods without being workloads: every world knows them.
    others = {"argo.yaml": APPLICATION, "gateway.yaml": GATEWAY}
    result = check_files({**overlays("dev", "prod", "test"), **others})
    assert sorted(entry.id.kind for entry in result.entries) == [*["Deployment"] * 3, "Gateway"]
    assert result.stats.skipped[HELM_VALUES] == 1
    assert Counter(f.rule for f in result.findings)["SL102"] == 1
    assert Counter(pod.id.kind for pod in plan_files({**overlays("a", "b"), **others}).pods) == {
        "Deployment": 2,
        "Gateway": 1,
    }


def test_pods_of_an_overlay_are_reported_for_each() -> None:
    files = {**overlays("dev", "prod"), "base/gateway.yaml": GATEWAY}
    files["base/kustomization.yaml"] = "resources: [shop.yaml, gateway.yaml]\n"
    kinds = Counter(entry.id.kind for entry in check_files(files).entries)
    assert kinds == {"Deployment": 2, "Gateway": 2}


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("resources: [none.yaml]", missing_resource("a/none.yaml", "a/kustomization.yaml")),
        ("resources: ['https://example.com/a?ref=b']", REMOTE_RESOURCES),
        ("helmCharts: [{name: x}]", REMOTE_RESOURCES),
        ("replacements: [{path: r.yaml}]", not_applied("a/kustomization.yaml", "replacements")),
        (
            "patches: [{target: {name: '(a|b)+'}, patch: '[]'}]",
            not_applied("a/kustomization.yaml", "patches with regular expressions"),
        ),
        ("patches: [{path: ../base/shop.yaml}]", KUSTOMIZE_PATCH),
    ],
)
def test_what_is_not_applied_is_named(entry: str, reason: object) -> None:
    files = {"a/kustomization.yaml": f"{entry}\n", "base/shop.yaml": DEPLOYMENT}
    assert plan_files(files).stats.skipped[reason] == 1  # type: ignore[index]


def test_circles_end() -> None:
    files = {
        "a/kustomization.yaml": "resources: [../b]\n",
        "b/kustomization.yaml": "resources: [../c]\n",
        "c/kustomization.yaml": "resources: [../b]\n",
    }
    result = check_files(files)
    assert [f.rule for f in result.findings] == ["SL001"]
    assert "names itself" in result.findings[0].message


def test_kustomizations_that_double_each_other_end() -> None:
    files = {
        f"k{n}/kustomization.yaml": f"resources: [../k{n + 1}, ../k{n + 1}]\n" for n in range(28)
    }
    files["k28/kustomization.yaml"] = "resources: [shop.yaml]\n"
    files["k28/shop.yaml"] = DEPLOYMENT
    result = check_files(files)
    assert not result.complete
    assert "more than" in result.findings[0].message


def test_a_fix_does_not_change_a_variant_without_the_finding() -> None:
    files = {**overlays("dev", "prod")}
    files["prod/kustomization.yaml"] += "patches: [{path: p.yaml}]\n"
    files["prod/p.yaml"] = (
        PATCH % "containers: [{name: app, lifecycle: {preStop: {exec: {command: [sleep, '30']}}}}]"
    )
    (finding,) = errors(files)
    assert finding.variants == ("prod",)
    assert finding.fix is not None
    assert not finding.fix.changes, "base/shop.yaml is dev's too"
    assert "in prod only: dev has the same file" in finding.fix.description


@pytest.mark.parametrize("name", ["^shop$", "(shop|web)", "sh.+", "s(h|x)op", "shop|web"])
def test_targets_with_simple_expressions(name: str) -> None:
    assert grace(plan(JSON_PATCH.replace("sh.*", f"'{name}'")))[0] == 50
    assert grace(plan(JSON_PATCH.replace("sh.*", "'(x|web)'")))[0] == 30


@pytest.mark.parametrize(
    ("selector", "seconds"),
    [
        ("app in (shop, web)", 50),
        ("app notin (shop)", 30),
        ("app=shop,tier notin (a)", 50),
        ("!app", 30),
        ("app!=web", 50),
    ],
)
def test_targets_by_label(selector: str, seconds: int) -> None:
    labels = "labels: [{pairs: {app: shop}}]\n"
    files = {
        **BASE,
        "base/kustomization.yaml": f"resources: [shop.yaml]\n{labels}",
        "over/kustomization.yaml": OVERLAY
        + JSON_PATCH.replace("name: sh.*", f"labelSelector: '{selector}'"),
    }
    (pod,) = plan_files(files).pods
    assert grace(pod)[0] == seconds


def test_a_namespace_that_is_deployed_gets_the_name_of_the_overlay() -> None:
    namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: dev, labels: {istio-injection: enabled}}\n"
    files = {
        "kustomization.yaml": "namespace: prod\nresources: [namespace.yaml, shop.yaml]\n",
        "namespace.yaml": namespace,
        "shop.yaml": DEPLOYMENT,
    }
    (pod,) = plan_files(files).pods
    assert (pod.id.namespace, pod.workload.namespace) == ("prod", "prod")
    # Its label puts the pods of the new name into the mesh.
    assert pod.plan is not None
    assert [proxy.name for proxy in pod.plan.proxies] == ["istio-proxy"]


@pytest.mark.parametrize("key", ["apiVersion", "namePrefix", "namespace"])
def test_a_kustomization_whose_aliases_explode_is_named(key: str) -> None:
    levels = "".join(f"a{n}: &a{n} [*a{n - 1}{f', *a{n - 1}' * 9}]\n" for n in range(1, 9))
    bomb = f"a0: &a0 x\n{levels}{key}: *a8\n"
    run = check_files({**BASE, "over/kustomization.yaml": f"resources: [../base]\n{bomb}"})
    assert not run.complete
    (problem,) = run.stats.unreadable
    assert (problem.region.file, problem.region.line) == ("over/kustomization.yaml", 1)
    assert "too many values" in problem.reason


def test_too_many_changes_of_one_object_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_OBJECT_CHANGES", 3)
    result = check_files(
        {
            "kustomization.yaml": "resources: [shop.yaml]\ncommonAnnotations: {a: b, c: d, e: f}\n",
            "shop.yaml": DEPLOYMENT,
        }
    )
    (unreadable,) = result.stats.unreadable
    assert unreadable.reason == "more than 3 values of Deployment shop are changed"
    assert unreadable.region.file.endswith("kustomization.yaml")
