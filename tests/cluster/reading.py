"""``check --cluster`` against a real API server: what it asks, and what it finds.

A mesh's ConfigMap, namespaces, Deployments with Services and budgets are created; the findings have
to be those of the dump that kubectl gives of the same objects, and the audit log may have nothing
but get and list of what is not a Secret.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from tests.cluster.api import ApiError
from tests.cluster.binaries import CACHE
from tests.cluster.node import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.node import Node

_AGENT: Final = "shutdownlint/"
_KINDS: Final = "namespaces,configmaps,deployments,services,poddisruptionbudgets,nodes"
_POLICY: Final = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "rules": [{"level": "Metadata"}],
}


def audit_options(folder: Path) -> tuple[str, ...]:
    """Return the options of the API server with which it writes what it is asked."""
    policy = CACHE / "audit.json"
    policy.write_text(json.dumps(_POLICY))
    return (f"--audit-policy-file={policy}", f"--audit-log-path={folder / 'audit.log'}")


def compare(node: Node, count: int) -> int:
    """Create the objects, check them in both ways, and print what was seen; 0 where all agrees."""
    _create(node, count)
    kubeconfig = str(node.folder / "kubeconfig")
    begin = time.monotonic()
    code, found = _check(["--cluster", "test"], {"KUBECONFIG": kubeconfig})
    took = time.monotonic() - begin
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    dump = node.folder / "dump.yaml"
    dump.write_text(node.kubectl("get", _KINDS, "--all-namespaces", "-o", "yaml"))
    _, of_dump = _check([str(dump)], {})
    events = [json.loads(line) for line in (node.folder / "audit.log").read_text().splitlines()]
    own = [event for event in events if str(event.get("userAgent", "")).startswith(_AGENT)]
    own = [event for event in own if event.get("stage") == "ResponseComplete"]
    verbs = Counter(str(event["verb"]) for event in own)
    resources = {str(event.get("objectRef", {}).get("resource")) for event in own}
    sys.stdout.write(
        f"exit {code}; {len(own)} requests {dict(verbs)}, {took:.1f} s, {memory} MB\n"
        f"kinds: {', '.join(sorted(resources))}\n"
        f"findings: {sum(found.values())}, of the dump {sum(of_dump.values())}, "
        f"the same: {found == of_dump}\n"
    )
    stored = _store_reports(node)
    for rule, workload in sorted((found - of_dump) | (of_dump - found)):
        sys.stdout.write(f"different: {rule} {workload}\n")
    fine = set(verbs) <= {"get", "list"} and "secrets" not in resources and found == of_dump
    return int(not fine or not found or not stored)


def _store_reports(node: Node) -> bool:
    """Apply the reports as objects, and the manifest of the CronJob; whether all were taken."""
    folder = CACHE.parent / "crds"
    if not folder.is_dir():
        sys.stdout.write("reports: no CRDs in tests/.cache/crds\n")
        return True
    node.kubectl("apply", "--server-side", f"--filename={folder}")
    node.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
    for name, kinds in (
        ("policyreport", "policyreports.wgpolicyk8s.io,clusterpolicyreports.wgpolicyk8s.io"),
        ("openreport", "reports.openreports.io,clusterreports.openreports.io"),
    ):
        words = ["check", "--isolated", "--notes", "--cluster", "test", "--format", name]
        done = subprocess.run(
            [sys.executable, "-m", "shutdownlint", *words],
            env=os.environ | {"KUBECONFIG": str(node.folder / "kubeconfig")},
            capture_output=True,
            check=False,
        )
        file = node.folder / f"{name}.yaml"
        file.write_bytes(done.stdout)
        node.kubectl("apply", "--server-side", "--validate=strict", f"--filename={file}")
        listed = json.loads(node.kubectl("get", kinds, "--all-namespaces", "-o", "json"))["items"]
        results = sum(len(each["results"]) for each in listed)
        sys.stdout.write(f"{name}: {len(listed)} objects with {results} results are stored\n")
    example = ROOT / "examples/cluster/reports.yaml"
    node.kubectl("apply", "--server-side", "--validate=strict", f"--filename={example}")
    sys.stdout.write("the CronJob's manifest is applied\n")
    return True


def _check(words: list[str], variables: dict[str, str]) -> tuple[int, Counter[tuple[str, str]]]:
    command = [sys.executable, "-m", "shutdownlint", "check", "--isolated", "--format", "json"]
    done = subprocess.run(
        [*command, "--notes", *words],
        env=os.environ | variables,
        capture_output=True,
        check=False,
    )
    sys.stderr.write(done.stderr.decode())
    findings = json.loads(done.stdout)["findings"]
    return done.returncode, Counter(
        (str(each["rule"]), str(each.get("workloads") or each.get("workload")))
        for each in _plain(findings)
    )


def _plain(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the findings without the places, which differ."""
    for finding in findings:
        workloads = finding.get("workloads") or []
        finding["workloads"] = sorted(
            f"{w['kind']}/{w['namespace']}/{w['name']}" for w in workloads
        )
    return findings


def _create(node: Node, count: int) -> None:
    """Create namespaces, a mesh's ConfigMap, Deployments, Services and budgets."""
    create = node.api.create
    mesh = "defaultConfig:\n  terminationDrainDuration: 20s\n"
    for name, labels in (
        ("istio-system", {}),
        ("shop", {"istio-injection": "enabled"}),
        ("plain", {}),
    ):
        body = {"metadata": {"name": name, "labels": labels}}
        create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", **body})
    create(
        "/api/v1/namespaces/istio-system/configmaps",
        {"metadata": {"name": "istio"}, "data": {"mesh": mesh}},
    )
    create("/api/v1/namespaces/shop/secrets", {"metadata": {"name": "hidden"}})
    for number in range(count):
        namespace, name = ("shop", "plain")[number % 2], f"web{number}"
        labels = {"app": name}
        hook = {"preStop": {"exec": {"command": ["sleep", str(number % 40)]}}}
        container: dict[str, Any] = {
            "name": "app",
            "image": "x/y:1",
            "ports": [{"containerPort": 8080}],
        }
        container |= {"lifecycle": hook} if number % 3 else {}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
        spec: dict[str, Any] = {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": template,
        }
        base = f"/namespaces/{namespace}"
        try:
            create(f"/apis/apps/v1{base}/deployments", {"metadata": {"name": name}, "spec": spec})
            create(
                f"/api/v1{base}/services",
                {
                    "metadata": {"name": name},
                    "spec": {"selector": labels, "ports": [{"port": 80, "targetPort": 8080}]},
                },
            )
            if number % 5 == 0:
                budget: dict[str, Any] = {"minAvailable": 2, "selector": {"matchLabels": labels}}
                create(
                    f"/apis/policy/v1{base}/poddisruptionbudgets",
                    {"metadata": {"name": name}, "spec": budget},
                )
        except ApiError as error:
            sys.stderr.write(f"{name}: {error}\n")
