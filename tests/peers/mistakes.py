"""Sixty mistakes that cost requests or block drains, each planted alone into a sound manifest."""

from __future__ import annotations

from typing import NamedTuple

SOUND = """\
apiVersion: v1
kind: Namespace
metadata:
  name: shop
---
apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: shop
spec:
  selector:
    app: web
  ports:
    - name: http
      port: 80
      targetPort: 8080
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: web
  namespace: shop
spec:
  maxUnavailable: 1
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      app: web
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
spec:
  replicas: 3
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxSurge: 1
      maxUnavailable: 0
  selector:
    matchLabels:
      app: web
  template:
    metadata:
      labels:
        app: web
    spec:
      terminationGracePeriodSeconds: 60
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: DoNotSchedule
          labelSelector:
            matchLabels:
              app: web
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: kubernetes.io/hostname
              labelSelector:
                matchLabels:
                  app: web
      containers:
        - name: web
          image: registry.example/shop/web:1.2
          ports:
            - name: http
              containerPort: 8080
          readinessProbe:
            httpGet:
              path: /ready
              port: 8080
            periodSeconds: 5
          livenessProbe:
            httpGet:
              path: /alive
              port: 8080
            periodSeconds: 10
          lifecycle:
            preStop:
              exec:
                command: ["sleep", "10"]
"""
GRACE = "      terminationGracePeriodSeconds: 60\n"
HOOK = '              exec:\n                command: ["sleep", "10"]\n'
LIFECYCLE = f"          lifecycle:\n            preStop:\n{HOOK}"
READINESS = SOUND[SOUND.index("          readinessProbe") : SOUND.index("          livenessProbe")]
SPREAD = SOUND[SOUND.index("      topologySpread") : SOUND.index("      containers:")]
BUDGET = SOUND[SOUND.index("apiVersion: policy/v1") : SOUND.index("apiVersion: apps/v1")]
STRATEGY = SOUND[
    SOUND.index("  strategy:") : SOUND.index(
        "  selector:\n    matchLabels:\n      app: web\n  template"
    )
]
LABELS = "      labels:\n        app: web\n    spec:\n"
INJECTED = "kind: Namespace\nmetadata:\n  name: shop\n"
IN_MESH = INJECTED + "  labels:\n    istio-injection: enabled\n"
IMAGE = "          image: registry.example/shop/web:1.2\n"
AUTOSCALER = """\
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: web
  namespace: shop
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: %s
  maxReplicas: 9
  metrics:
    - type: Resource
      resource: {name: cpu, target: {type: Utilization, averageUtilization: 70}}
"""
INGRESS = """\
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  namespace: shop
  annotations:
    alb.ingress.kubernetes.io/target-type: ip
    alb.ingress.kubernetes.io/target-group-attributes: deregistration_delay.timeout_seconds=120
spec:
  ingressClassName: alb
  rules:
    - http:
        paths:
          - path: /
            pathType: Prefix
            backend: {service: {name: web, port: {number: 80}}}
"""


def _configured(config: str) -> str:
    """Return the annotation of a pod with a proxy configuration."""
    lines = "".join(f"          {line}\n" for line in config.splitlines())
    return f"      annotations:\n        proxy.istio.io/config: |\n{lines}"


SOUND_CONFIG = _configured("terminationDrainDuration: 40s")
#: The same in Istio, with a proxy that stays as long as the app.
SOUND_IN_MESH = SOUND.replace(INJECTED, IN_MESH, 1).replace(LABELS, SOUND_CONFIG + LABELS, 1)


STATEFUL = SOUND.replace("kind: Deployment", "kind: StatefulSet").replace(
    STRATEGY, "  serviceName: web\n"
)
JOB = """\
---
apiVersion: batch/v1
kind: Job
metadata:
  name: migrate
  namespace: shop
spec:
  template:
    metadata:
      labels:
        sidecar.istio.io/inject: "false"
    spec:
      restartPolicy: Never
      containers:
        - name: migrate
          image: registry.example/shop/migrate:1
"""


class Mistake(NamedTuple):
    """A mistake: what is replaced in the sound manifest, what is added, and the versions.

    ``sound`` is the manifest without it.
    """

    title: str
    edits: tuple[tuple[str, str], ...]
    added: str = ""
    kubernetes: str | None = None
    sound: str = SOUND

    @property
    def text(self) -> str:
        """The manifest with the mistake."""
        text = self.sound
        for old, new in self.edits:
            if old not in text:
                raise ValueError(f"{self.title}: not in the manifest: {old!r}")
            text = text.replace(old, new, 1)
        return text + self.added


def _one(title: str, old: str, new: str, added: str = "", kubernetes: str | None = None) -> Mistake:
    return Mistake(title, ((old, new),), added, kubernetes)


def _mesh(title: str, config: str, *more: tuple[str, str], added: str = "") -> Mistake:
    """In Istio, with another proxy configuration on the pod; empty: with none."""
    new = _configured(config) if config else ""
    return Mistake(title, ((SOUND_CONFIG, new), *more), added, sound=SOUND_IN_MESH)


def _hook(title: str, new: str, *more: tuple[str, str]) -> Mistake:
    return Mistake(title, ((HOOK, new), *more))


def _started(title: str, command: str, *more: tuple[str, str]) -> Mistake:
    return Mistake(title, ((IMAGE, f"{IMAGE}          command: {command}\n"), *more))


MISTAKES = (
    _hook(
        "preStop as long as the grace period",
        '              exec:\n                command: ["sleep", "60"]\n',
    ),
    Mistake("sleep 30 on the default grace period", ((GRACE, ""), ('"10"', '"30"'))),
    _one("sleep above the grace period", '"10"', '"90"'),
    _one("no preStop behind a Service", LIFECYCLE, ""),
    _mesh("Istio's classic default drain", "", ('"10"', '"20"')),
    _mesh("EXIT_ON_ZERO unquoted", "proxyMetadata:\n  EXIT_ON_ZERO_ACTIVE_CONNECTIONS: true"),
    _mesh("drain above the grace period", "terminationDrainDuration: 90s"),
    _mesh(
        "MINIMUM_DRAIN_DURATION above the grace period",
        "proxyMetadata:\n  EXIT_ON_ZERO_ACTIVE_CONNECTIONS: 'true'\n  MINIMUM_DRAIN_DURATION: 90s",
    ),
    _mesh(
        "terminationDrainDuration beside exit-on-zero",
        "terminationDrainDuration: 20s\nproxyMetadata:\n  EXIT_ON_ZERO_ACTIVE_CONNECTIONS: 'true'\n  MINIMUM_DRAIN_DURATION: 15s",
    ),
    _mesh("typo in the proxy configuration", "terminationDrainDuraton: 20s"),
    _mesh(
        "proxy configuration on the Deployment",
        "",
        (
            "kind: Deployment\nmetadata:\n  name: web\n  namespace: shop\n",
            "kind: Deployment\nmetadata:\n  name: web\n  namespace: shop\n  annotations:\n    proxy.istio.io/config: |\n      terminationDrainDuration: 20s\n",
        ),
    ),
    _started("a shell as PID 1", '["/bin/sh", "-c", "echo start; python app.py; echo done"]'),
    _started("npm start", '["npm", "start"]'),
    _one("grace period 0 with a hook", GRACE, GRACE.replace("60", "0")),
    Mistake(
        "Spring's shutdown phase above the grace period",
        (
            (
                IMAGE,
                f'{IMAGE}          command: ["java", "-jar", "app.jar"]\n          env:\n            - name: SERVER_SHUTDOWN\n              value: graceful\n            - name: SPRING_LIFECYCLE_TIMEOUT_PER_SHUTDOWN_PHASE\n              value: 90s\n',
            ),
        ),
    ),
    _started(
        "gunicorn's limit above the grace period",
        '["gunicorn", "--graceful-timeout", "120", "app:app"]',
    ),
    _one(
        "budget with maxUnavailable 0",
        "  maxUnavailable: 1\n  unhealthy",
        "  maxUnavailable: 0\n  unhealthy",
    ),
    _one(
        "budget with as many pods as there are",
        "  maxUnavailable: 1\n  unhealthy",
        "  minAvailable: 3\n  unhealthy",
    ),
    _one(
        "budget with minAvailable 100 %",
        "  maxUnavailable: 1\n  unhealthy",
        "  minAvailable: 100%\n  unhealthy",
    ),
    Mistake(
        "two budgets for one pod",
        (),
        "---\n" + BUDGET.replace("name: web", "name: web-2", 1).removesuffix("---\n"),
    ),
    _one("no budget", BUDGET, ""),
    _one(
        "a budget that selects nothing",
        "AlwaysAllow\n  selector:\n    matchLabels:\n      app: web",
        "AlwaysAllow\n  selector:\n    matchLabels:\n      app: wep",
    ),
    _one(
        "a budget without a policy for unhealthy pods",
        "  unhealthyPodEvictionPolicy: AlwaysAllow\n",
        "",
    ),
    Mistake("an ALB that deregisters for longer than preStop", (), INGRESS),
    Mistake(
        "a native sidecar that sleeps",
        (
            (
                "      containers:\n        - name: web\n",
                '      initContainers:\n        - name: helper\n          image: registry.example/shop/helper:1\n          restartPolicy: Always\n          lifecycle:\n            preStop:\n              exec:\n                command: ["sleep", "10"]\n      containers:\n        - name: web\n',
            ),
        ),
        kubernetes="1.33",
    ),
    _hook(
        "an httpGet hook to localhost",
        "              httpGet:\n                host: localhost\n                path: /stop\n                port: 8080\n",
    ),
    _mesh(
        "an httpGet hook in a strict mesh",
        "terminationDrainDuration: 40s",
        (HOOK, "              httpGet:\n                path: /stop\n                port: 8080\n"),
        added="---\napiVersion: security.istio.io/v1\nkind: PeerAuthentication\nmetadata:\n  name: default\n  namespace: shop\nspec:\n  mtls: {mode: STRICT}\n",
    ),
    _one("no readiness probe", READINESS, ""),
    _one(
        "readiness the same as liveness",
        "path: /ready\n              port: 8080\n            periodSeconds: 5",
        "path: /alive\n              port: 8080\n            periodSeconds: 10",
    ),
    _one(
        "readiness on a port that is missing",
        "path: /ready\n              port: 8080",
        "path: /ready\n              port: web",
    ),
    _one("maxUnavailable 100 %", "      maxUnavailable: 0\n", "      maxUnavailable: 100%\n"),
    Mistake(
        "maxUnavailable 2 of 2",
        (
            ("replicas: 3", "replicas: 2"),
            ("      maxUnavailable: 0\n", "      maxUnavailable: 2\n"),
        ),
    ),
    Mistake(
        "maxUnavailable 1 of 1",
        (
            ("replicas: 3", "replicas: 1"),
            ("      maxUnavailable: 0\n", "      maxUnavailable: 1\n"),
        ),
    ),
    _one("maxSurge 0 with maxUnavailable 0", "      maxSurge: 1\n", "      maxSurge: 0\n"),
    _one("Recreate", STRATEGY, "  strategy:\n    type: Recreate\n"),
    _one("one replica", "replicas: 3", "replicas: 1"),
    Mistake("an autoscaler down to one", (("  replicas: 3\n", ""),), AUTOSCALER % 1),
    Mistake("replicas beside an autoscaler", (), AUTOSCALER % 3),
    Mistake(
        "a budget not below the autoscaler's minimum",
        (
            ("  replicas: 3\n", ""),
            ("  maxUnavailable: 1\n  unhealthy", "  minAvailable: 3\n  unhealthy"),
        ),
        AUTOSCALER % 3,
    ),
    Mistake(
        "grace period at the wrong level",
        ((GRACE, ""), ("  replicas: 3\n", "  replicas: 3\n  terminationGracePeriodSeconds: 60\n")),
    ),
    Mistake(
        "grace period in the container",
        ((GRACE, ""), (IMAGE, IMAGE + "          terminationGracePeriodSeconds: 60\n")),
    ),
    _one(
        "preStop beside lifecycle",
        LIFECYCLE,
        LIFECYCLE.replace("            preStop:", "          preStop:").replace(
            "lifecycle:\n", "lifecycle: {}\n"
        ),
    ),
    _one("grace period as a string", GRACE, GRACE.replace("60", '"60"')),
    _hook(
        "a sleep action on Kubernetes 1.28", "              sleep:\n                seconds: 10\n"
    )._replace(kubernetes="1.28"),
    _hook(
        "an exec command in one string",
        '              exec:\n                command: ["sleep 10"]\n',
    ),
    _hook(
        "an exec command as a string", "              exec:\n                command: sleep 10\n"
    ),
    _hook(
        "a hook that kills PID 1",
        '              exec:\n                command: ["/bin/sh", "-c", "kill 1; sleep 10"]\n',
    ),
    _hook(
        "a hook that quits nginx",
        '              exec:\n                command: ["/bin/sh", "-c", "nginx -s quit; sleep 10"]\n',
        ("registry.example/shop/web:1.2", "nginx:1.27"),
    ),
    _hook(
        "a hook's shell in a distroless image",
        '              exec:\n                command: ["/bin/sh", "-c", "sleep 10"]\n',
        ("registry.example/shop/web:1.2", "gcr.io/distroless/java21-debian12:nonroot"),
    ),
    Mistake(
        "a StatefulSet with a grace period of 0",
        (
            (GRACE, GRACE.replace("60", "0")),
            (LIFECYCLE, ""),
        ),
        sound=STATEFUL,
    ),
    _one(
        "a liveness grace period that cuts the hook",
        "            periodSeconds: 10\n",
        "            periodSeconds: 10\n            terminationGracePeriodSeconds: 5\n",
    ),
    _one(
        "a Service that selects nothing",
        "spec:\n  selector:\n    app: web\n  ports",
        "spec:\n  selector:\n    app: wep\n  ports",
    ),
    _one(
        "publishNotReadyAddresses",
        "spec:\n  selector:\n    app: web\n  ports",
        "spec:\n  publishNotReadyAddresses: true\n  selector:\n    app: web\n  ports",
    ),
    _one("nothing keeps pods apart", SPREAD, ""),
    _one(
        "progressDeadlineSeconds below minReadySeconds",
        "  replicas: 3\n",
        "  replicas: 3\n  progressDeadlineSeconds: 20\n  minReadySeconds: 30\n",
    ),
    Mistake(
        "StatefulSet OnDelete",
        (("  serviceName: web\n", "  serviceName: web\n  updateStrategy:\n    type: OnDelete\n"),),
        sound=STATEFUL,
    ),
    _one("a targetPort that no container has", "targetPort: 8080", "targetPort: htp"),
    _one("a paused Deployment", "  replicas: 3\n", "  replicas: 3\n  paused: true\n"),
    _one(
        "a selector that does not match",
        "      app: web\n  template:",
        "      app: wep\n  template:",
    ),
    Mistake(
        "a Job in a mesh that never ends",
        (('sidecar.istio.io/inject: "false"', 'sidecar.istio.io/inject: "true"'),),
        sound=SOUND_IN_MESH + JOB,
    ),
)
