"""Manifests with one mistake each, or none, that more than one linter has a check for."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

DEPLOYMENT: Final = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: kubernetes.io/hostname
              labelSelector: {matchLabels: {app: web}}
      containers:
        - name: app
          image: shop/web:1.2.3
          ports: [{name: http, containerPort: 8080}]
          readinessProbe: {httpGet: {path: /ready, port: http}}
          livenessProbe: {httpGet: {path: /alive, port: http}}
          lifecycle: {preStop: {sleep: {seconds: 10}}}
"""
SERVICE: Final = """\
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: http}]}
"""
BUDGET: Final = """\
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: shop}
spec:
  maxUnavailable: 1
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector: {matchLabels: {app: web}}
"""
SCALER: Final = """\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 3
  maxReplicas: 10
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 70}}}]
"""
_REPLICAS: Final = "  replicas: 3\n"
#: The probes' names in the other linters' lists differ from ours; what they are about is the same.
BUDGET_BLOCKS: Final = ("SL153", ("pdb-max-unavailable", "pdb-min-available"), ())
BUDGET_MISSING: Final = ("SL179", (), ("deployment-has-poddisruptionbudget",))
BUDGET_AUTOSCALED: Final = ("SL180", ("pdb-min-available",), ())
BUDGET_UNHEALTHY: Final = ("SL181", ("pdb-unhealthy-pod-eviction-policy",), ())
BUDGET_OF_NOTHING: Final = ("SL191", (), ("deployment-has-poddisruptionbudget",))
SELECTOR: Final = (
    "SL171",
    ("mismatching-selector",),
    ("deployment-pod-selector-labels-match-template-metadata-labels",),
)
SERVICE_OF_NOTHING: Final = ("SL189", ("dangling-service",), ("service-targets-pod",))
READINESS: Final = ("SL182", ("no-readiness-probe",), ("pod-probes",))
SAME_PROBES: Final = ("SL183", (), ("pod-probes-identical",))
PROBE_PORT: Final = ("SL176", ("readiness-port",), ())
SPREAD: Final = (
    "SL184",
    ("no-anti-affinity",),
    ("deployment-has-host-podantiaffinity", "pod-topology-spread-constraints"),
)
ONE_POD: Final = ("SL193", ("minimum-three-replicas",), ("deployment-replicas",))
AUTOSCALED_TO_ONE: Final = (
    "SL185",
    ("hpa-minimum-three-replicas",),
    ("horizontalpodautoscaler-replicas",),
)
REPLICAS_WRITTEN: Final = (
    "SL175",
    (),
    ("deployment-targeted-by-hpa-does-not-have-replicas-configured",),
)
RECREATE: Final = ("SL154", ("no-rolling-update-strategy",), ("deployment-strategy",))
TAKES_ALL: Final = ("SL174", (), ())
PORT_OF_NOBODY: Final = ("SL190", (), ())


class Case(Struct, frozen=True):
    """One set of manifests, what it is about, and whether that is a mistake.

    ``about``: our rule, and the checks of kube-linter and kube-score about the same thing.
    """

    name: str
    text: str
    about: tuple[str, tuple[str, ...], tuple[str, ...]]
    mistake: bool = True


def _all(
    deployment: str = DEPLOYMENT, *, budget: str = BUDGET, service: str = SERVICE, more: str = ""
) -> str:
    return "---\n".join(text for text in (deployment, service, budget, more) if text)


def _changed(old: str, new: str) -> str:
    assert DEPLOYMENT.count(old) == 1, old
    return _all(DEPLOYMENT.replace(old, new))


def _budget(old: str, new: str, **others: str) -> str:
    assert BUDGET.count(old) == 1, old
    return _all(budget=BUDGET.replace(old, new), **others)


def _without(first: str, behind: str) -> str:
    """Return the Deployment without the lines from one up to another."""
    begin, end = DEPLOYMENT.index(first), DEPLOYMENT.index(behind)
    return DEPLOYMENT[:begin] + DEPLOYMENT[end:]


_SCALED: Final = DEPLOYMENT.replace(_REPLICAS, "")
_SPREAD, _AFFINITY, _CONTAINERS = (
    "      topologySpreadConstraints:",
    "      affinity:",
    "      containers:",
)
_PROBE: Final = "          readinessProbe: {httpGet: {path: /ready, port: http}}\n"
_MAX: Final = "  maxUnavailable: 1\n"
CASES: Final = (
    Case("a sound Deployment", _all(), BUDGET_MISSING, mistake=False),
    Case("a budget that lets none go", _budget(_MAX, "  maxUnavailable: 0\n"), BUDGET_BLOCKS),
    Case("a budget of 0 percent", _budget(_MAX, "  maxUnavailable: 0%\n"), BUDGET_BLOCKS),
    Case("a budget for all pods", _budget(_MAX, "  minAvailable: 3\n"), BUDGET_BLOCKS),
    Case("a budget for more pods", _budget(_MAX, "  minAvailable: 4\n"), BUDGET_BLOCKS),
    Case("a budget for 100 percent", _budget(_MAX, "  minAvailable: 100%\n"), BUDGET_BLOCKS),
    Case(
        "a percentage that rounds up to all",
        _budget(_MAX, "  minAvailable: 90%\n"),
        BUDGET_BLOCKS,
    ),
    Case(
        "a budget for all but one",
        _budget(_MAX, "  minAvailable: 2\n"),
        BUDGET_BLOCKS,
        mistake=False,
    ),
    Case(
        "a percentage that leaves one",
        _budget(_MAX, "  minAvailable: 60%\n"),
        BUDGET_BLOCKS,
        mistake=False,
    ),
    Case(
        "a small share that rounds up to one",
        _budget(_MAX, "  maxUnavailable: 1%\n"),
        BUDGET_BLOCKS,
        mistake=False,
    ),
    Case("no budget", _all(budget=""), BUDGET_MISSING),
    Case(
        "a budget of another app",
        _budget("{app: web}}", "{app: other}}"),
        BUDGET_OF_NOTHING,
    ),
    Case(
        "a budget of another namespace",
        _budget("namespace: shop", "namespace: other"),
        BUDGET_MISSING,
    ),
    Case(
        "a budget by an expression",
        _budget("{matchLabels: {app: web}}", "{matchExpressions: [{key: app, operator: Exists}]}"),
        BUDGET_MISSING,
        mistake=False,
    ),
    Case(
        "a budget without a policy for pods that are not ready",
        _budget("  unhealthyPodEvictionPolicy: AlwaysAllow\n", ""),
        BUDGET_UNHEALTHY,
    ),
    Case(
        "the policy written as its default",
        _budget("AlwaysAllow", "IfHealthyBudget"),
        BUDGET_UNHEALTHY,
        mistake=False,
    ),
    Case(
        "a budget for the autoscaler's minimum",
        _all(_SCALED, budget=BUDGET.replace(_MAX, "  minAvailable: 3\n"), more=SCALER),
        BUDGET_AUTOSCALED,
    ),
    Case(
        "a budget below the autoscaler's minimum",
        _all(_SCALED, budget=BUDGET.replace(_MAX, "  minAvailable: 2\n"), more=SCALER),
        BUDGET_AUTOSCALED,
        mistake=False,
    ),
    Case(
        "a selector of other labels",
        _all(
            DEPLOYMENT.replace(
                "selector: {matchLabels: {app: web}}\n  t", "selector: {matchLabels: {app: x}}\n  t"
            )
        ),
        SELECTOR,
    ),
    Case(
        "a selector of a label that is missing",
        _all(
            DEPLOYMENT.replace(
                "selector: {matchLabels: {app: web}}\n  t",
                "selector: {matchLabels: {app: web, tier: a}}\n  t",
            )
        ),
        SELECTOR,
    ),
    Case(
        "a selector by an expression that fits",
        _all(
            DEPLOYMENT.replace(
                "selector: {matchLabels: {app: web}}\n  t",
                "selector: {matchExpressions: [{key: app, operator: In, values: [web]}]}\n  t",
            )
        ),
        SELECTOR,
        mistake=False,
    ),
    Case(
        "a Service of another app",
        _all(service=SERVICE.replace("app: web", "app: other")),
        SERVICE_OF_NOTHING,
    ),
    Case(
        "a Service of another namespace",
        _all(service=SERVICE.replace("namespace: shop", "namespace: other")),
        SERVICE_OF_NOTHING,
    ),
    Case(
        "a Service without a selector",
        _all(service=SERVICE.replace("selector: {app: web}, ", "")),
        SERVICE_OF_NOTHING,
        mistake=False,
    ),
    Case(
        "a Service with a port that no pod has",
        _all(service=SERVICE.replace("targetPort: http", "targetPort: web")),
        PORT_OF_NOBODY,
    ),
    Case("no readiness probe", _changed(_PROBE, ""), READINESS),
    Case(
        "no readiness probe, and no Service",
        _all(DEPLOYMENT.replace(_PROBE, ""), service=""),
        READINESS,
        mistake=False,
    ),
    Case("readiness is liveness", _changed("path: /alive", "path: /ready"), SAME_PROBES),
    Case(
        "readiness is liveness, which is more patient",
        _all(
            DEPLOYMENT.replace(
                "livenessProbe: {httpGet: {path: /alive, port: http}}",
                "livenessProbe: {httpGet: {path: /ready, port: http}, failureThreshold: 30}",
            )
        ),
        SAME_PROBES,
        mistake=False,
    ),
    Case(
        "readiness by the name of a port that is missing",
        _changed("path: /ready, port: http", "path: /ready, port: web"),
        PROBE_PORT,
    ),
    Case(
        "readiness by a number that is not declared",
        _changed("path: /ready, port: http", "path: /ready, port: 9000"),
        PROBE_PORT,
        mistake=False,
    ),
    Case(
        "nothing keeps pods apart",
        _all(_without(_SPREAD, _CONTAINERS)),
        SPREAD,
    ),
    Case("only anti-affinity", _all(_without(_SPREAD, _AFFINITY)), SPREAD, mistake=False),
    Case("only a spread", _all(_without(_AFFINITY, _CONTAINERS)), SPREAD, mistake=False),
    Case(
        "one replica",
        _all(DEPLOYMENT.replace(_REPLICAS, "  replicas: 1\n"), budget=""),
        ONE_POD,
    ),
    Case("two replicas", _changed(_REPLICAS, "  replicas: 2\n"), ONE_POD, mistake=False),
    Case(
        "an autoscaler down to one",
        _all(_SCALED, more=SCALER.replace("minReplicas: 3", "minReplicas: 1")),
        AUTOSCALED_TO_ONE,
    ),
    Case(
        "an autoscaler without a minimum",
        _all(_SCALED, more=SCALER.replace("  minReplicas: 3\n", "")),
        AUTOSCALED_TO_ONE,
    ),
    Case(
        "an autoscaler down to two",
        _all(_SCALED, more=SCALER.replace("minReplicas: 3", "minReplicas: 2")),
        AUTOSCALED_TO_ONE,
        mistake=False,
    ),
    Case("replicas beside an autoscaler", _all(more=SCALER), REPLICAS_WRITTEN),
    Case(
        "no replicas beside an autoscaler",
        _all(_SCALED, more=SCALER),
        REPLICAS_WRITTEN,
        mistake=False,
    ),
    Case(
        "replicas beside an autoscaler of another",
        _all(more=SCALER.replace("name: web}\n  min", "name: other}\n  min")),
        REPLICAS_WRITTEN,
        mistake=False,
    ),
    Case(
        "Recreate", _changed(_REPLICAS, "  replicas: 3\n  strategy: {type: Recreate}\n"), RECREATE
    ),
    Case(
        "RollingUpdate, written",
        _changed(_REPLICAS, "  replicas: 3\n  strategy: {type: RollingUpdate}\n"),
        RECREATE,
        mistake=False,
    ),
    Case(
        "a rollout that takes all",
        _changed(_REPLICAS, "  replicas: 3\n  strategy: {rollingUpdate: {maxUnavailable: 100%}}\n"),
        TAKES_ALL,
    ),
)
