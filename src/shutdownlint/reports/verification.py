"""Common parts of the scripts that test a pod: selector, port, what to watch, what is lost."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from shutdownlint.manifests.names import is_label, is_name
from shutdownlint.platforms.registry import all_platforms
from shutdownlint.platforms.traffic import ServiceFacts
from shutdownlint.reports.explanation import Explanation
from shutdownlint.reports.texts import format_failure
from shutdownlint.shutdown.durations import ZERO, format_duration, seconds

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import timedelta

    from shutdownlint.platforms.observation import Observation
    from shutdownlint.shutdown.request import Request
    from shutdownlint.verification.plan import VerificationPlan


_LAST_PORT: Final = 65_535
#: Names of ports that no client's requests go to.
_ASIDE: Final = ("metric", "prom", "health", "probe", "admin", "debug")


#: Requests in flight are sent so long before the deletion.
LEAD_SECONDS: Final = 1.0
#: The additional time after its length until the client stops waiting for a request.
_PATIENCE_SECONDS: Final = 15.0


def sent_seconds(request: Request) -> float:
    """Return how long the sent request takes: one in flight starts before the deletion."""
    length = request.duration.total_seconds()
    return length + LEAD_SECONDS if request.arrival == ZERO else length


def limit_seconds(request: Request) -> float:
    """Return when a client that sent it stops waiting."""
    return sent_seconds(request) + _PATIENCE_SECONDS


def file_and_line(plan: VerificationPlan) -> str:
    """Return where the workload is written."""
    region = plan.pod.ref.region()
    return f"{region.file}:{region.line}"


def pod_selector(plan: VerificationPlan) -> str:
    """Return a selector for the workload's pods: all labels of its template."""
    labels = plan.pod.workload.template.metadata.labels
    return ",".join(f"{name}={value}" for name, value in sorted(labels.items()))


#: A template that lists the pods to test: one that is ending already has another clock.
READY_PODS: Final = (
    "{{range .items}}{{if not .metadata.deletionTimestamp}}{{$name := .metadata.name}}"
    '{{range .status.conditions}}{{if and (eq .type "Ready") (eq .status "True")}}'
    '{{$name}}{{"\\n"}}{{end}}{{end}}{{end}}{{end}}'
)


def address_port(plan: VerificationPlan) -> int | None:
    """Return the port that requests are sent to: that of the Service, else one of what serves.

    None where none is written, or where only ports for metrics and checks are.
    """
    spec = plan.pod.workload.template.spec
    edge = plan.plan.edge
    serving = {c.name for c in plan.plan.regular if c.serves} | {edge.name if edge else ""}
    containers = (*spec.containers, *spec.initContainers)
    ports = [(each.name in serving, port) for each in containers for port in each.ports]
    service: ServiceFacts | None = plan.pod.facts.get(ServiceFacts)
    found: list[Any] = []
    for wanted in service.ports if service is not None else ():
        found += [p.containerPort for _, p in ports if p.name == wanted] or [wanted]
    for serves, port in ports:
        if serves and not any(word in (port.name or "") for word in _ASIDE):
            found.append(port.containerPort)
    return next((p for p in found if isinstance(p, int) and 0 < p <= _LAST_PORT), None)


def refusal(plan: VerificationPlan) -> str:
    """Why no script is written for a workload; empty where one can be.

    A script deletes what it names, so what is no name or label of Kubernetes is in none.
    """
    workload, labels = plan.pod.id, plan.pod.workload.template.metadata.labels
    if not is_name(workload.name) or not is_name(workload.namespace or "default"):
        return "its name is no name of Kubernetes"
    if workload.kind == "Pod":
        return ""
    if not labels:
        return "its template has no labels, so its pods cannot be distinguished from others"
    if not all(is_label(key, value) for key, value in labels.items()):
        return "a label of its template is no label of Kubernetes"
    return ""


def observations(plan: VerificationPlan) -> Iterator[Observation]:
    """Yield what each platform of the pod shows while it stops."""
    option = namespace_option(plan)
    for platform in all_platforms():
        for found in platform.observations(plan.pod):
            command = found.command.replace("$namespace", option).replace("  ", " ")
            yield replace(found, command=command.strip())


def namespace_option(plan: VerificationPlan) -> str:
    """Return option of kubectl that names the namespace; empty where the manifest writes none."""
    namespace = plan.pod.id.namespace
    return f"--namespace {shlex.quote(namespace)}" if namespace else ""


def suggested_changes(plan: VerificationPlan) -> Iterator[str]:
    """Yield the changes after which the second prediction holds."""
    if plan.failure is not None:
        yield f"no settings are known that serve every request: {format_failure(plan.failure)}"
    if plan.solution is None:
        yield "there is nothing to change, so EXPECT=after is the same as EXPECT=before"
        return
    for change in plan.solution.changes:
        yield f"suggested: {change.old.name} {change.old.value_text} -> {change.value_text}"


def describe_lost(plan: VerificationPlan) -> Iterator[str]:
    """Yield how many requests a restart under load loses."""
    kind, name = plan.pod.id.kind, plan.pod.id.name
    if kind in ("Deployment", "StatefulSet", "DaemonSet"):
        option = f" {namespace_option(plan)}".rstrip()
        resource = shlex.quote(f"{kind.lower()}/{name}")
        yield f"restart it under load: kubectl rollout restart {resource}{option}"
    for lost in plan.lost:
        text = f"a rollout under load: of requests that take {format_duration(lost.duration)}, "
        text += _as_many(lost.before)
        if lost.after is not None:
            text += f"; with the suggested settings {_as_many(lost.after)}"
        yield text


def _as_many(lost: timedelta) -> str:
    if lost == ZERO:
        return "none are lost"
    return f"about as many are lost as arrive in {_round(lost)}"


def assumptions(plan: VerificationPlan) -> list[str]:
    """Return what the predictions depend on although the input does not show it."""
    return Explanation(plan.pod).assumptions


def _round(duration: timedelta) -> str:
    return format_duration(seconds(round(duration.total_seconds() * 2) / 2))
