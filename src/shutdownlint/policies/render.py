"""Policies as objects: ValidatingAdmissionPolicies with bindings, a mutating one, Kyverno's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from shutdownlint.manifests.suppressions import ANNOTATION
from shutdownlint.policies.conditions import VARIABLES, PolicyCondition
from shutdownlint.project import rule_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shutdownlint.engine.finding import Severity
    from shutdownlint.manifests.suppressions import Suppression

_API: Final = "admissionregistration.k8s.io"
#: The label of a pod that asks for a delay; its value is a number of seconds.
DELAY_LABEL: Final = "shutdownlint.dev/delay"
_RESOURCES: Final = (
    ("", "v1", ("pods",)),
    ("apps", "v1", ("deployments", "statefulsets", "daemonsets")),
    ("batch", "v1", ("jobs", "cronjobs")),
)
_KINDS: Final = ("Pod", "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob")
#: A pod that a controller makes was checked with its template.
_OWN_PODS: Final = "object.kind != 'Pod' || !has(object.metadata.ownerReferences)"


def validating_policies(
    conditions: Iterable[PolicyCondition],
    ignores: Sequence[Suppression],
    deny: Severity | None,
) -> Iterator[dict[str, Any]]:
    """Yield a policy and its binding for each condition.

    Findings are audited and warned of; those of the severity ``deny`` and worse are denied.
    """
    for each in conditions:
        rule = each.rule
        name = f"{rule.id.lower()}.shutdownlint.dev"
        broken = f"variables.containers.filter(c, {each.condition})"
        text = f"{rule.id} {rule.name}: {rule.title}"
        yield _object(
            "ValidatingAdmissionPolicy",
            "v1",
            name,
            {
                "failurePolicy": "Ignore",
                "matchConstraints": {"resourceRules": [*_resource_rules(("CREATE", "UPDATE"))]},
                "matchConditions": [
                    {"name": "no-pod-of-a-controller", "expression": _OWN_PODS},
                    *_exceptions(each, ignores),
                ],
                "variables": [
                    *({"name": key, "expression": value} for key, value in VARIABLES.items()),
                    {"name": "containers", "expression": "variables.pod.containers"},
                    {"name": "broken", "expression": broken},
                ],
                "validations": [
                    {
                        "expression": "variables.broken.size() == 0",
                        "messageExpression": (
                            f"{_quoted(text)} + ' (container ' + variables.broken[0].name + ')"
                            f" {rule_url(rule.id) or ''}'"
                        ),
                        "message": text,
                    }
                ],
                "auditAnnotations": [
                    {
                        "key": "finding",
                        "valueExpression": (
                            f"variables.broken.size() == 0 ? '' : {_quoted(rule.id)}"
                        ),
                    }
                ],
            },
        )
        denies = deny is not None and rule.severity.rank >= deny.rank
        yield _object(
            "ValidatingAdmissionPolicyBinding",
            "v1",
            name,
            {
                "policyName": name,
                "validationActions": ["Deny", "Audit"] if denies else ["Audit", "Warn"],
            },
        )


def mutating_policies() -> Iterator[dict[str, Any]]:
    """Yield the policy that gives pods a delay where a label asks for it, and its binding."""
    name = "delay.shutdownlint.dev"
    seconds = f"int(object.metadata.labels['{DELAY_LABEL}'])"
    without = (
        "(!has(c.lifecycle) || !has(c.lifecycle.preStop)) && has(c.ports) && c.ports.size() > 0"
    )
    life = "Object.spec.containers.lifecycle"
    added = (
        f"Object.spec.containers{{name: c.name, lifecycle: {life}{{preStop: {life}.preStop{{"
        f"sleep: {life}.preStop.sleep{{seconds: {seconds}}}}}}}}}"
    )
    grace = (
        "(has(object.spec.terminationGracePeriodSeconds) ? "
        f"object.spec.terminationGracePeriodSeconds : 30) + {seconds}"
    )
    chosen = f"object.spec.containers.filter(c, {without})"
    yield _object(
        "MutatingAdmissionPolicy",
        "v1beta1",
        name,
        {
            "failurePolicy": "Ignore",
            "reinvocationPolicy": "IfNeeded",
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["pods"],
                    }
                ]
            },
            "matchConditions": [
                {
                    "name": "a-label-asks-for-it",
                    "expression": (
                        f"has(object.metadata.labels) && '{DELAY_LABEL}' in object.metadata.labels"
                        f" && object.metadata.labels['{DELAY_LABEL}'].matches('^[0-9]{{1,3}}$')"
                    ),
                },
                {
                    "name": "a-container-has-a-port-and-no-hook",
                    "expression": f"object.spec.containers.exists(c, {without})",
                },
            ],
            "mutations": [
                {
                    "patchType": "ApplyConfiguration",
                    "applyConfiguration": {
                        "expression": (
                            f"Object{{spec: Object.spec{{terminationGracePeriodSeconds: {grace}, "
                            f"containers: {chosen}.map(c, {added})}}}}"
                        )
                    },
                }
            ],
        },
    )
    yield _object("MutatingAdmissionPolicyBinding", "v1beta1", name, {"policyName": name})


def kyverno_policies(
    conditions: Iterable[PolicyCondition],
    ignores: Sequence[Suppression],
    deny: Severity | None,
) -> Iterator[dict[str, Any]]:
    """Yield a ClusterPolicy of Kyverno for each condition; its rules are CEL as well."""
    for each in conditions:
        rule = each.rule
        denies = deny is not None and rule.severity.rank >= deny.rank
        text = f"{rule.id} {rule.name}: {rule.title} {rule_url(rule.id) or ''}"
        broken = f"variables.pod.containers.exists(c, {each.condition})"
        yield {
            "apiVersion": "kyverno.io/v1",
            "kind": "ClusterPolicy",
            "metadata": {
                "name": f"shutdownlint-{rule.id.lower()}",
                "labels": _labels(),
                "annotations": {"pod-policies.kyverno.io/autogen-controllers": "none"},
            },
            "spec": {
                "background": True,
                "rules": [
                    {
                        "name": rule.name,
                        "match": {"any": [{"resources": {"kinds": [*_KINDS]}}]},
                        "celPreconditions": [
                            {"name": "no-pod-of-a-controller", "expression": _OWN_PODS},
                            *_exceptions(each, ignores),
                        ],
                        "validate": {
                            "failureAction": "Enforce" if denies else "Audit",
                            "cel": {
                                "variables": [
                                    {"name": key, "expression": value}
                                    for key, value in VARIABLES.items()
                                ],
                                "expressions": [
                                    {"expression": f"!({broken})", "message": text.strip()}
                                ],
                            },
                        },
                    }
                ],
            },
        }


def _object(kind: str, version: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Return an object of the API server's admission."""
    metadata = {"name": name, "labels": _labels()}
    return {"apiVersion": f"{_API}/{version}", "kind": kind, "metadata": metadata, "spec": spec}


def _labels() -> dict[str, str]:
    return {"app.kubernetes.io/managed-by": "shutdownlint"}


def _resource_rules(operations: Sequence[str]) -> Iterator[dict[str, Any]]:
    for group, version, names in _RESOURCES:
        yield {
            "apiGroups": [group],
            "apiVersions": [version],
            "operations": [*operations],
            "resources": [*names],
        }


def _exceptions(
    condition: PolicyCondition, ignores: Sequence[Suppression]
) -> Iterator[dict[str, str]]:
    """Yield what a policy leaves out: annotated objects, and what the configuration ignores."""
    for where in ("object", "object.spec.template", "object.spec.jobTemplate.spec.template"):
        steps = where.split(".")
        there = [".".join(steps[: n + 1]) for n in range(1, len(steps))]
        metadata = f"{where}.metadata"
        guards = [f"has({path})" for path in (*there, metadata, f"{metadata}.annotations")]
        found = (
            f"'{ANNOTATION}' in {metadata}.annotations && "
            f"{metadata}.annotations['{ANNOTATION}'].contains('{condition.rule.id}')"
        )
        kind = {
            "object": "true",
            "object.spec.template": "object.kind != 'Pod' && object.kind != 'CronJob'",
        }.get(where, "object.kind == 'CronJob'")
        yield {
            "name": f"not-ignored-{len(steps)}",
            "expression": f"!(({kind}) && {' && '.join(guards)} && {found})",
        }
    for number, each in enumerate(ignores):
        names = each.rules
        if each.pattern is None or not any(condition.rule.id.startswith(name) for name in names):
            continue
        kind, namespace, name = ["*", "*", *each.pattern.split("/")][-3:]
        expression = " && ".join(
            f"{value}.matches({_quoted(_as_regex(pattern))})"
            for value, pattern in (
                ("object.kind", kind),
                ("object.metadata.namespace", namespace),
                ("object.metadata.name", name),
            )
            if pattern != "*"
        )
        yield {
            "name": f"not-ignored-by-the-configuration-{number}",
            "expression": f"!({expression or 'true'})",
        }


def _as_regex(pattern: str) -> str:
    """Return a shell pattern as an expression of RE2, which has no atomic groups."""
    parts = [{"*": ".*", "?": "."}.get(letter, re.escape(letter)) for letter in pattern]
    return f"^{''.join(parts)}$"


def _quoted(text: str) -> str:
    """Return a text as a literal of CEL."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", " ")
    return f"'{escaped}'"
