"""Reports as objects of a cluster: what Policy Reporter and other dashboards show.

Sources: wg-policy-prototypes policy-report (wgpolicyk8s.io/v1alpha2) and openreports.io/v1alpha1:
they have the same fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shutdownlint.engine.finding import Severity
from shutdownlint.linter.fingerprint import fingerprints
from shutdownlint.reports.report import full_message, safe, to_json_documents

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.engine.finding import Finding
    from shutdownlint.reports.output import ReportOutput
    from shutdownlint.reports.report import Report

#: An object of the API server holds 1.5 MiB; so many results stay below it.
_MOST_RESULTS: Final = 1000
_LONGEST_MESSAGE: Final = 1000
_SOURCE: Final = "shutdownlint"
_RESULTS: Final = {Severity.ERROR: "fail", Severity.WARNING: "warn", Severity.NOTE: "warn"}
_SEVERITIES: Final = {Severity.ERROR: "high", Severity.WARNING: "medium", Severity.NOTE: "info"}
_NAMES: Final = ("pass", "fail", "warn", "error", "skip")
_VERSIONS: Final = {
    "Pod": "v1",
    "ReplicationController": "v1",
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "ReplicaSet": "apps/v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
}


def render_policy_reports(report: Report, _output: ReportOutput) -> str:
    """Return PolicyReports, one for each namespace, and a ClusterPolicyReport."""
    return _render(report, "wgpolicyk8s.io/v1alpha2", ("PolicyReport", "ClusterPolicyReport"))


def render_open_reports(report: Report, _output: ReportOutput) -> str:
    """Return Reports of openreports.io, one for each namespace, and a ClusterReport."""
    return _render(report, "openreports.io/v1alpha1", ("Report", "ClusterReport"))


def _render(report: Report, version: str, kinds: tuple[str, str]) -> str:
    by_namespace: dict[str, list[dict[str, Any]]] = {}
    for finding, name in zip(
        report.findings, fingerprints(report.findings, report.lines), strict=True
    ):
        namespace = finding.workload.namespace if finding.workload is not None else None
        result = _result(finding, name)
        by_namespace.setdefault(namespace or "", []).append(result)
    objects = [
        each
        for namespace, results in sorted(by_namespace.items())
        for each in _objects(namespace, results, version, kinds)
    ]
    return to_json_documents(objects)


def _objects(
    namespace: str, results: list[dict[str, Any]], version: str, kinds: tuple[str, str]
) -> Iterator[dict[str, Any]]:
    for begin in range(0, len(results), _MOST_RESULTS):
        part, number = results[begin : begin + _MOST_RESULTS], begin // _MOST_RESULTS
        counts = {name: sum(each["result"] == name for each in part) for name in _NAMES}
        metadata = {"name": f"{_SOURCE}-{number + 1}" if number else _SOURCE}
        if namespace:
            metadata["namespace"] = namespace
        yield {
            "apiVersion": version,
            "kind": kinds[0] if namespace else kinds[1],
            "metadata": {
                **metadata,
                "labels": {"app.kubernetes.io/managed-by": _SOURCE},
            },
            "summary": counts,
            "results": part,
        }


def _result(finding: Finding, name: str) -> dict[str, Any]:
    message = safe(full_message(finding))
    found: dict[str, Any] = {
        "source": _SOURCE,
        "policy": finding.rule,
        "rule": finding.name,
        "category": "shutdown",
        "severity": _SEVERITIES[finding.severity],
        "result": _RESULTS[finding.severity],
        "scored": True,
        "message": message[:_LONGEST_MESSAGE],
        "properties": {
            "place": safe(str(finding.region)),
            "fix": safe(finding.fix.description if finding.fix else "")[:_LONGEST_MESSAGE],
            "fingerprint": name,
        },
    }
    if finding.workload is not None:
        workload = finding.workload
        reference = {
            "apiVersion": _VERSIONS.get(workload.kind),
            "kind": safe(workload.kind),
            "name": safe(workload.name),
            "namespace": safe(workload.namespace) if workload.namespace else None,
        }
        found["resources"] = [{key: value for key, value in reference.items() if value}]
    return found
