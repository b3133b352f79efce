"""A generated corpus of the make-up of real repositories.

By bytes about two fifths custom resource definitions, a tenth ConfigMaps, a third workloads, the
rest small objects; one mesh. Deterministic for a scale.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

#: 1 is about 2.5 MB, a tenth of the real corpus.
SCALES: Final = (1, 10, 100)
_FOLDERS: Final = 20
_SUFFIXES: Final = (".yaml", ".yml", ".json")


def files_of(folder: Path) -> list[Path]:
    """Return the files that a check of the folder reads."""
    return sorted(p for p in folder.rglob("*") if p.suffix in _SUFFIXES and p.is_file())


def write_corpus(folder: Path, scale: int) -> None:
    """Write the corpus of a scale."""
    rng = random.Random(scale)
    for number in range(_FOLDERS * scale):
        here = folder / f"app-{number:04d}"
        here.mkdir(parents=True)
        namespace = f"ns-{number}"
        (here / "namespace.yaml").write_text(_namespace(namespace, mesh=rng.random() < 0.3))
        (here / "crds.yaml").write_text("---\n".join(_crd(rng, i) for i in range(3)))
        (here / "config.yaml").write_text(
            "---\n".join(_config(rng, namespace, i) for i in range(3))
        )
        for part in range(6):
            text = "---\n".join(
                [_workload(rng, namespace, f"w{part}"), _service(namespace, f"w{part}")]
            )
            (here / f"w{part}.yaml").write_text(f"# Source: app/templates/w{part}.yaml\n{text}")
        (here / "rbac.yaml").write_text("---\n".join(_role(namespace, i) for i in range(12)))


def _namespace(name: str, *, mesh: bool) -> str:
    labels = "\n  labels:\n    istio-injection: enabled" if mesh else ""
    return f"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {name}{labels}\n"


def _crd(rng: random.Random, number: int) -> str:
    fields = "".join(
        f"                field{i}:\n                  type: string\n"
        f"                  description: {'some words ' * rng.randint(3, 12)}\n"
        for i in range(90)
    )
    return (
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n"
        f"  name: things{number}.example.com\nspec:\n  group: example.com\n  versions:\n"
        "    - name: v1\n      schema:\n        openAPIV3Schema:\n          properties:\n"
        f"            spec:\n              properties:\n{fields}"
    )


def _config(rng: random.Random, namespace: str, number: int) -> str:
    lines = "".join(f"    line {i}: {rng.random()}\n" for i in range(110))
    return (
        f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c{number}\n  namespace: {namespace}\n"
        f"data:\n  settings.txt: |\n{lines}"
    )


def _workload(rng: random.Random, namespace: str, name: str) -> str:
    hook = rng.choice(["", "", "sleep: {seconds: 10}", 'exec: {command: ["sh", "-c", "sleep 5"]}'])
    hook = f"          lifecycle:\n            preStop:\n              {hook}\n" if hook else ""
    grace = rng.choice(["", "", "      terminationGracePeriodSeconds: 60\n"])
    env = "".join(
        f"            - name: VARIABLE_{i}\n              value: 'value {i}'\n" for i in range(20)
    )
    kind = rng.choice(["Deployment", "Deployment", "Deployment", "StatefulSet", "DaemonSet"])
    return (
        f"apiVersion: apps/v1\nkind: {kind}\nmetadata:\n  name: {name}\n  namespace: {namespace}\n"
        f"spec:\n  selector:\n    matchLabels:\n      app: {name}\n  template:\n    metadata:\n"
        f"      labels:\n        app: {name}\n    spec:\n{grace}      containers:\n"
        f"        - name: {name}\n          image: example.com/{name}:1\n{hook}"
        f"          env:\n{env}"
        "          ports:\n            - name: http\n              containerPort: 8080\n"
    )


def _service(namespace: str, name: str) -> str:
    return (
        f"apiVersion: v1\nkind: Service\nmetadata:\n  name: {name}\n  namespace: {namespace}\n"
        f"spec:\n  selector:\n    app: {name}\n  ports:\n    - port: 80\n      targetPort: http\n"
    )


def _role(namespace: str, number: int) -> str:
    rules = "".join(
        f"  - apiGroups: ['']\n    resources: ['things{i}']\n    verbs: [get, list, watch]\n"
        for i in range(14)
    )
    return (
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n"
        f"  name: r{number}\n  namespace: {namespace}\nrules:\n{rules}"
    )
