"""The growth of a run's time with its input: ``python -m benchmarks.scaling``.

Each line is one way in which objects belong together, or one path of the reading, with 1, 4 and 16
times as much input. The exponent is that of the growth: 1 is in proportion.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shutdownlint.engine.evaluator import ExpressionCache
from shutdownlint.linter.linter import check
from shutdownlint.linter.options import LintOptions
from shutdownlint.linter.read import read
from shutdownlint.manifests.discovery import FileSearch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_Files = dict[str, str]
_NAMESPACE: Final = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "n", "labels": {"istio-injection": "enabled"}},
}
_FACTORS: Final = (1, 4, 16)
_EXPRESSIONS: Final = ExpressionCache()


def _documents(*objects: Any) -> _Files:
    return {"a.yaml": "\n---\n".join(json.dumps(each) for each in objects)}


def _object(version: str, kind: str, name: str, **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "n", **more.pop("metadata", {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **more}


def _deployment(number: int, namespace: str = "n") -> dict[str, Any]:
    labels = {"app": f"a{number}", "tier": "t"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "b"}]}}
    spec = {"replicas": 3, "selector": {"matchLabels": labels}, "template": pod}
    meta = {"namespace": namespace}
    return _object("apps/v1", "Deployment", f"d{number}", metadata=meta, spec=spec)


def _service(number: int, labels: Mapping[str, str]) -> dict[str, Any]:
    return _object("v1", "Service", f"s{number}", spec={"selector": labels})


def _virtual_service(number: int) -> dict[str, Any]:
    route = [{"destination": {"host": f"s{number}"}}]
    spec = {"http": [{"timeout": "90s", "route": route}]}
    return _object("networking.istio.io/v1", "VirtualService", f"v{number}", spec=spec)


def _budget(number: int, labels: Mapping[str, str]) -> dict[str, Any]:
    spec = {"minAvailable": 3, "selector": {"matchLabels": labels}}
    return _object("policy/v1", "PodDisruptionBudget", f"p{number}", spec=spec)


def _scaler(number: int) -> dict[str, Any]:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": f"d{number}"}
    spec = {"minReplicas": 1, "maxReplicas": 3, "scaleTargetRef": target}
    return _object("autoscaling/v2", "HorizontalPodAutoscaler", f"h{number}", spec=spec)


def _proxy_config(number: int) -> dict[str, Any]:
    spec = {"selector": {"matchLabels": {"app": f"a{number}"}}, "environmentVariables": {"A": "b"}}
    return _object("networking.istio.io/v1beta1", "ProxyConfig", f"c{number}", spec=spec)


def _policy(number: int) -> dict[str, Any]:
    patch = {"spec": {"+(terminationGracePeriodSeconds)": 50}}
    rule = {
        "name": "a",
        "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
        "mutate": {"patchStrategicMerge": patch},
    }
    return _object("kyverno.io/v1", "ClusterPolicy", f"k{number}", spec={"rules": [rule]})


def _many(count: int, make: Callable[[int], Any]) -> list[Any]:
    return [make(number) for number in range(count)]


def _pod(count: int, field: str, more: Mapping[str, Any]) -> _Files:
    containers = [{"name": f"c{n}", "image": "i", **more} for n in range(count)]
    spec = {"containers": [{"name": "a", "image": "b"}], field: containers}
    return _documents(_object("v1", "Pod", "p", spec=spec))


def _dump(count: int) -> _Files:
    items: list[Any] = []
    for number in range(count):
        owner = None
        for kind, name in (
            ("Deployment", f"d{number}"),
            ("ReplicaSet", f"d{number}-1"),
            ("Pod", f"d{number}-1-x"),
        ):
            one = _deployment(number)
            if kind == "Pod":
                one = _object("v1", kind, name, spec=one["spec"]["template"]["spec"])
            one["kind"] = kind
            one["metadata"] = {"name": name, "namespace": "n", "resourceVersion": "1"}
            if owner is not None:
                one["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
            owner = {"kind": kind, "name": name}
            items.append(one)
    return {"a.yaml": json.dumps({"apiVersion": "v1", "kind": "List", "items": items})}


def _overlays(count: int) -> _Files:
    files = {
        "base/kustomization.yaml": "resources: [d.yaml]\n",
        "base/d.yaml": json.dumps(_deployment(0)),
    }
    for number in range(count):
        text = f"resources: [../base]\nnamespace: n{number}\n"
        files[f"o{number}/kustomization.yaml"] = text
    return files


def _patches(count: int) -> _Files:
    patches = [
        {"target": {"name": f"d{n}"}, "patch": '[{"op": "add", "path": "/spec/x", "value": 1}]'}
        for n in range(count)
    ]
    return {
        "kustomization.yaml": json.dumps({"resources": ["a.yaml"], "patches": patches}),
        **_documents(*_many(count, _deployment)),
    }


def _applications(count: int) -> _Files:
    files = {}
    for number in range(count):
        files[f"k{number}/kustomization.yaml"] = "resources: [d.yaml]\n"
        files[f"k{number}/d.yaml"] = json.dumps(_deployment(0))
        spec = {"destination": {"namespace": f"n{number}"}, "source": {"path": f"k{number}"}}
        one = _object("argoproj.io/v1alpha1", "Application", f"a{number}", spec=spec)
        files[f"apps/{number}.yaml"] = json.dumps(one)
    return files


def _charts(count: int) -> _Files:
    files = {}
    for number in range(count):
        files[f"c{number}/Chart.yaml"] = "apiVersion: v2\nname: c\nversion: 1.0.0\n"
        files[f"c{number}/templates/pod/a.yaml"] = json.dumps(_deployment(0))
    return files


def _own(number: int) -> dict[str, str]:
    return {"app": f"a{number}"}


def _all(_number: int) -> dict[str, str]:
    return {"tier": "t"}


_HOOK: Final = {"lifecycle": {"preStop": {"exec": {"command": ["sleep", "5"]}}}}
CASES: Final[dict[str, tuple[int, Callable[[int], _Files]]]] = {
    "workloads": (60, lambda n: _documents(*_many(n, _deployment))),
    "Services, one a workload": (
        60,
        lambda n: _documents(*_many(n, _deployment), *_many(n, lambda i: _service(i, _own(i)))),
    ),
    "Services of all workloads": (
        60,
        lambda n: _documents(*_many(n, _deployment), *_many(n, lambda i: _service(i, _all(i)))),
    ),
    "routes, one a workload": (
        40,
        lambda n: _documents(
            *_many(n, _deployment),
            *_many(n, lambda i: _service(i, _own(i))),
            *_many(n, _virtual_service),
        ),
    ),
    "budgets, one a workload": (
        60,
        lambda n: _documents(*_many(n, _deployment), *_many(n, lambda i: _budget(i, _own(i)))),
    ),
    "budgets of all workloads": (
        60,
        lambda n: _documents(*_many(n, _deployment), *_many(n, lambda i: _budget(i, _all(i)))),
    ),
    "budgets and autoscalers": (
        60,
        lambda n: _documents(
            *_many(n, _deployment),
            *_many(n, lambda i: _budget(i, _own(i))),
            *_many(n, _scaler),
        ),
    ),
    "ProxyConfigs": (
        60,
        lambda n: _documents(_NAMESPACE, *_many(n, _deployment), *_many(n, _proxy_config)),
    ),
    "Namespaces": (
        60,
        lambda n: _documents(
            *_many(n, lambda i: {**_NAMESPACE, "metadata": {"name": f"n{i}"}}),
            *_many(n, lambda i: _deployment(i, f"n{i}")),
        ),
    ),
    "policies": (60, lambda n: _documents(*_many(n, _deployment), *_many(n, _policy))),
    "containers of a pod": (25, lambda n: _pod(n, "containers", _HOOK)),
    "native sidecars of a pod": (
        25,
        lambda n: _pod(n, "initContainers", {"restartPolicy": "Always"}),
    ),
    "a dump": (40, _dump),
    "overlays of a base": (20, _overlays),
    "patches of a kustomization": (25, _patches),
    "Applications": (20, _applications),
    "charts": (200, _charts),
    "one long comment": (
        4000,
        lambda n: {"a.yaml": json.dumps(_deployment(0)) + "\n# " + "a b " * n},
    ),
    "blank lines": (10000, lambda n: {"a.yaml": json.dumps(_deployment(0)) + "\n" * n + "# a"}),
    "an open template": (10000, lambda n: {"a.yaml": "apiVersion: v1\nx: [" + "{{ " * n}),
    "a shell script": (
        400,
        lambda n: _pod(
            1,
            "containers",
            {"lifecycle": {"preStop": {"exec": {"command": ["sh", "-c", "sleep 1; " * n]}}}},
        ),
    ),
    "keys of an annotation": (
        500,
        lambda n: _documents(
            {
                **_object("v1", "Pod", "p", spec={"containers": [{"name": "a", "image": "b"}]}),
                "metadata": {
                    "name": "p",
                    "labels": {"sidecar.istio.io/inject": "true"},
                    "annotations": {
                        "proxy.istio.io/config": "".join(f"k{i}: v\n" for i in range(n))
                    },
                },
            }
        ),
    ),
}


def measure(files: _Files) -> float:
    """Return the CPU time of a check of a folder with these files, in seconds."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, text in files.items():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_text(text, encoding="utf-8")
        begin = time.process_time()
        check(read(["."], FileSearch()), LintOptions())
        return time.process_time() - begin


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", choices=CASES, action="append")
    asked = parser.parse_args()
    measure(CASES["workloads"][1](20))  # rules are compiled once
    sys.stdout.write("| input | 1x | 4x | 16x | exponent |\n|---|---|---|---|---|\n")
    for name in asked.case or CASES:
        count, make = CASES[name]
        times = [min(measure(make(count * factor)) for _ in range(2)) for factor in _FACTORS]
        exponent = math.log(times[-1] / times[0]) / math.log(_FACTORS[-1])
        cells = [name, *(f"{each:.3f} s" for each in times), f"{exponent:.2f}"]
        sys.stdout.write(f"| {' | '.join(cells)} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
