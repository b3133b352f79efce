"""One text again and again, in every place that text of a repository gets to.

``python -m tests.fuzz.pumps --bytes 100000`` prints what takes longest. An expression or a loop that
looks at the rest of a text for each of its parts shows here.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import TYPE_CHECKING, Final

from shutdownlint.engine.evaluator import ExpressionCache
from shutdownlint.linter.linter import check
from shutdownlint.linter.options import LintOptions
from shutdownlint.manifests.discovery import InputFile
from shutdownlint.manifests.inputs import Inputs, InputSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: The CPU time that a megabyte may take, in seconds: of any single input up to 2 MB it is 3 s.
MOST_SECONDS: Final = 1.5
_EXPRESSIONS: Final = ExpressionCache()
#: A Deployment, a Service and a ConfigMap with places for text.
_PLACES: Final = {
    "label": "a",
    "key": "proxy.istio.io/config",
    "annotation": "a",
    "grace": 30,
    "name": "a",
    "image": "a",
    "command": ["a"],
    "args": ["a"],
    "variable": "A",
    "value": "a",
    "mount": "/a",
    "hook": ["sleep", "5"],
    "service": "a",
    "setting": "a",
    "file": "a",
    "data": "a",
}


def manifests(**changed: object) -> str:
    """Return the manifests, with other text in some places."""
    at = {**_PLACES, **changed}
    container = {
        "name": at["name"],
        "image": at["image"],
        "command": at["command"],
        "args": at["args"],
        "env": [{"name": at["variable"], "value": at["value"]}],
        "volumeMounts": [{"name": "v", "mountPath": at["mount"]}],
        "lifecycle": {"preStop": {"exec": {"command": at["hook"]}}},
    }
    pod = {
        "metadata": {
            "labels": {"app": "a", "sidecar.istio.io/inject": "true", "helm.sh/chart": at["label"]},
            "annotations": {str(at["key"]): at["annotation"]},
        },
        "spec": {
            "terminationGracePeriodSeconds": at["grace"],
            "volumes": [{"name": "v", "configMap": {"name": "c"}}],
            "containers": [container],
        },
    }
    objects: tuple[tuple[str, str, dict[str, object], dict[str, object]], ...] = (
        ("apps/v1", "Deployment", {}, {"spec": {"template": pod}}),
        (
            "v1",
            "Service",
            {"annotations": {str(at["service"]): at["setting"]}},
            {"spec": {"type": "LoadBalancer", "selector": {"app": "a"}}},
        ),
        ("v1", "ConfigMap", {}, {"data": {str(at["file"]): at["data"]}}),
    )
    return "\n---\n".join(
        json.dumps(
            {
                "apiVersion": version,
                "kind": kind,
                "metadata": {"name": "c", "namespace": "n", **metadata},
                **more,
            }
        )
        for version, kind, metadata, more in objects
    )


def _argo(source: dict[str, object]) -> str:
    return json.dumps(
        {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "Application",
            "metadata": {"name": "a"},
            "spec": {"source": source},
        }
    )


def _kustomization(text: str) -> str:
    target = {"name": text, "labelSelector": text}
    return json.dumps(
        {
            "resources": ["a.yaml", text],
            "namePrefix": text,
            "images": [{"name": text, "newTag": text}],
            "patches": [{"target": target, "patch": text}, {"patch": text}],
        }
    )


PLACES: Final[dict[str, Callable[[str], str]]] = {
    "file": lambda text: text,
    "end of a file": lambda text: manifests() + "\n" + text,
    "comment": lambda text: manifests() + "\n# " + text,
    "suppression": lambda text: manifests() + "\n# shutdownlint: ignore[" + text.replace("\n", " "),
    "template": lambda text: "apiVersion: v1\nx: {{ y }}: [" + text,
    "label": lambda text: manifests(label=text),
    "Istio": lambda text: manifests(annotation=text),
    "Linkerd": lambda text: manifests(
        key="config.linkerd.io/proxy-wait-before-exit-seconds", annotation=text
    ),
    "Dapr": lambda text: manifests(key="dapr.io/block-shutdown-duration", annotation=text),
    "grace": lambda text: manifests(grace=text),
    "name": lambda text: manifests(name=text),
    "image": lambda text: manifests(image=text),
    "command": lambda text: manifests(command=[text]),
    "script": lambda text: manifests(command=["sh", "-c", text]),
    "arguments": lambda text: manifests(command=["gunicorn"], args=["--graceful-timeout", text]),
    "java": lambda text: manifests(command=["java"], args=[text]),
    "variable": lambda text: manifests(variable="JAVA_TOOL_OPTIONS", value=text),
    "limit": lambda text: manifests(
        variable="SPRING_LIFECYCLE_TIMEOUT_PER_SHUTDOWN_PHASE", value=text
    ),
    "json": lambda text: manifests(variable="SPRING_APPLICATION_JSON", value=text),
    "mount": lambda text: manifests(mount=f"/{text}"),
    "hook": lambda text: manifests(hook=["sh", "-c", text]),
    "sleep": lambda text: manifests(hook=["sleep", text]),
    "curl": lambda text: manifests(hook=["curl", text]),
    "load balancer": lambda text: manifests(
        service="service.beta.kubernetes.io/aws-load-balancer-target-group-attributes",
        setting=text,
    ),
    "properties": lambda text: manifests(file="application.properties", data=text),
    "configuration": lambda text: manifests(file="application.yml", data=text),
    "kustomization": _kustomization,
    "folder": lambda text: _argo({"path": text, "helm": {"values": text, "valueFiles": [text]}}),
    "kind": lambda text: json.dumps({"apiVersion": "v1", "kind": text}),
    "version": lambda text: json.dumps({"apiVersion": text, "kind": "Pod"}),
}
TEXTS: Final = (
    *(" ", "\n", "\t", "\r", "\r\n", "\n ", " \n", "a", "0", "9", "-", ".", "/", "\\", "'", '"'),
    *("a b ", "a\n", "x: y\n", "- ", "? ", ": ", ",", "a=b,", "x=", "#", "# ", "{", "[", "(", "(a"),
    *("{{", "{{ ", "}}", "{{ if ", "$", "$(", "${a", "$((", "`", "&&", ";", "|", "||", "&", "<<"),
    *("---\n", "kind: Pod\n", "apiVersion: v1\n", "1s", "1h1m", "0.0", "1_", "0x", "sleep 1;"),
    *("while :; do ", "if a; then ", "exec ", "(a+)+", "&a *a ", "!!a ", "*", "@", "é", "\u2028"),
)


def measure(place: str, text: str, size: int) -> float:
    """Return the CPU time of a check with so many bytes of a text in a place, in seconds."""
    pumped = PLACES[place](text * (size // len(text.encode())))
    name = "kustomization.yaml" if place == "kustomization" else "b.yaml"
    inputs = Inputs(
        tuple(
            InputSource(InputFile(None, file, data.encode("utf-8", "surrogatepass")))
            for file, data in (("a.yaml", manifests()), (name, pumped))
        )
    )
    begin = time.process_time()
    check(inputs, LintOptions())
    return time.process_time() - begin


def slow(size: int) -> Iterator[tuple[float, str, str]]:
    """Yield what takes longer than it may, with the time for so many bytes."""
    most = max(MOST_SECONDS * size / 1_000_000, 0.15)
    for place in PLACES:
        for text in TEXTS:
            seconds = measure(place, text, size)
            if seconds > most:
                yield seconds, place, text


def main() -> None:
    """Print what is slow."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bytes", type=int, default=100_000)
    asked = parser.parse_args()
    found = 0
    for seconds, place, text in slow(asked.bytes):
        found += 1
        sys.stdout.write(f"{seconds:.2f} s: {place} {text!r}\n")
        sys.stdout.flush()
    count = len(PLACES) * len(TEXTS)
    sys.stdout.write(f"{count:,} inputs of {asked.bytes:,} bytes, {found} slow\n")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
