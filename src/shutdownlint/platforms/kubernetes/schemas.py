"""The values that the API server takes in the fields of shutdown, rollouts and availability.

Sources: the Go types and validation of Kubernetes 1.34 (staging/src/k8s.io/api,
pkg/apis/*/validation), and the answers of a real API server, which ``tests/cluster/fields.json``
has for each of these fields. A rule of its own reports some mistakes; they are not here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from shutdownlint.manifests.decoding import has_placeholder, mappings
from shutdownlint.numbers import clip_whole
from shutdownlint.patterns import lazy_pattern
from shutdownlint.platforms.kubernetes.validation import Fields, Items, Leaf

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.platforms.kubernetes.validation import Mistake, Schema

_INT32: Final = 2**31 - 1
_INT64: Final = 2**63 - 1
_LONGEST_PORT_NAME: Final = 15
_HIGHEST_PORT: Final = 65535
_PORT_NAME: Final = lazy_pattern(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_PERCENT: Final = lazy_pattern(r"[0-9]+%")


def _integer(low: int | None = None, high: int = _INT32, *, wide: bool = False) -> Leaf:
    most = _INT64 if wide else high

    def check(value: Any) -> str:
        if isinstance(value, bool) or not isinstance(value, int | float) or value % 1:
            return "must be a whole number"
        if low is not None and value < low:
            return f"must be {low} or more"
        # A number below is a float for a reader of YAML, and may be rounded to the least one.
        if value < -_INT64 - 1 or (isinstance(value, float) and value == -_INT64 - 1):
            return f"must be {-_INT64 - 1} or more"
        return f"must be {most} or less" if value > most else ""

    return check


def _one_of(*names: str, empty: bool = True) -> Leaf:
    """Return a check for one of some words; ``empty``: also for none, which means the default."""

    def check(value: Any) -> str:
        if value in names or (value == "" and empty):
            return ""
        return f"must be {' or '.join(names)}"

    return check


def _flag(value: Any) -> str:
    return "" if isinstance(value, bool) else "must be true or false"


def _text(value: Any) -> str:
    return "" if isinstance(value, str) else "must be a string"


def _anything(_value: Any) -> str:
    """Accept a value that is checked with others."""
    return ""


def _texts(value: Any) -> str:
    """Check a mapping of texts, such as labels."""
    if not isinstance(value, dict):
        return "must be a mapping"
    return next((f"has {k}, which {_text(v)}" for k, v in value.items() if _text(v or "")), "")


def _filled(value: Any) -> str:
    return _text(value) or ("" if value else "must not be empty")


def _share(*, at_most_all: bool = True) -> Leaf:
    """Return a check for a number of pods, or a percentage."""

    def check(value: Any) -> str:
        if isinstance(value, str):
            if not _PERCENT.fullmatch(value):
                return "must be a whole number, or a percentage such as '25%'"
            above = at_most_all and clip_whole(value[:-1], 101) > 100
            return "must not be above 100%" if above else ""
        return _integer(0)(value)

    return check


def _port(value: Any) -> str:
    """Check a port by number or name, of a probe, hook or Service."""
    if not isinstance(value, str):
        wrong = _integer(1, _HIGHEST_PORT)(value)
        return wrong and f"must be a number from 1 to {_HIGHEST_PORT}, or a port's name"
    named = len(value) <= _LONGEST_PORT_NAME and _PORT_NAME.fullmatch(value) and "--" not in value
    if named and re.search("[a-z]", value):
        return ""
    return "must be a port's name: at most 15 lower-case letters, digits or '-', with a letter"


_PORT_NUMBER: Final = _integer(1, _HIGHEST_PORT)
_SCHEME: Final = _one_of("HTTP", "HTTPS")
_HTTP_GET: Final = Fields({"port": _port, "scheme": _SCHEME}, required=("port",))
_HANDLERS: Final = {
    "exec": Fields({"command": Items(_text, least=1)}, required=("command",), known=("command",)),
    "httpGet": _HTTP_GET,
    "tcpSocket": Fields({"port": _port}, required=("port",), known=("port", "host")),
}
_SLEEP: Final = Fields({"seconds": _integer(wide=True)}, known=("seconds",))


def _one_handler(names: tuple[str, ...]) -> Any:
    def check(value: dict[str, Any]) -> Iterator[Mistake]:
        count = sum(value.get(name) is not None for name in names)
        if count != 1:
            yield (), f"must have exactly one of {', '.join(names)}"

    return check


_HOOK_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "sleep")
_PRE_STOP: Final = Fields({**_HANDLERS, "sleep": _SLEEP}, known=_HOOK_HANDLERS)
_POST_START: Final = Fields(
    {**_HANDLERS, "sleep": Fields({"seconds": _integer(0, wide=True)}, known=("seconds",))},
    known=_HOOK_HANDLERS,
    also=_one_handler(_HOOK_HANDLERS),
)
_PROBE_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc")


def _probe(*, one_success: bool) -> Fields:
    return Fields(
        {
            **_HANDLERS,
            "grpc": Fields(
                {"port": _PORT_NUMBER}, required=("port",), known=("port", "service", "mode")
            ),
            "initialDelaySeconds": _integer(0),
            "periodSeconds": _integer(0),
            "timeoutSeconds": _integer(0),
            "failureThreshold": _integer(0),
            "successThreshold": _success if one_success else _integer(0),
            "terminationGracePeriodSeconds": _integer(wide=True),
        },
        also=_one_handler(_PROBE_HANDLERS),
        known=(
            *_PROBE_HANDLERS,
            "initialDelaySeconds",
            "periodSeconds",
            "timeoutSeconds",
            "failureThreshold",
            "successThreshold",
            "terminationGracePeriodSeconds",
        ),
    )


def _success(value: Any) -> str:
    return _integer(0, 1)(value) and "must be 1 for a liveness or startup probe"


def _no_probes(value: dict[str, Any]) -> Iterator[Mistake]:
    """Ordinary init containers have no probes."""
    policy = value.get("restartPolicy")
    if policy == "Always" or (isinstance(policy, str) and has_placeholder(policy)):
        return
    for name in ("readinessProbe", "livenessProbe", "startupProbe"):
        if value.get(name) is not None:
            yield (name,), "must not be set: an init container that is not a sidecar has no probes"


def _unique_port_names(value: dict[str, Any]) -> Iterator[Mistake]:
    seen = set()
    ports = value.get("ports")
    for number, port in enumerate(ports if isinstance(ports, list) else ()):
        name = port.get("name") if isinstance(port, dict) else None
        if isinstance(name, str) and name in seen:
            yield ("ports", number, "name"), "is the name of another port of the container"
        if isinstance(name, str) and name:
            seen.add(name)


def _one_value(value: dict[str, Any]) -> Iterator[Mistake]:
    if value.get("value") and value.get("valueFrom") is not None:
        yield ("valueFrom",), "must not be set beside value"


_SUBSCRIPT: Final = lazy_pattern(r"metadata\.(annotations|labels)\['[^']+'\]")
#: pkg/apis/core/validation/validation.go (validEnvDownwardAPIFieldPathExpressions).
_POD_FIELDS: Final = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)


def _pod_field(value: Any) -> str:
    if value in ("spec.host", *_POD_FIELDS) or (
        isinstance(value, str) and _SUBSCRIPT.fullmatch(value)
    ):
        return ""
    return f"must be {', '.join(_POD_FIELDS)}, or an annotation or label"


def _one_source(value: dict[str, Any]) -> Iterator[Mistake]:
    sources = [name for name in _VALUE_FROM.fields if value.get(name) is not None]
    if len(sources) != 1:
        yield (), "must name one source"


_VALUE_FROM: Final = Fields(
    {
        "fieldRef": Fields(
            {"apiVersion": _one_of("v1"), "fieldPath": _pod_field}, required=("fieldPath",)
        ),
        **dict.fromkeys(
            ("resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"), _anything
        ),
    },
    also=_one_source,
)


def _container(*, init: bool) -> Fields:
    probe, check = _probe(one_success=True), _no_probes if init else _unique_port_names
    return Fields(
        {
            "name": _filled,
            "image": _filled,
            "env": Items(
                Fields(
                    {"name": _filled, "value": _text, "valueFrom": _VALUE_FROM},
                    required=("name",),
                    also=_one_value,
                )
            ),
            "ports": Items(
                Fields(
                    {
                        "containerPort": _PORT_NUMBER,
                        "protocol": _one_of("TCP", "UDP", "SCTP"),
                        "name": _port_name,
                    },
                    required=("containerPort",),
                )
            ),
            "volumeMounts": Items(
                Fields({"name": _filled, "mountPath": _filled}, required=("name", "mountPath"))
            ),
            "lifecycle": Fields(
                {"preStop": _PRE_STOP, "postStart": _POST_START},
                known=("preStop", "postStart", "stopSignal"),
            ),
            "restartPolicy": _text,
            "readinessProbe": _probe(one_success=False),
            "livenessProbe": probe,
            "startupProbe": probe,
        },
        # The image of an injected container may be left out.
        required=("name",),
        also=check,
    )


def _port_name(value: Any) -> str:
    return _port(value) if value != "" and isinstance(value, str) else _text(value)


def _unique_names(value: dict[str, Any]) -> Iterator[Mistake]:
    """Check that no two containers, init containers among them, have one name."""
    seen = set()
    for part in ("containers", "initContainers"):
        containers = value.get(part)
        for number, each in enumerate(containers if isinstance(containers, list) else ()):
            name = each.get("name") if isinstance(each, dict) else None
            if isinstance(name, str) and name in seen:
                yield (part, number, "name"), "is the name of another container of the pod"
            if isinstance(name, str) and name:
                seen.add(name)


def _unmounted(value: dict[str, Any]) -> Iterator[Mistake]:
    """Check that each volume that is mounted is one of the pod."""
    yield from _unique_names(value)
    volumes = {each.get("name") for each in mappings(value.get("volumes"))}
    for part in ("containers", "initContainers"):
        for number, container in enumerate(mappings(value.get(part))):
            for index, mount in enumerate(mappings(container.get("volumeMounts"))):
                name = mount.get("name")
                if isinstance(name, str) and not (name in volumes or has_placeholder(name)):
                    yield (
                        (part, number, "volumeMounts", index, "name"),
                        "names no volume of the pod",
                    )


def _pod_spec(restart: Leaf, *, mounts: bool = True) -> Fields:
    constraint = Fields(
        {
            "maxSkew": _integer(1),
            "minDomains": _integer(1),
            "topologyKey": _filled,
            "whenUnsatisfiable": _one_of("DoNotSchedule", "ScheduleAnyway", empty=False),
        },
        required=("maxSkew", "topologyKey", "whenUnsatisfiable"),
    )
    return Fields(
        {
            "activeDeadlineSeconds": _integer(1),
            "terminationGracePeriodSeconds": _integer(wide=True),
            "restartPolicy": restart,
            "containers": Items(_container(init=False), least=1),
            "initContainers": Items(_container(init=True)),
            "topologySpreadConstraints": Items(constraint),
            "volumes": Items(Fields({"name": _filled}, required=("name",))),
            "os": Fields({"name": _one_of("linux", "windows", empty=False)}, required=("name",)),
        },
        # Webhooks may add volumes to a pod. A StatefulSet's are not compared by the API server.
        also=_unmounted if mounts else _unique_names,
    )


_ANY_RESTART: Final = _one_of("Always", "OnFailure", "Never")


def _always(value: Any) -> str:
    return "" if value in ("Always", "") else "must be Always: the controller restarts its pods"


def _ends(value: Any) -> str:
    return "" if value in ("OnFailure", "Never") else "must be OnFailure or Never in a Job"


def _selector_terms(value: dict[str, Any]) -> Iterator[Mistake]:
    terms = value.get("matchExpressions")
    for number, term in enumerate(terms if isinstance(terms, list) else ()):
        if not isinstance(term, dict):
            continue
        here, operator = ("matchExpressions", number), term.get("operator")
        filled = bool(term.get("values"))
        if operator not in ("In", "NotIn", "Exists", "DoesNotExist"):
            yield (*here, "operator"), "must be In, NotIn, Exists or DoesNotExist"
        elif operator.endswith("In") and not filled:
            yield (*here, "values"), f"must not be empty for {operator}"
        elif not operator.endswith("In") and filled:
            yield (*here, "values"), f"must not be set for {operator}"


_SELECTOR_FIELDS: Final = {"matchLabels": _texts, "matchExpressions": _anything}
_SELECTOR_KEYS: Final = tuple(_SELECTOR_FIELDS)
_SELECTOR: Final = Fields(
    {"matchLabels": _texts, "matchExpressions": _anything},
    known=_SELECTOR_KEYS,
    also=_selector_terms,
)


def _filled_selector(value: dict[str, Any]) -> Iterator[Mistake]:
    if not any(value.get(key) for key in _SELECTOR_KEYS):
        yield (), "must select something"
    yield from _selector_terms(value)


_OWN_SELECTOR: Final = Fields(
    {"matchLabels": _texts, "matchExpressions": _anything},
    known=_SELECTOR_KEYS,
    also=_filled_selector,
)


def _only_rolling(value: dict[str, Any]) -> Iterator[Mistake]:
    kind = value.get("type")
    if kind in ("Recreate", "OnDelete") and value.get("rollingUpdate") is not None:
        yield ("rollingUpdate",), f"must not be set for type {kind}"


def _one_of_both(value: dict[str, Any]) -> Iterator[Mistake]:
    """Check a DaemonSet's numbers: one of them, and only one, is not 0."""
    rolling = value.get("rollingUpdate")
    if not isinstance(rolling, dict):
        return
    surge, unavailable = rolling.get("maxSurge"), rolling.get("maxUnavailable")
    if surge is not None and not _is_none(surge) and not _is_none(unavailable, default=1):
        yield ("rollingUpdate", "maxSurge"), "must not be set where maxUnavailable is not 0"
    elif _is_none(unavailable, default=1) and (surge is None or _is_none(surge)):
        yield ("rollingUpdate", "maxUnavailable"), "must not be 0 where maxSurge is 0"


def _is_none(value: Any, default: int = 0) -> bool:
    return (default if value is None else value) in (0, "0%")


def _daemon_update(value: dict[str, Any]) -> Iterator[Mistake]:
    if value.get("type") in (None, "", "RollingUpdate"):
        yield from _one_of_both(value)


def _number_or_text(value: Any) -> str:
    """Check a field that is dropped unless a feature is switched on: its type only."""
    return "" if isinstance(value, str) else _integer()(value)


_COUNT: Final = _integer(0)
_ROLLING: Final = {"maxSurge": _share(at_most_all=False), "maxUnavailable": _share()}
_POD_TEMPLATE: Final = Fields({"spec": _pod_spec(_always)})
_STATEFUL_TEMPLATE: Final = Fields({"spec": _pod_spec(_always, mounts=False)})
_DEPLOYMENT: Final = Fields(
    {
        "replicas": _COUNT,
        "minReadySeconds": _COUNT,
        "revisionHistoryLimit": _COUNT,
        "progressDeadlineSeconds": _COUNT,
        "paused": _flag,
        "selector": _OWN_SELECTOR,
        "strategy": Fields(
            {
                "type": _one_of("RollingUpdate", "Recreate"),
                "rollingUpdate": Fields(_ROLLING, known=tuple(_ROLLING)),
            },
            known=("type", "rollingUpdate"),
            also=_only_rolling,
        ),
        "template": _POD_TEMPLATE,
    },
    known=(
        "replicas",
        "selector",
        "template",
        "strategy",
        "minReadySeconds",
        "revisionHistoryLimit",
        "paused",
        "progressDeadlineSeconds",
    ),
)
_STATEFUL_SET: Final = Fields(
    {
        "replicas": _COUNT,
        "minReadySeconds": _COUNT,
        "revisionHistoryLimit": _integer(),
        "serviceName": _text,
        "podManagementPolicy": _one_of("OrderedReady", "Parallel"),
        "selector": _OWN_SELECTOR,
        "updateStrategy": Fields(
            {
                "type": _one_of("RollingUpdate", "OnDelete"),
                "rollingUpdate": Fields(
                    {"partition": _COUNT, "maxUnavailable": _number_or_text},
                    known=("partition", "maxUnavailable"),
                ),
            },
            known=("type", "rollingUpdate"),
            also=_only_rolling,
        ),
        "template": _STATEFUL_TEMPLATE,
    },
    known=(
        "replicas",
        "selector",
        "template",
        "volumeClaimTemplates",
        "serviceName",
        "podManagementPolicy",
        "updateStrategy",
        "revisionHistoryLimit",
        "minReadySeconds",
        "persistentVolumeClaimRetentionPolicy",
        "ordinals",
    ),
)
_DAEMON_SET: Final = Fields(
    {
        "minReadySeconds": _COUNT,
        "selector": _OWN_SELECTOR,
        "updateStrategy": Fields(
            {
                "type": _one_of("RollingUpdate", "OnDelete"),
                "rollingUpdate": Fields(
                    {name: _share() for name in _ROLLING}, known=tuple(_ROLLING)
                ),
            },
            known=("type", "rollingUpdate"),
            also=_daemon_update,
        ),
        "template": _POD_TEMPLATE,
    },
    known=(
        "selector",
        "template",
        "updateStrategy",
        "minReadySeconds",
        "revisionHistoryLimit",
    ),
)
_JOB_FIELDS: Final[dict[str, Schema]] = {
    "backoffLimit": _COUNT,
    "activeDeadlineSeconds": _integer(0, wide=True),
    "parallelism": _COUNT,
    "completions": _COUNT,
    "ttlSecondsAfterFinished": _COUNT,
    "podReplacementPolicy": _one_of("TerminatingOrFailed", "Failed", empty=False),
    "suspend": _flag,
    "template": Fields({"spec": _pod_spec(_ends)}),
}


def _restart_of_job(value: dict[str, Any]) -> Iterator[Mistake]:
    template = value.get("template")
    spec = template.get("spec") if isinstance(template, dict) else None
    if isinstance(spec, dict) and spec.get("restartPolicy") is None:
        yield ("template", "spec", "restartPolicy"), "is required in a Job: OnFailure or Never"


_JOB: Final = Fields(_JOB_FIELDS, also=_restart_of_job)
_CRON_JOB: Final = Fields(
    {
        "concurrencyPolicy": _one_of("Allow", "Forbid", "Replace"),
        "startingDeadlineSeconds": _integer(0, wide=True),
        "jobTemplate": Fields({"spec": _JOB}),
    }
)
_BUDGET: Final = Fields(
    {
        "minAvailable": _share(),
        "maxUnavailable": _share(),
        "unhealthyPodEvictionPolicy": _one_of("IfHealthyBudget", "AlwaysAllow", empty=False),
        "selector": _SELECTOR,
    },
    known=("minAvailable", "maxUnavailable", "unhealthyPodEvictionPolicy", "selector"),
)
_POLICY: Final = Fields(
    {
        "type": _one_of("Pods", "Percent", empty=False),
        "value": _integer(1),
        "periodSeconds": _integer(1, 1800),
    },
    required=("type", "value", "periodSeconds"),
)
_SCALING: Final = Fields(
    {
        "stabilizationWindowSeconds": _integer(0, 3600),
        "selectPolicy": _one_of("Max", "Min", "Disabled", empty=False),
        "policies": Items(_POLICY, least=1),
    }
)


def _bounds(value: dict[str, Any]) -> Iterator[Mistake]:
    least, most = value.get("minReplicas"), value.get("maxReplicas")
    if isinstance(least, int) and isinstance(most, int) and least > most:
        yield ("maxReplicas",), f"must not be below minReplicas {least}"


_AUTOSCALER: Final = Fields(
    {
        # With the feature HPAScaleToZero, 0 is accepted.
        "minReplicas": _COUNT,
        "maxReplicas": _integer(1),
        "scaleTargetRef": Fields({"kind": _filled, "name": _filled}, required=("kind", "name")),
        "behavior": Fields({"scaleDown": _SCALING, "scaleUp": _SCALING}),
    },
    required=("maxReplicas", "scaleTargetRef"),
    also=_bounds,
)


def _policy_of_type(value: dict[str, Any]) -> Iterator[Mistake]:
    sends_outside = value.get("type") in ("NodePort", "LoadBalancer") or value.get("externalIPs")
    if value.get("externalTrafficPolicy") and not sends_outside:
        reason = "must not be set for a Service that is not reached from outside the cluster"
        yield ("externalTrafficPolicy",), reason


_SERVICE: Final = Fields(
    {
        "type": _one_of("ClusterIP", "NodePort", "LoadBalancer", "ExternalName"),
        "ports": Items(
            Fields(
                {
                    "port": _PORT_NUMBER,
                    "targetPort": lambda value: "" if value in (0, "") else _port(value),
                    "protocol": _one_of("TCP", "UDP", "SCTP"),
                },
                required=("port",),
            )
        ),
        "publishNotReadyAddresses": _flag,
        "externalTrafficPolicy": _one_of("Local", "Cluster"),
    },
    also=_policy_of_type,
)

#: The schema of the spec of each kind, by group and kind.
SPECS: Final = {
    ("", "Pod"): _pod_spec(_ANY_RESTART, mounts=False),
    ("apps", "Deployment"): _DEPLOYMENT,
    ("apps", "StatefulSet"): _STATEFUL_SET,
    ("apps", "DaemonSet"): _DAEMON_SET,
    ("batch", "Job"): _JOB,
    ("batch", "CronJob"): _CRON_JOB,
    ("policy", "PodDisruptionBudget"): _BUDGET,
    ("autoscaling", "HorizontalPodAutoscaler"): _AUTOSCALER,
    ("", "Service"): _SERVICE,
}
