"""Details of reading: counts, places, limits, owners and namespaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml
from msgspec.structs import replace

from shutdownlint import limits
from shutdownlint.linter.linter import check
from shutdownlint.manifests.inputs import Inputs
from shutdownlint.manifests.reader import ReadStats
from shutdownlint.manifests.suppressions import read_comments
from shutdownlint.yaml_source.location import Region
from tests.helpers import (
    check_files,
    check_text,
    lint_options,
    plan_files,
    rule_lines,
    user_facts,
    write_sources,
)
from tests.platforms.istio.proxies import proxy_of

if TYPE_CHECKING:
    from pathlib import Path


DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      containers: [{name: app, image: shop/app:1}]
"""
SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: shop}
spec: {selector: {app: shop}}
"""


def test_a_file_that_cannot_be_read_is_named_at_its_first_character() -> None:
    stats = ReadStats()
    stats.fail("shop.yaml", "no permission")
    assert stats.unreadable[0].region == Region("shop.yaml", 1, 1, 1, 1)


def test_documents_are_counted_once_and_those_with_workloads_are_not_skipped() -> None:
    files = {"a.yaml": f"{SERVICE}---\n{DEPLOYMENT}---\n{SERVICE}", "b.yaml": DEPLOYMENT}
    stats = check_files(files).stats
    assert (stats.files, stats.documents) == (2, 4)
    assert not stats.skipped


@pytest.mark.parametrize(
    "comment",
    [
        "# shutdownlint: ignored",
        "# shutdownlint: ignores",
        "# shutdownlint: x",
        "# shutdownlint: xy",
        "# shutdownlint: ignore[SL101] why",
        "# shutdownlint: ignore[SL101] why?",
    ],
)
def test_an_ignore_is_marked_from_its_sign_to_its_end(comment: str) -> None:
    (found,) = read_comments("a.yaml", f"a: 1\nb: 2 {comment}\n", 11)
    assert found.location is not None
    assert found.location.region() == Region("a.yaml", 12, 6, 12, 6 + len(comment))


def test_the_limit_of_values_counts_each_one_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten values more need a limit that is higher by ten."""
    monkeypatch.setattr(limits, "MAX_EXPANDED_VALUES_PER_CHARACTER", 0)

    def least(text: str) -> int:
        for limit in range(1, 100):
            monkeypatch.setattr(limits, "MAX_EXPANDED_VALUES", limit)
            if plan_files({"a.yaml": text}).pods:
                return limit
        raise AssertionError("no limit is enough")

    more = DEPLOYMENT.replace("  selector", "  extra: [a, b, c, d, e, f, g, h, i]\n  selector")
    assert least(more) == least(DEPLOYMENT) + 10
    monkeypatch.setattr(limits, "MAX_EXPANDED_VALUES", 5)
    stats = plan_files({"a.yaml": more}).stats
    assert len(stats.unreadable) == 1
    assert not stats.skipped


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**300, "1e300"])
def test_a_number_of_more_than_64_bits_is_rejected(number: object) -> None:
    text = DEPLOYMENT.replace("spec:\n", f"spec:\n  minReadySeconds: {number}\n", 1)
    assert "SL003" in [finding.rule for finding in check_text(text).findings]


def test_objects_beside_one_that_only_describes_others_are_read() -> None:
    described = (
        "  - apiVersion: kuttl.dev/v1beta1\n    kind: TestAssert\n    metadata: {name: a}\n"
        "    spec: {template: {spec: {containers: [{name: x, image: x:1}]}}}\n"
    )
    item = "".join(f"    {line}\n" for line in DEPLOYMENT.splitlines())
    text = f"apiVersion: v1\nkind: List\nitems:\n{described}  -\n{item}{described}"
    assert [str(pod.id) for pod in plan_files({"a.yaml": text}).pods] == ["Deployment shop"]


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("spec:\n  selector", "spec:\n  replicas: 1\n  replicas: 2\n  selector", 6),
        ("{app: shop}}\n  template", "{app: shop, app: web}}\n  template", 5),
        ("[{name: app,", "[{name: app, name: other,", 9),
    ],
)
def test_a_key_that_is_written_twice_is_found_at_any_depth(old: str, new: str, line: int) -> None:
    found = rule_lines(check_text(DEPLOYMENT.replace(old, new, 1)).findings)
    assert ("SL004", line) in found


@pytest.mark.parametrize("key", ["metadata", "? [a, b]\n: x\n? [a, c]\n: y\nmetadata"])
def test_keys_that_are_no_text_are_not_taken_for_the_same(key: str) -> None:
    text = DEPLOYMENT.replace("metadata", key, 1)
    assert "SL004" not in [rule for rule, _ in rule_lines(check_text(text).findings)]


@pytest.mark.parametrize(
    "path", ["deploy/shop", "./deploy/shop", "deploy/./shop", "deploy/other/../shop"]
)
def test_the_namespace_of_an_application_is_that_of_its_folder(path: str) -> None:
    application = (
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: shop}\n"
        f"spec: {{destination: {{namespace: prod}}, source: {{path: {path}}}}}\n"
    )
    files = {"apps/shop.yaml": application, "deploy/shop/a.yaml": DEPLOYMENT}
    files["other/b.yaml"] = DEPLOYMENT.replace("shop}", "other}", 1)
    pods = {str(pod.id) for pod in plan_files(files).pods}
    assert pods == {"Deployment prod/shop", "Deployment other"}


def test_the_owner_is_the_one_that_controls() -> None:
    owners = [
        {"kind": "Custom", "name": "x"},
        {"kind": "ReplicaSet", "name": "shop-1", "controller": True},
    ]
    pod: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "shop-1-a",
            "uid": "1",
            "resourceVersion": "1",
            "creationTimestamp": "2026-11-01T00:00:00Z",
            "labels": {"pod-template-hash": "1"},
            "ownerReferences": owners,
        },
        "spec": {"containers": [{"name": "app", "image": "shop/app:1"}]},
    }
    (planned,) = plan_files({"a.yaml": yaml.safe_dump(pod)}).pods
    assert str(planned.id) == "Deployment shop"


def test_nothing_is_injected_into_a_pod_that_exists() -> None:
    namespace = (
        "apiVersion: v1\nkind: Namespace\n"
        "metadata: {name: shop, labels: {istio-injection: enabled}}\n---\n"
    )
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: shop, namespace: shopLIVE}\n"
        "spec: {containers: [{name: app, image: 'shop/app:1'}]}\n"
    )
    live = ", uid: a, resourceVersion: '1', creationTimestamp: '2026-11-01T00:00:00Z'"
    for more, injected in (("", True), (live, False)):
        text = namespace + pod.replace("LIVE", more)
        (planned,) = plan_files({"a.yaml": text}, user_facts(istio="1.26")).pods
        assert (proxy_of(planned) is not None) == injected


def test_a_document_that_says_nothing_is_counted_as_skipped_once() -> None:
    role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: a}\n"
    stats = check_files({"a.yaml": f"{role}---\n{SERVICE}---\n{DEPLOYMENT}"}).stats
    assert sum(stats.skipped.values()) == 1


@pytest.mark.parametrize("indent", [5, 6, 7, 9])
def test_where_a_text_inside_a_text_stops_being_yaml(indent: int) -> None:
    lines = ["drainDuration: 30s", "  bad: [", "x: }"]
    block = "".join(f"{' ' * indent}{line}\n" for line in lines)
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: shop\n  labels:\n"
        '    sidecar.istio.io/inject: "true"\n  annotations:\n    proxy.istio.io/config: |\n'
        f"{block}spec:\n  containers: [{{name: app, image: shop/app:1}}]\n"
    )
    (found,) = [f for f in check_text(text, user_facts(istio="1.26")).findings if f.rule == "SL212"]
    assert found.region.line == 10
    assert found.region.column == indent + len("  bad:")
    assert found.region.end_column == found.region.column + 1


@pytest.mark.parametrize(("files", "checked"), [(0, 1), (1, 1), (2, 3), (3, 4)])
def test_a_pod_is_the_example_of_the_only_owner_that_it_may_have(files: int, checked: int) -> None:
    """Test several files that could hold its Deployment: each is checked, and the pod too."""
    live = "uid: a, resourceVersion: '1', creationTimestamp: '2026-11-01T00:00:00Z'"
    owner = "ownerReferences: [{kind: ReplicaSet, name: shop-1, controller: true}]"
    pod = (
        "apiVersion: v1\nkind: Pod\n"
        f"metadata: {{name: shop-1-a, labels: {{pod-template-hash: '1'}}, {live}, {owner}}}\n"
        "spec: {containers: [{name: app, image: 'shop/app:1'}]}\n"
    )
    texts = {
        f"{number}.yaml": DEPLOYMENT.replace("{name: shop}", f"{{name: shop, {live}}}", 1)
        for number in range(files)
    }
    assert len(plan_files({"pods.yaml": pod, **texts}).pods) == checked


def test_a_place_in_a_block_whose_first_line_is_indented_itself() -> None:
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: shop\n  labels:\n"
        '    sidecar.istio.io/inject: "true"\n  annotations:\n    proxy.istio.io/config: |2\n'
        "           drainDuration: 30\nspec:\n"
        "  containers: [{name: app, image: shop/app:1}]\n"
    )
    (found,) = [f for f in check_text(text, user_facts(istio="1.26")).findings if f.rule == "SL212"]
    assert (found.region.line, found.region.column, found.region.end_column) == (9, 27, 29)


def test_a_list_without_anything_to_read_is_skipped() -> None:
    role = "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a}}"
    text = f"apiVersion: v1\nkind: List\nitems: [{role}]\n"
    stats = check_files({"a.yaml": text}).stats
    assert (stats.documents, sum(stats.skipped.values())) == (1, 1)


def test_documents_that_are_read_for_context_only_are_counted(tmp_path: Path) -> None:
    first, second = write_sources(
        {"a.yaml": DEPLOYMENT, "b.yaml": DEPLOYMENT + "---\n" + SERVICE}, tmp_path
    ).sources
    result = check(Inputs((first, replace(second, context=True))), lint_options())
    assert (result.stats.documents, result.workloads) == (3, 1)
