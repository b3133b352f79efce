from __future__ import annotations

import pytest

from shutdownlint.manifests.decoding import Placeholder, decode
from shutdownlint.manifests.resources import PodSpec
from shutdownlint.manifests.skips import KUSTOMIZE_PATCH
from tests.helpers import check_text, dedent, plan_files

TEMPLATE = """
    metadata:
      labels: {app: shop}
    spec:
      containers:
        - name: app
          image: shop/app:1
"""


def ids(text: str, name: str = "a.yaml") -> list[str]:
    return [str(pod.id) for pod in plan_files({name: text}).pods]


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        ("apps/v1", "Deployment"),
        ("apps/v1", "StatefulSet"),
        ("apps/v1", "DaemonSet"),
        ("apps/v1", "ReplicaSet"),
        ("v1", "ReplicationController"),
        ("batch/v1", "Job"),
        ("argoproj.io/v1alpha1", "Rollout"),
        ("serving.knative.dev/v1", "Service"),
        ("apps.openshift.io/v1", "DeploymentConfig"),
        ("apps.kruise.io/v1alpha1", "CloneSet"),
        ("example.com/v1", "Unheard"),
    ],
)
def test_templates_of_every_kind(version: str, kind: str) -> None:
    text = f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: shop}}\nspec:\n  template:{TEMPLATE}"
    assert ids(text) == [f"{kind} shop"]


def test_deeper_ones() -> None:
    cron = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: c}\nspec:\n  jobTemplate:\n    spec:\n"
    cron += "      template:\n" + dedent(TEMPLATE).replace("\n", "\n        ").join(
        ["        ", ""]
    )
    assert ids(cron) == ["CronJob c"]
    items = [
        "{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {containers: [{name: a, image: i}]}}"
        % n
        for n in ("a", "b")
    ]
    listed = f"apiVersion: v1\nkind: List\nitems: [{', '.join(items)}]\n"
    assert ids(listed) == ["Pod a", "Pod b"]


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n  template:"
        + TEMPLATE,
        (
            "apiVersion: v1\nkind: List\nitems:\n- apiVersion: apiextensions.k8s.io/v1\n"
            "  kind: CustomResourceDefinition\n  spec: {template: {spec: {containers: [{name: a, image: i}]}}}\n"
        ),
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nspec:\n  template:" + TEMPLATE,
        # an operator's patch list, not a pod
        "apiVersion: monitoring.coreos.com/v1\nkind: Prometheus\nspec:\n  containers: [{name: a, image: i}]\n",
        "containers: [{name: a, image: i}]\n",
    ],
    ids=["crd", "crd in a list", "policy", "prometheus", "no object"],
)
def test_what_only_describes_pods(text: str) -> None:
    assert ids(text) == []


def _deployment(extra: str = "", image: str = "image: shop/app:1") -> str:
    return f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: shop}}
spec:
  template:
    spec:
      containers:
        - name: app
          {image}
          lifecycle: {{preStop: {{}}}}
{extra}"""


def test_fragments_get_no_finding() -> None:
    assert [f.rule for f in check_text(_deployment()).findings] == ["SL104"]
    assert not check_text(_deployment(image="env: []")).findings
    # Without a selector the API server would not take it, so the file is what its name says.
    assert not check_text(_deployment(), name="01-assert.yaml").findings
    complete = _deployment().replace("spec:\n  template", "spec:\n  selector: {}\n  template", 1)
    assert check_text(complete, name="01-assert.yaml").findings
    assert check_text(complete, name="shutdown-errors.yaml").findings
    assert not check_text(_deployment(), name="grace-patch.yaml").findings


@pytest.mark.parametrize(
    "entry",
    ["patches: [{path: ../base/odd.yaml}]", "patchesStrategicMerge: [../base/odd.yaml]"],
)
def test_files_named_as_patches_are_fragments(entry: str) -> None:
    files: dict[str, str | bytes] = {
        "app/overlay/kustomization.yaml": f"{entry}\n",
        "app/base/odd.yaml": _deployment(),
    }
    run = plan_files(files)
    assert not run.pods
    assert run.stats.skipped[KUSTOMIZE_PATCH] == 1


def test_a_wrong_type_is_reported_and_the_rest_still_read() -> None:
    spec, rejected = decode(
        PodSpec,
        {
            "terminationGracePeriodSeconds": "30s",
            "containers": [{"name": "a", "env": [{"name": "X", "value": 15}], "command": "run"}],
        },
    )
    assert spec.terminationGracePeriodSeconds is None
    assert spec.containers[0].name == "a"
    assert {r.key_path[-1] for r in rejected} == {
        "terminationGracePeriodSeconds",
        "value",
        "command",
    }


def test_placeholders_are_unknown_not_wrong() -> None:
    spec, rejected = decode(PodSpec, {"terminationGracePeriodSeconds": "${GRACE}"})
    assert isinstance(spec.terminationGracePeriodSeconds, Placeholder)
    assert not rejected
    whole, rejected = decode(PodSpec, {"terminationGracePeriodSeconds": 30.0})
    assert whole.terminationGracePeriodSeconds == 30
    assert not rejected


def test_nulls_are_absent() -> None:
    spec, rejected = decode(
        PodSpec, {"containers": [{"name": "a", "lifecycle": None, "env": None}], "hostPID": None}
    )
    assert spec.containers[0].env == []
    assert not rejected
