"""Generated policies against a real API server: the same verdict as ``check`` on every object.

The examples of the rules, pods with hostile hooks and, where it is there, pods of the public corpus
are created with a dry run. A policy that denies must be a finding of ``check``; a finding that the
policy leaves out must be one that the object alone does not show.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from shutdownlint.engine.loader import load_schema
from shutdownlint.engine.rule_loader import load_all_bundled
from shutdownlint.linter.linter import check
from shutdownlint.linter.options import LintOptions
from shutdownlint.manifests.discovery import InputFile
from shutdownlint.manifests.inputs import Inputs, InputSource
from shutdownlint.policies.conditions import PolicyCondition, conditions_of
from tests.cluster.api import ApiError
from tests.cluster.fields import PATHS
from tests.cluster.node import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.node import Node

CORPUS: Final = Path(os.environ.get("SHUTDOWNLINT_CORPUS", ROOT.parent / "shared" / "corpus"))
#: The mutating policies of the tests' release are behind a gate.
OPTIONS: Final = (
    "--feature-gates=MutatingAdmissionPolicy=true",
    "--runtime-config=admissionregistration.k8s.io/v1beta1=true",
)
_DENIED: Final = re.compile(r"'(sl\d+)\.shutdownlint\.dev'")
_KINDS: Final = ("Pod", "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob")
_HOOKS: Final[tuple[dict[str, Any] | None, ...]] = (
    None,
    {"sleep": {"seconds": 5}},
    {"sleep": {"seconds": 30}},
    {"exec": {"command": ["sleep", "30"]}},
    {"exec": {"command": ["/bin/sleep", "29"]}},
    {"exec": {"command": ["sleep", "31s"]}},
    {"exec": {"command": ["sleep", "0.5"]}},
    {"exec": {"command": ["sleep", "1m"]}},
    {"exec": {"command": ["sh", "-c", "sleep 60"]}},
    {"exec": {"command": ["sleep", "-5"]}},
    {"exec": {"command": ["sleep"]}},
    {"exec": {}},
    {"httpGet": {"port": 80, "host": "localhost"}},
    {"httpGet": {"port": 80}},
    {"tcpSocket": {"port": 80}},
    {"exec": {"command": ["sh", "-c", "curl -X POST localhost:15000/drain_listeners?inboundonly"]}},
)
_GRACES: Final = (None, 0, 1, 30, 60)
_PROBES: Final = (None, 0, 5, 45)
_IMAGES: Final = ("x/y:1", "gcr.io/distroless/java:debug", "gcr.io/distroless/java")


def compare(node: Node) -> int:
    """Install the policies, create objects with a dry run, and print the table; 0 where all agrees."""
    policies = subprocess.run(
        [sys.executable, "-m", "shutdownlint", "policy", "--deny", "note"],
        capture_output=True,
        check=True,
    )
    file = node.folder / "policies.yaml"
    file.write_bytes(policies.stdout)
    node.kubectl("apply", "--server-side", "--validate=strict", f"--filename={file}")
    rules = {c.rule.id for c in conditions_of(load_all_bundled()) if isinstance(c, PolicyCondition)}
    time.sleep(3)  # the server reads new policies every second
    warned = [
        (each["metadata"]["name"], each["status"]["typeChecking"])
        for each in json.loads(node.kubectl("get", "validatingadmissionpolicies", "-o", "json"))[
            "items"
        ]
        if each.get("status", {}).get("typeChecking", {}).get("expressionWarnings")
    ]
    found: Counter[str] = Counter()
    wrong: list[str] = []
    silent: Counter[str] = Counter()
    for data in _objects(rules):
        denied = _ask(node, data)
        reported = _reported(data) & rules
        found["objects"] += 1
        if denied is None:
            found["rejected by the server itself"] += 1
            continue
        found["denied"] += bool(denied)
        found["agree"] += denied == reported
        # The server names the first policy that denies, and perhaps others.
        if denied - reported:
            wrong.append(f"{denied - reported} {json.dumps(data)[:400]}")
        if reported and not denied:
            silent.update(reported)
    sys.stdout.write(f"{dict(found)}; findings that no policy has: {dict(silent)}\n")
    sys.stdout.write(f"type checking warns of: {warned}\n")
    for text in wrong[:20]:
        sys.stdout.write(f"wrong: {text}\n")
    return int(bool(wrong) or not found["denied"] or not _mutates(node))


def _ask(node: Node, data: dict[str, Any]) -> set[str] | None:
    """Return the rules whose policies deny an object; None where the server itself does."""
    try:
        node.api.create(PATHS[data["kind"]], data, "?dryRun=All")
    except ApiError as error:
        return {name.upper() for name in _DENIED.findall(error.message)} or None
    return set()


def _reported(data: dict[str, Any]) -> set[str]:
    text = json.dumps(data).encode()
    inputs = Inputs((InputSource(InputFile(Path("a.json"), "a.json", text)),))
    return {finding.rule for finding in check(inputs, LintOptions()).findings}


def _objects(rules: set[str]) -> Iterator[dict[str, Any]]:
    """Yield the objects to ask about, all in the namespace ``default``."""
    for rule in load_all_bundled():
        if rule.id in rules:
            for example in load_schema(Path(rule.file)).examples:
                yield from _plain(example.bad)
                yield from _plain(example.good or "")
    for hook, grace, probe, image in itertools.product(_HOOKS, _GRACES, _PROBES, _IMAGES):
        container: dict[str, Any] = {"name": "app", "image": image}
        if hook is not None:
            container["lifecycle"] = {"preStop": hook}
        if probe is not None:
            container["livenessProbe"] = {
                "httpGet": {"port": 80},
                "terminationGracePeriodSeconds": probe,
            }
        spec: dict[str, Any] = {"containers": [container]}
        if grace is not None:
            spec["terminationGracePeriodSeconds"] = grace
        yield {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}
    count = 0
    for path in sorted(CORPUS.rglob("*.yaml")) if CORPUS.is_dir() else ():
        for data in _plain(path.read_text(errors="replace")):
            yield data
            count += 1
            if count == 1000:
                return


def _plain(text: str) -> Iterator[dict[str, Any]]:
    try:
        documents = [*yaml.safe_load_all(text)]
    except yaml.YAMLError:
        return
    for data in documents:
        if isinstance(data, dict) and data.get("kind") in _KINDS:
            metadata = data.get("metadata")
            if isinstance(metadata, dict) and data.get("spec"):
                metadata.pop("namespace", None)
                yield json.loads(json.dumps(data, default=str))


def _mutates(node: Node) -> bool:
    """Whether a pod that asks for a delay comes back with one, and then loses nothing late."""
    words = [sys.executable, "-m", "shutdownlint", "policy", "--format"]
    made = subprocess.run([*words, "mutating-admission-policy"], capture_output=True, check=True)
    file = node.folder / "mutating.yaml"
    file.write_bytes(made.stdout)
    node.kubectl("apply", "--server-side", "--validate=strict", f"--filename={file}")
    time.sleep(3)
    pod = {
        "metadata": {"name": "a", "labels": {"shutdownlint.dev/delay": "6", "app": "a"}},
        "spec": {
            "containers": [
                {"name": "app", "image": "x/y:1", "ports": [{"containerPort": 80}]},
                {"name": "other", "image": "x/y:1"},
            ]
        },
    }
    back = node.api.create(PATHS["Pod"], pod, "?dryRun=All")
    first, other = back["spec"]["containers"]
    sys.stdout.write(
        f"mutated: {first.get('lifecycle')}, {back['spec']['terminationGracePeriodSeconds']} s, "
        f"other {other.get('lifecycle')}; check: {sorted(_reported(back))}\n"
    )
    hook = {"preStop": {"sleep": {"seconds": 6}}}
    return (
        first.get("lifecycle") == hook
        and "lifecycle" not in other
        and not (_reported(back) & {"SL108", "SL101", "SL102"})
    )
