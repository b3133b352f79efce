"""What is put away and brought back home by home means what it means in one piece."""

from __future__ import annotations

import errno
import io
import pickle
import re
import tempfile
from typing import TYPE_CHECKING, Any

import pytest

from shutdownlint.linter import linter as run
from shutdownlint.manifests.workloads import ObjectIndex
from shutdownlint.platforms import homes
from tests.helpers import check_files, given, read_files, rules

if TYPE_CHECKING:
    from shutdownlint.platforms.user_facts import UserFacts

EXAMPLES = [
    pytest.param(
        {f"{number:02}.yaml": text for number, text in enumerate(re.split(r"(?m)^---\n", text))},
        given(example.options.p99, example.options.kubernetes, example.options.istio),
        id=f"{rule.id}-{number}-{name}",
    )
    for rule in rules()
    for number, example in enumerate(rule.form.examples, 1)
    for name, text in (("bad", example.bad), ("good", example.good))
]
SHOP = {
    f"{folder}/{name}.yaml": text
    for folder in ("a", "b", "c")
    for name, text in {
        "pod": f"""
            apiVersion: apps/v1
            kind: Deployment
            metadata: {{name: {folder}}}
            spec:
              replicas: 1
              template:
                metadata: {{labels: {{app: shop}}}}
                spec: {{containers: [{{name: app, image: shop:1}}]}}
            """,
        "service": """
            apiVersion: v1
            kind: Service
            metadata: {name: shop}
            spec: {selector: {app: shop}, ports: [{port: 80}]}
            """,
        "budget": """
            apiVersion: policy/v1
            kind: PodDisruptionBudget
            metadata: {name: shop}
            spec: {minAvailable: 1, selector: {matchLabels: {app: shop}}}
            """,
    }.items()
}


@pytest.fixture
def _piecemeal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "_READ_AT_ONCE", 1)
    monkeypatch.setattr(homes, "_AT_ONCE", 1)


@pytest.mark.parametrize(("files", "said"), EXAMPLES)
def test_a_world_in_pieces_is_the_same_world(
    files: dict[str, str], said: UserFacts, request: pytest.FixtureRequest
) -> None:
    whole = check_files(files, said)
    request.getfixturevalue("_piecemeal")
    pieces = check_files(files, said)
    assert [(f.region, f.rule, f.message) for f in pieces.findings] == [
        (f.region, f.rule, f.message) for f in whole.findings
    ]
    assert pieces.workloads == whole.workloads
    assert pieces.scene.remarks == whole.scene.remarks
    assert pieces.scene.reading.skipped == whole.scene.reading.skipped


@pytest.mark.usefixtures("_piecemeal")
def test_neighbours_of_another_folder_are_no_neighbours() -> None:
    told = [f.region.file for f in check_files(SHOP).findings if f.rule == "SL153"]
    assert told == ["a/budget.yaml", "b/budget.yaml", "c/budget.yaml"]
    apart = {name: text for name, text in SHOP.items() if name != "b/budget.yaml"}
    told = [f.region.file for f in check_files(apart).findings if f.rule == "SL153"]
    assert told == ["a/budget.yaml", "c/budget.yaml"]


@pytest.mark.usefixtures("_piecemeal")
@pytest.mark.parametrize("broken", ["no folder", "full from the start", "full later"])
def test_without_room_on_the_disk_memory_has_to_do(
    broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = [(f.region, f.rule, f.message) for f in check_files(SHOP).findings]
    room = {"no folder": None, "full from the start": 0, "full later": 5000}[broken]

    class Disk(io.BytesIO):
        def write(self, data: Any) -> int:
            assert room is not None
            written = super().write(data[: max(room - self.tell(), 0)])
            if not written:
                raise OSError(errno.ENOSPC, "full")
            return written

    def opened(**_: object) -> io.BytesIO:
        if room is None:
            raise FileNotFoundError
        return Disk()

    monkeypatch.setattr(tempfile, "TemporaryFile", opened)
    assert [(f.region, f.rule, f.message) for f in check_files(SHOP).findings] == whole


def test_nodes_do_not_travel_and_texts_travel_small() -> None:
    (pod,) = read_files({"pod.yaml": SHOP["a/pod.yaml"]}).pods
    before = pod.workload.ref
    objects = ObjectIndex(workloads=[pod.workload, pod.workload])
    first, second = pickle.loads(pickle.dumps(objects)).workloads
    assert first is second
    assert first.ref.document._tree is None
    assert first.ref.document.text == before.document.text
    assert first.ref.region() == before.region()
    first.ref.document.release_nodes()
    assert first.ref.document.written._whole is None
    assert first.ref.document.text == before.document.text


ISTIOD = """
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: istiod, namespace: istio-system}
    spec:
      template:
        spec:
          containers:
          - name: discovery
            image: docker.io/istio/pilot:1.26.1
            env: [{name: ENABLE_NATIVE_SIDECARS, value: 'true'}]
    """
MESH = """
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: istio, namespace: istio-system}
    data:
      mesh: |
        defaultConfig: {terminationDrainDuration: 17s}
    """
NAMESPACE = "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {%s: enabled}}}"
MESHED = """
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: app, namespace: shop}
    spec: {template: {spec: {containers: [{name: app, image: shop:1}]}}}
    """


@pytest.mark.usefixtures("_piecemeal")
def test_what_is_said_of_the_mesh_is_said_to_all() -> None:
    files = {"i.yaml": ISTIOD, "m.yaml": MESH, "n.yaml": NAMESPACE % "istio-injection"}
    pods = read_files({**files, "app.yaml": MESHED}).pods
    (proxy,) = [p.plan.proxy for p in pods if p.plan is not None and p.plan.proxy is not None]
    assert (proxy.version, proxy.stops_with_pod) == ("1.26.1", False)
    assert proxy.termination_drain.value.total_seconds() == 17
