"""The answer of a real API server to each field that the program reads, with each kind of value.

``fields.json`` holds the answers of the version that it names; ``python -m tests.cluster fields
--record`` asks again. The default tests compare ``check`` with the stored answers, without a node.
"""

from __future__ import annotations

import copy
import json
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from tests.cluster.api import ApiError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.api import Api

STORED: Final = Path(__file__).with_name("fields.json")
Data = dict[str, Any]
Values = tuple[Any, ...]
#: In place of a value: the field is not there, or is there twice.
MISSING, TWICE, UNKNOWN = "<missing>", "<twice>", "<unknown name>"
#: The answers: rejected; dropped, and rejected in strict validation only; accepted.
REJECTED, UNKNOWN_FIELD, ACCEPTED = "rejected", "unknown field", "accepted"
_SECOND: Final = "<second>"

_CONTAINER: Final[Data] = {"name": "app", "image": "shop/app:1"}
_TEMPLATE: Final[Data] = {
    "metadata": {"labels": {"app": "shop"}},
    "spec": {"containers": [_CONTAINER]},
}
_SELECTOR: Final[Data] = {"matchLabels": {"app": "shop"}}


def _object(kind: str, version: str, spec: Data) -> Data:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "shop"}, "spec": spec}


BASES: Final[dict[str, Data]] = {
    "Pod": _object("Pod", "v1", {"containers": [_CONTAINER]}),
    "Deployment": _object("Deployment", "apps/v1", {"selector": _SELECTOR, "template": _TEMPLATE}),
    "StatefulSet": _object(
        "StatefulSet",
        "apps/v1",
        {"serviceName": "shop", "selector": _SELECTOR, "template": _TEMPLATE},
    ),
    "DaemonSet": _object("DaemonSet", "apps/v1", {"selector": _SELECTOR, "template": _TEMPLATE}),
    "Job": _object(
        "Job",
        "batch/v1",
        {"template": {"spec": {"containers": [_CONTAINER], "restartPolicy": "Never"}}},
    ),
    "CronJob": _object(
        "CronJob",
        "batch/v1",
        {
            "schedule": "0 * * * *",
            "jobTemplate": {
                "spec": {
                    "template": {"spec": {"containers": [_CONTAINER], "restartPolicy": "Never"}}
                }
            },
        },
    ),
    "PodDisruptionBudget": _object("PodDisruptionBudget", "policy/v1", {"selector": _SELECTOR}),
    "HorizontalPodAutoscaler": _object(
        "HorizontalPodAutoscaler",
        "autoscaling/v2",
        {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop"},
            "maxReplicas": 9,
        },
    ),
    "Service": _object("Service", "v1", {"selector": {"app": "shop"}, "ports": [{"port": 80}]}),
}
PATHS: Final = {
    "Pod": "/api/v1/namespaces/default/pods",
    "Deployment": "/apis/apps/v1/namespaces/default/deployments",
    "StatefulSet": "/apis/apps/v1/namespaces/default/statefulsets",
    "DaemonSet": "/apis/apps/v1/namespaces/default/daemonsets",
    "Job": "/apis/batch/v1/namespaces/default/jobs",
    "CronJob": "/apis/batch/v1/namespaces/default/cronjobs",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
    "HorizontalPodAutoscaler": ("/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"),
    "Service": "/api/v1/namespaces/default/services",
}

_INTEGER: Final[Values] = (None, "x", "5", 5.5, 5.0, True, -1, 0, 1, 2**31, 2**63, [], {})
#: Beyond 32 and 64 bits, and what no type holds.
_HUGE: Final[Values] = (2**31 - 1, 2**32, 2**63 - 1, -(2**63) - 1, 2**64, 10**400, 1e18, 1e300)
_NINES: Final = "9" * 400
_STRANGE: Final[Values] = (
    _NINES,
    "1e3",
    "\u0663",
    "a\u0000",
    "\u202ea",
    "a\nb",
    "-0",
)
_TEXT: Final[Values] = (None, "", "nonsense", 5, True, [], {})
_FLAG: Final[Values] = (None, "true", 1, True, False, {})
_SHARE: Final[Values] = (
    None,
    0,
    1,
    -1,
    1.5,
    "25",
    "25%",
    "2.5%",
    "150%",
    "-5%",
    "abc",
    True,
    2**31,
    {},
)
_PORT: Final[Values] = (None, 0, 80, 70000, -1, "http", "80", "not a name", "a" * 16, True, 1.5)
_MAPPING: Final[Values] = (None, {}, [], "x", 5)
_LIST: Final[Values] = (None, [], {}, "x", ["x"], [5], [None], [{}])
_VALUE_FROM: Final[Values] = (
    None,
    {},
    *(
        {"fieldRef": {"fieldPath": path}}
        for path in (
            *(None, "", 5, "metadata.name", "metadata.uid", "metadata.labels", "metadata.myPath"),
            *("metadata.labels['a']", "metadata.annotations['a.b/c']", "metadata.labels[a]"),
            *("spec.nodeName", "spec.host", "spec.restartPolicy", "status.phase", "status.podIPs"),
            *("status.hostIP", "status.hostIPs", "spec.serviceAccountName"),
        )
    ),
    *(
        {"fieldRef": {"apiVersion": version, "fieldPath": "metadata.name"}}
        for version in (None, "", "v1", "v2", 5)
    ),
    {"fieldRef": {}},
    {"secretKeyRef": {"name": "a", "key": "b"}},
    {"configMapKeyRef": {"name": "a", "key": "b"}, "fieldRef": {"fieldPath": "metadata.name"}},
)
_MOUNTS: Final[Values] = (
    None,
    [],
    [{"name": "v", "mountPath": "/v"}],
    [{"name": "other", "mountPath": "/v"}],
    [{"name": "v"}],
    [{"name": "v", "mountPath": ""}],
    [{"mountPath": "/v"}],
)
_HANDLER: Final[Values] = (
    None,
    {},
    {"exec": {}},
    {"exec": {"command": []}},
    {"exec": {"command": ["x"]}},
    {"exec": {"command": "x"}},
    {"httpGet": {}},
    {"httpGet": {"port": 80}},
    {"httpGet": {"port": 80, "scheme": "http"}},
    {"httpGet": {"port": 80, "scheme": "HTTPS"}},
    {"httpGet": {"path": "/x"}},
    {"tcpSocket": {}},
    {"tcpSocket": {"port": 80}},
    {"tcpSocket": {"port": "80"}},
    {"exec": {"command": ["x"]}, "httpGet": {"port": 80}},
)
_HOOK: Final[Values] = (
    *_HANDLER,
    {"sleep": {}},
    {"sleep": {"seconds": 5}},
    {"sleep": {"seconds": 0}},
    {"sleep": {"seconds": -5}},
    {"sleep": {"seconds": "5"}},
    {"sleep": {"seconds": 40}},
    {"sleep": {"second": 5}},
    {"sleep": 5},
    "sleep 5",
    ["sleep", "5"],
)
_PROBE: Final[Values] = (
    *_HANDLER,
    {"grpc": {}},
    {"grpc": {"port": 80}},
    {"grpc": {"port": "http"}},
    "x",
)


class Field(Struct, frozen=True):
    """A field by its path, the values that it is tried with, and what has to be there as well."""

    kind: str
    path: str
    values: tuple[Any, ...]
    beside: tuple[tuple[str, Any], ...] = ()


def _pod_fields(kind: str, spec: str) -> Iterator[Field]:
    app, init = f"{spec}.containers.0", f"{spec}.initContainers.0"
    yield Field(kind, f"{spec}.terminationGracePeriodSeconds", _INTEGER)
    yield Field(kind, f"{spec}.restartPolicy", (*_TEXT, "Always", "always", "Never", "OnFailure"))
    for name in ("hostNetwork", "hostPID", "shareProcessNamespace"):
        yield Field(kind, f"{spec}.{name}", _FLAG)
    yield Field(kind, f"{spec}.containers", (*_LIST, [_CONTAINER, _CONTAINER]))
    yield Field(kind, f"{spec}.nodeSelector", (*_MAPPING, {"a": 5}, {"a": "b"}))
    yield Field(kind, f"{spec}.os", (*_MAPPING, {"name": "linux"}, {"name": "Linux"}))
    for name in ("name", "image"):
        yield Field(kind, f"{app}.{name}", (*_TEXT, "Upper", "a b"))
    for name in ("command", "args"):
        yield Field(kind, f"{app}.{name}", (*_LIST, ["a", True], ["a", None]))
    yield Field(
        kind,
        f"{app}.env",
        (
            *_LIST,
            [{"name": "A", "value": 5}],
            [{"name": "A", "value": "5"}],
            [{"value": "5"}],
            [{"name": "A", "value": "5", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
        ),
    )
    volume = ((f"{spec}.volumes", [{"name": "v", "emptyDir": {}}]),)
    yield Field(kind, f"{app}.volumeMounts", _MOUNTS, beside=volume)
    named = ((f"{app}.env.0.name", "A"),)
    yield Field(kind, f"{app}.env.0.valueFrom", _VALUE_FROM, beside=named)
    yield Field(
        kind,
        f"{app}.ports",
        (
            *_LIST,
            *([{"containerPort": value}] for value in _PORT),
            [{"containerPort": 80}, {"containerPort": 80}],
            [{"containerPort": 80, "name": "a"}, {"containerPort": 81, "name": "a"}],
            [{"containerPort": 80, "name": "http_port"}],
            [{"containerPort": 80, "protocol": "http"}],
        ),
    )
    yield Field(kind, f"{app}.lifecycle.preStop", _HOOK)
    yield Field(kind, f"{app}.lifecycle.postStart", _HOOK)
    yield Field(kind, f"{app}.lifecycle.stopSignal", (*_TEXT, "SIGTERM", "TERM", "SIGNONE"))
    for value in _PORT:
        handler = {"httpGet": {"port": value}}
        yield Field(kind, f"{app}.lifecycle.preStop", (handler,))
        yield Field(kind, f"{app}.readinessProbe", (handler,))
    for probe in ("readinessProbe", "livenessProbe", "startupProbe"):
        yield Field(kind, f"{app}.{probe}", _PROBE)
        beside = ((f"{app}.{probe}.httpGet", {"port": 80}),)
        for name in (
            "initialDelaySeconds",
            "periodSeconds",
            "timeoutSeconds",
            "successThreshold",
            "failureThreshold",
            "terminationGracePeriodSeconds",
        ):
            values = (*_INTEGER, 2) if name == "successThreshold" else _INTEGER
            yield Field(kind, f"{app}.{probe}.{name}", values, beside)
    first = ((init, {"name": "init", "image": "shop/init:1"}),)
    policies = (*_TEXT, "Always", "always", "OnFailure", "Never")
    yield Field(kind, f"{init}.restartPolicy", policies, first)
    yield Field(kind, f"{app}.restartPolicy", ("Always", "Never", "always"))
    for name in ("readinessProbe", "livenessProbe", "startupProbe"):
        yield Field(kind, f"{init}.{name}", ({"exec": {"command": ["x"]}},), first)
    hook = {"preStop": {"exec": {"command": ["x"]}}}
    yield Field(kind, f"{init}.lifecycle", (hook, {}), first)
    yield Field(kind, f"{init}.name", ("app", "", None), first)
    spread = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": _SELECTOR,
    }
    constraints = ((f"{spec}.topologySpreadConstraints.0", spread),)
    constraint = f"{spec}.topologySpreadConstraints.0"
    yield Field(kind, f"{constraint}.maxSkew", _INTEGER, constraints)
    yield Field(kind, f"{constraint}.whenUnsatisfiable", (*_TEXT, "ScheduleAnyway"), constraints)
    yield Field(kind, f"{constraint}.topologyKey", _TEXT, constraints)
    yield Field(kind, f"{constraint}.minDomains", _INTEGER, constraints)


def _extremes() -> Iterator[Field]:
    """Yield the values that break readers of YAML and JSON, in the fields that are counted with."""
    app = "spec.containers.0"
    for name in ("terminationGracePeriodSeconds", "activeDeadlineSeconds"):
        yield Field("Pod", f"spec.{name}", _HUGE)
    probe = ((f"{app}.readinessProbe.httpGet", {"port": 80}),)
    for name in ("periodSeconds", "failureThreshold", "terminationGracePeriodSeconds"):
        which = "livenessProbe" if name.startswith("termination") else "readinessProbe"
        beside = ((f"{app}.{which}.httpGet", {"port": 80}),) if which != "readinessProbe" else probe
        yield Field("Pod", f"{app}.{which}.{name}", _HUGE, beside)
    ports = ([{"containerPort": value}] for value in (*_HUGE, *_STRANGE))
    yield Field("Pod", f"{app}.ports", tuple(ports))
    hooks = [{"sleep": {"seconds": value}} for value in _HUGE]
    hooks += [{"httpGet": {"port": value}} for value in (*_HUGE, *_STRANGE)]
    yield Field("Pod", f"{app}.lifecycle.preStop", tuple(hooks))
    words = ([value] for value in (*_HUGE, *_STRANGE, {}, [], True, 1.5))
    yield Field("Pod", f"{app}.command", tuple(words))
    yield Field("Pod", f"{app}.lifecycle.stopSignal", _STRANGE)
    yield Field("Deployment", "spec.replicas", (*_HUGE, *_STRANGE))
    shares = (*_HUGE, *_STRANGE, f"{_NINES}%", "\u0663%", "1e1%", "+5%", " 5%")
    for name in ("maxSurge", "maxUnavailable"):
        yield Field("Deployment", f"spec.strategy.rollingUpdate.{name}", shares)
    yield Field("PodDisruptionBudget", "spec.maxUnavailable", shares)
    service = ([{"port": value}] for value in _HUGE)
    yield Field("Service", "spec.ports", tuple(service))


def _selectors(kind: str) -> Iterator[Field]:
    operators = ("In", "NotIn", "Exists", "DoesNotExist", "in", "", None)
    for values in ([], ["a"], None):
        for operator in operators:
            expression = {"key": "app", "operator": operator, "values": values}
            yield Field(kind, "spec.selector", ({"matchExpressions": [expression]},))
    others = ({"app": "shop"}, {"matchLabels": {"app": "other"}}, {"matchLabels": {"app": 5}})
    yield Field(kind, "spec.selector", (*_MAPPING, {"matchLabels": {}}, *others))


def _deployment_fields() -> Iterator[Field]:
    kind, rolling = "Deployment", "spec.strategy.rollingUpdate"
    yield from _pod_fields(kind, "spec.template.spec")
    for name in ("replicas", "minReadySeconds", "revisionHistoryLimit"):
        yield Field(kind, f"spec.{name}", _INTEGER)
    yield Field(kind, "spec.progressDeadlineSeconds", (*_INTEGER, 600))
    yield Field(kind, "spec.progressDeadlineSeconds", (9, 10, 11), (("spec.minReadySeconds", 10),))
    yield Field(kind, "spec.minReadySeconds", (599, 600, 601))
    yield Field(kind, "spec.paused", _FLAG)
    types = (*_TEXT, "Recreate", "recreate", "RollingUpdate", "OnDelete")
    yield Field(kind, "spec.strategy.type", types)
    yield Field(kind, "spec.strategy", (*_MAPPING, {"maxSurge": 1}))
    yield Field(kind, rolling, ({}, {"maxSurge": 1}), (("spec.strategy.type", "Recreate"),))
    yield Field(kind, rolling, _MAPPING)
    for one, other in (("maxSurge", "maxUnavailable"), ("maxUnavailable", "maxSurge")):
        yield Field(kind, f"{rolling}.{one}", _SHARE)
        beside = ((f"{rolling}.{other}", 0),)
        yield Field(kind, f"{rolling}.{one}", (0, "0%", 1, "1%"), beside)
    yield Field(kind, f"{rolling}.partition", (1,))
    yield Field(kind, "spec.updateStrategy", ({"type": "RollingUpdate"},))
    yield from _selectors(kind)
    yield Field(kind, "apiVersion", ("apps/v1beta2", "extensions/v1beta1"))


def _other_workloads() -> Iterator[Field]:
    kind, update = "StatefulSet", "spec.updateStrategy"
    for name in ("replicas", "minReadySeconds", "revisionHistoryLimit"):
        yield Field(kind, f"spec.{name}", _INTEGER)
    policies = (*_TEXT, "Parallel", "parallel", "OrderedReady")
    yield Field(kind, "spec.podManagementPolicy", policies)
    types = (*_TEXT, "OnDelete", "RollingUpdate", "rollingUpdate", "Recreate")
    yield Field(kind, f"{update}.type", types)
    yield Field(kind, f"{update}.rollingUpdate.partition", _INTEGER)
    yield Field(kind, f"{update}.rollingUpdate.maxUnavailable", _SHARE)
    yield Field(kind, f"{update}.rollingUpdate.maxSurge", (1,))
    yield Field(
        kind, f"{update}.rollingUpdate", ({}, {"partition": 1}), ((f"{update}.type", "OnDelete"),)
    )
    yield Field(kind, "spec.strategy", ({"type": "Recreate"},))
    yield Field(kind, "spec.serviceName", _TEXT)
    yield Field(kind, "spec.selector", (None, {}, {"matchLabels": {"app": "other"}}))
    restart = (None, "", "Always", "always", "Never", "OnFailure")
    yield Field(kind, "spec.template.spec.restartPolicy", restart)
    kind = "DaemonSet"
    yield Field(kind, "spec.template.spec.restartPolicy", restart)
    yield Field(kind, "spec.minReadySeconds", _INTEGER)
    yield Field(kind, "spec.replicas", (1,))
    yield Field(kind, f"{update}.type", types)
    for name, other in (("maxSurge", "maxUnavailable"), ("maxUnavailable", "maxSurge")):
        yield Field(kind, f"{update}.rollingUpdate.{name}", _SHARE)
        for value in (0, 1, "0%"):
            beside = ((f"{update}.rollingUpdate.{other}", value),)
            yield Field(kind, f"{update}.rollingUpdate.{name}", (0, 1, "0%", "10%"), beside)
    yield Field(
        kind, f"{update}.rollingUpdate", ({}, {"maxSurge": 1}), ((f"{update}.type", "OnDelete"),)
    )
    kind = "Job"
    for name in (
        "backoffLimit",
        "activeDeadlineSeconds",
        "parallelism",
        "completions",
        "ttlSecondsAfterFinished",
    ):
        yield Field(kind, f"spec.{name}", _INTEGER)
    yield Field(kind, "spec.template.spec.restartPolicy", restart)
    yield Field(kind, "spec.podReplacementPolicy", (*_TEXT, "Failed", "TerminatingOrFailed"))
    yield Field(kind, "spec.suspend", _FLAG)
    yield Field(kind, "apiVersion", ("batch/v1beta1",))
    kind = "CronJob"
    yield Field(kind, "spec.concurrencyPolicy", (*_TEXT, "Allow", "Forbid", "Replace", "replace"))
    yield Field(kind, "spec.startingDeadlineSeconds", _INTEGER)
    yield Field(kind, "spec.jobTemplate.spec.template.spec.restartPolicy", restart)
    yield Field(kind, "apiVersion", ("batch/v1beta1",))
    yield from _pod_fields("Pod", "spec")
    yield from _extremes()


def _other_objects() -> Iterator[Field]:
    kind = "PodDisruptionBudget"
    for name, other in (("minAvailable", "maxUnavailable"), ("maxUnavailable", "minAvailable")):
        yield Field(kind, f"spec.{name}", _SHARE)
        yield Field(kind, f"spec.{name}", (1,), ((f"spec.{other}", 1),))
    policies = (*_TEXT, "AlwaysAllow", "IfHealthyBudget", "alwaysAllow")
    yield Field(kind, "spec.unhealthyPodEvictionPolicy", policies)
    yield from _selectors(kind)
    yield Field(kind, "apiVersion", ("policy/v1beta1",))
    kind = "HorizontalPodAutoscaler"
    for name in ("minReplicas", "maxReplicas"):
        yield Field(kind, f"spec.{name}", (*_INTEGER, 9, 10))
    yield Field(kind, "spec.scaleTargetRef", (*_MAPPING, {"kind": "Deployment"}, {"name": "shop"}))
    down = "spec.behavior.scaleDown"
    yield Field(kind, f"{down}.stabilizationWindowSeconds", (*_INTEGER, 3600, 3601))
    yield Field(kind, f"{down}.selectPolicy", (*_TEXT, "Max", "Min", "Disabled"))
    policy = {"type": "Pods", "value": 1, "periodSeconds": 60}
    for name, values in (
        ("type", (*_TEXT, "Percent", "pods")),
        ("value", _INTEGER),
        ("periodSeconds", (*_INTEGER, 1800, 1801)),
    ):
        beside = ((f"{down}.policies.0", policy),)
        yield Field(kind, f"{down}.policies.0.{name}", values, beside)
    yield Field(kind, "apiVersion", ("autoscaling/v2beta2", "autoscaling/v1"))
    kind = "Service"
    yield Field(kind, "spec.type", (*_TEXT, "NodePort", "LoadBalancer", "nodePort"))
    yield Field(kind, "spec.ports", _LIST)
    yield Field(kind, "spec.ports.0.port", _PORT)
    yield Field(kind, "spec.ports.0.targetPort", _PORT)
    yield Field(kind, "spec.ports.0.protocol", (*_TEXT, "TCP", "tcp"))
    yield Field(kind, "spec.publishNotReadyAddresses", _FLAG)
    yield Field(kind, "spec.selector", (*_MAPPING, {"app": 5}, {"app": True}))
    load_balancer = (("spec.type", "LoadBalancer"),)
    policies = (*_TEXT, "Local", "Cluster", "local")
    yield Field(kind, "spec.externalTrafficPolicy", policies, load_balancer)
    yield Field(kind, "spec.externalTrafficPolicy", ("Local",))
    yield Field(kind, "spec.clusterIP", (None, "", "None", "none", "x", 5))


def all_fields() -> list[Field]:
    """Return every field."""
    return [*_deployment_fields(), *_other_workloads(), *_other_objects()]


class Case(Struct, frozen=True):
    """One object with one value."""

    kind: str
    path: str
    value: str
    beside: tuple[str, ...]
    text: str

    @property
    def key(self) -> str:
        """Its name in the stored table."""
        return " ".join([self.kind, self.path, self.value, *self.beside])


def cases() -> Iterator[Case]:
    """Yield every object that the server is asked about, as JSON, which is YAML."""
    seen = set()
    for field in all_fields():
        for value in (*field.values, MISSING, TWICE, UNKNOWN):
            case = _case(field, value)
            if case is not None and case.key not in seen:
                seen.add(case.key)
                yield case


def _case(field: Field, value: Any) -> Case | None:
    data = copy.deepcopy(BASES[field.kind])
    for path, beside in field.beside:
        _set(data, path, copy.deepcopy(beside))
    parent, last = _parent(data, field.path)
    label = value if value in (MISSING, TWICE, UNKNOWN) else json.dumps(value)
    if isinstance(last, int) and value in (MISSING, TWICE, UNKNOWN):
        return None
    if value == MISSING:
        if last not in parent:
            return None
        del parent[last]
    elif value == TWICE:
        sound = parent.get(last, next((v for v in field.values if v is not None), None))
        parent[last] = sound
        parent[f"{last}{_SECOND}"] = sound
    elif value == UNKNOWN:
        sound = parent.pop(last, None) if field.beside else None
        parent[f"{last}X"] = 1 if sound is None else sound
    else:
        parent[last] = value
    beside_ = tuple(f"{path}={json.dumps(v)}" for path, v in field.beside)
    text = json.dumps(data).replace(_SECOND, "")
    return Case(field.kind, field.path, str(label), beside_, text)


def _set(data: Data, path: str, value: Any) -> None:
    parent, last = _parent(data, path)
    if isinstance(parent, list) and last == len(parent):
        parent.append(value)
    else:
        parent[last] = value


def _parent(data: Data, path: str) -> tuple[Any, Any]:
    """Return what holds the last step of a path; what is not there is made."""
    steps = [int(step) if step.isdigit() else step for step in path.split(".")]
    here: Any = data
    for step, following in pairwise(steps):
        if isinstance(here, list):
            if step == len(here):
                here.append([] if isinstance(following, int) else {})
        elif step not in here:
            here[step] = [] if isinstance(following, int) else {}
        here = here[step]
    return here, steps[-1]


def ask(api: Api, case: Case) -> dict[str, str]:
    """Return what the server says of a case, in ordinary and in strict validation."""
    found = {}
    body = json.loads(case.text)  # the last of two keys counts, here as there
    group = body.get("apiVersion", BASES[case.kind]["apiVersion"])
    prefix = f"/apis/{group}" if "/" in group else f"/api/{group}"
    path = f"{prefix}/namespaces/default/{PATHS[case.kind].rsplit('/', 1)[1]}"
    for name, validation in (("plain", "Ignore"), ("strict", "Strict")):
        query = f"?dryRun=All&fieldValidation={validation}"
        try:
            api.create(path, case.text, query)
            found[name] = ""
        except ApiError as error:
            found[name] = error.message
    return found


def record(api: Api, version: str) -> int:
    """Store the answers of the server; returns how many."""
    rows = {case.key: _verdict(ask(api, case)) for case in cases()}
    table = {"kubernetes": version, "rows": dict(sorted(rows.items()))}
    STORED.write_text(json.dumps(table, indent=0) + "\n", encoding="utf-8")
    return len(rows)


def _verdict(answer: dict[str, str]) -> str:
    if answer["plain"]:
        return REJECTED
    return UNKNOWN_FIELD if answer["strict"] else ACCEPTED


def stored() -> dict[str, str]:
    """Return the verdicts by the keys of cases."""
    rows: dict[str, str] = json.loads(STORED.read_text(encoding="utf-8"))["rows"]
    return rows
