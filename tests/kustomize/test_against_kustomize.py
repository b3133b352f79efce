"""The kustomizations that we apply, against those that the real program builds.

Objects are compared as data. Ours keep the names of ConfigMaps and Services as they are written,
and generators are not run; the trees here use neither.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from shutdownlint.kustomize.repository import Repository
from shutdownlint.manifests.discovery import discover
from shutdownlint.manifests.inputs import InputSource
from shutdownlint.manifests.objects import object_places
from shutdownlint.manifests.reader import TransformError
from shutdownlint.yaml_source.composer import compose
from shutdownlint.yaml_source.tree import Tree
from tests.tools import need

if TYPE_CHECKING:
    from pathlib import Path

_Objects = dict[tuple[str, str, str], Any]


def built_by_us(folder: Path, root: str) -> _Objects | None:
    """Build a kustomization with this project; None if a patch does not apply."""
    sources = [InputSource(file) for file in discover([str(folder)])]
    tree = Repository(sources, ()).tree
    layer = tree.folder(str(folder / root))
    assert layer is not None
    found: _Objects = {}
    for member in tree.build(layer).members:
        for document in tree.documents(member.file):
            try:
                changed = member.transform(document)
            except TransformError:
                return None
            for at in object_places(changed) if changed is not None else ():
                assert changed is not None
                add(found, changed.tree.to_python(at))
    return found


def built_by_kustomize(folder: Path, root: str) -> _Objects | None:
    """Build a kustomization with the real program; None if it fails."""
    done = subprocess.run(
        [need("kustomize"), "build", str(folder / root)], capture_output=True, check=False
    )
    if done.returncode:
        return None
    found: _Objects = {}
    for each in compose(done.stdout.decode()):
        add(found, Tree(each).to_python())
    return found


def add(found: _Objects, data: Any) -> None:
    metadata = data["metadata"]
    key = data["kind"], metadata["name"], metadata.get("namespace", "")
    found[key] = without_nothing(data)


def without_nothing(data: Any) -> Any:
    """Return data without null and without empty annotations."""
    if isinstance(data, dict):
        return {
            key: without_nothing(value)
            for key, value in data.items()
            if value is not None and not (key == "annotations" and value == {})
        }
    return [without_nothing(value) for value in data] if isinstance(data, list) else data


def has_twins(data: Any) -> bool:
    """Whether an object has two containers of one name."""
    spec = data.get("spec", {})
    pod = spec.get("template", {}).get("spec", spec)
    names = [each.get("name") for each in pod.get("containers", ())]
    return len(set(names)) < len(names)


BASE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop, annotations: {a: yes, b: 1}}
spec:
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      initContainers:
      - {name: first, image: "first:1"}
      containers:
      - {name: app, image: "shop:1", env: [{name: A, value: "1"}], ports: [{containerPort: 80}]}
      - name: log
        image: log
        lifecycle: {preStop: {exec: {command: [sleep, "5"]}}}
---
apiVersion: v1
kind: Namespace
metadata: {name: own}
---
apiVersion: v1
kind: Pod
metadata: {name: pod, namespace: own}
spec: {containers: [{name: y, image: "i:2"}]}
---
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: shop}
spec: {template: {spec: {containers: [{name: app, image: i}, {name: log, image: l}]}}}
"""
PARTS = (
    "terminationGracePeriodSeconds: 40",
    "terminationGracePeriodSeconds: null",
    "containers: [{name: log, lifecycle: {preStop: {exec: null, sleep: {seconds: 3}}}}]",
    "containers: [{name: new, image: n}, {name: log, image: other}]",
    "containers: [{name: app, ports: [{containerPort: 81}, {containerPort: 80, name: web}]}]",
    "initContainers: [{name: first, restartPolicy: Always}]",
    "initContainers: [{name: second, image: s}]",
    "volumes: [{name: v, emptyDir: {}}]",
)
#: Of custom resources they do nothing useful.
DIRECTIVES = (
    "containers: [{name: app, env: [{name: B, value: b}, {name: A, $patch: delete}]}]",
    "containers: [{name: log, $patch: delete}]",
    "containers: [{name: app, lifecycle: {$patch: replace, postStart: {sleep: {seconds: 1}}}}]",
)
OPERATIONS = (
    "{op: add, path: /spec/template/spec/terminationGracePeriodSeconds, value: 50}",
    "{op: replace, path: /spec/template/spec/containers/0/image, value: r}",
    "{op: remove, path: /spec/template/spec/containers/0}",
    "{op: add, path: /spec/template/spec/containers/0, value: {name: a, image: z}}",
    "{op: add, path: /spec/template/spec/containers/-, value: {name: b, image: z}}",
    "{op: add, path: /spec/template/metadata/annotations, value: {x~y: z}}",
    "{op: copy, from: /spec/template/metadata/labels, path: /spec/template/metadata/annotations}",
    "{op: move, from: /spec/template/metadata/labels, path: /spec/template/metadata/annotations}",
    "{op: remove, path: /spec/none}",
)
TARGETS = (
    "{kind: Deployment}",
    "{kind: Deployment, name: shop}",
    "{name: sh.*}",
    "{kind: Deployment|Rollout}",
    "{group: apps}",
    "{labelSelector: team=a}",
    "{kind: Deployment, namespace: prod}",
)
SETTINGS = (
    "namespace: prod",
    "namePrefix: my-",
    "nameSuffix: -v2",
    "commonAnnotations: {note: text}",
    "labels: [{pairs: {team: a}}]",
    "labels: [{pairs: {team: a}, includeTemplates: true}]",
    "labels: [{pairs: {team: a}, includeSelectors: true}]",
    "replicas: [{name: shop, count: 3}]",
    "images: [{name: shop, newTag: '2'}, {name: log, newName: other, digest: sha256:0}]",
)


def merge(kind: str, part: str) -> str:
    version = "apps/v1" if kind == "Deployment" else "argoproj.io/v1alpha1"
    body = f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: shop}}\n"
    return f"{body}spec:\n  template:\n    spec:\n      {part}\n"


def entry(text: str, target: str | None) -> str:
    chosen = f"  target: {target}\n" if target else ""
    indented = text.replace("\n", "\n      ").rstrip()
    return f"- patch: |-\n      {indented}\n{chosen}"


patches = st.one_of(
    st.builds(
        entry,
        st.builds(merge, st.just("Deployment"), st.sampled_from(DIRECTIVES)),
        st.one_of(st.none(), st.just("{kind: Deployment}")),
    ),
    st.builds(
        entry,
        st.builds(merge, st.sampled_from(("Deployment", "Rollout")), st.sampled_from(PARTS)),
        st.one_of(st.none(), st.sampled_from(TARGETS)),
    ),
    st.builds(
        entry,
        st.lists(st.sampled_from(OPERATIONS), min_size=1, max_size=3).map(
            lambda found: "\n".join(f"- {each}" for each in found)
        ),
        st.sampled_from(TARGETS),
    ),
)
layers = st.tuples(
    st.lists(st.sampled_from(SETTINGS), max_size=4, unique_by=lambda each: each.split(":")[0]),
    st.lists(patches, max_size=3),
)


def text_of(named: str, layer: tuple[list[str], list[str]]) -> str:
    chosen, own = layer
    listed = f"patches:\n{''.join(own)}" if own else ""
    return "\n".join([named, *chosen, listed]) + "\n"


@pytest.mark.slow
@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(base=layers, overlay=layers, component=layers)
def test_the_same_objects_as_kustomize(
    tmp_path_factory: pytest.TempPathFactory,
    base: tuple[list[str], list[str]],
    overlay: tuple[list[str], list[str]],
    component: tuple[list[str], list[str]],
) -> None:
    need("kustomize")
    folder = tmp_path_factory.mktemp("tree")
    files = {
        "base/shop.yaml": BASE,
        "base/kustomization.yaml": text_of("resources: [shop.yaml]", base),
        "part/kustomization.yaml": text_of(
            "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component", component
        ),
        "over/kustomization.yaml": text_of("resources: [../base]\ncomponents: [../part]", overlay),
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    real, ours = built_by_kustomize(folder, "over"), built_by_us(folder, "over")
    # The API server takes no two containers of one name; kustomize makes them one.
    assume(ours is None or not any(has_twins(each) for each in ours.values()))
    if real is not None:  # where it fails we need not: it says so itself when it is used
        assert ours == real
