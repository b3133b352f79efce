"""Random cases, from the outside in: the truth of a case, and manifests that say it.

Settings are whole model seconds and requests arrive and end on half seconds, so that no request is
closer than half a second to an event. drainDuration stays a multiple of five model seconds, since
Envoy takes whole real ones.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field

CLASSIC, NATIVE = "classic", "native"


@dataclass
class Case:
    """The behaviour of a pod and the requests made of it. All times are model seconds."""

    seed: int
    grace: int = 30
    pre_stop: int = 0
    behaviour: str = "graceful"
    drain: int = 0
    mode: str = CLASSIC
    proxy_pre_stop: int = 0
    drain_hook: bool = True
    exit_on_zero: bool = False
    minimum_drain: int = 5
    termination_drain: int = 5
    drain_duration: int = 45
    idle: int = 0
    in_flight: list[float] = field(default_factory=list)
    late: list[tuple[float, float]] = field(default_factory=list)
    outbound: list[tuple[float, float]] = field(default_factory=list)
    #: Requests on connections that were used before; clients with HTTP/2 that cancel, and when.
    kept: list[tuple[float, float]] = field(default_factory=list)
    resets: list[float] = field(default_factory=list)
    #: Idle connections: of clients with HTTP/2 and without HTTP, and of the app to others.
    idle_http2: int = 0
    idle_tcp: int = 0
    pool: int = 0
    #: When the proxy closes idle connections with HTTP; 0: never.
    idle_timeout: int = 0
    waits_for_calls: bool = True
    manifest: str = ""
    config: str = ""
    versions: tuple[str, str | None] = ("1.26", None)

    @property
    def requests(self) -> list[tuple[float, float]]:
        """Requests on new connections as (arrives, lasts), in flight ones first."""
        return [(0.0, lasts) for lasts in self.in_flight] + self.late


def make(seed: int) -> Case:
    """Return the case of a seed, manifest included."""
    rng = random.Random(seed)
    case = Case(seed, grace=rng.choice([8, 10, 12, 15, 20, 25, 30, 30, 30, 40]))
    case.pre_stop = rng.choice([0, 0, 3, 5, 8, 10, 15, 20, case.grace, case.grace + 5])
    case.behaviour = rng.choice(["graceful"] * 4 + ["abrupt", "ignoring"])
    if case.behaviour == "graceful":
        case.drain = rng.choice([0, 0, 0, 3, 6])
    case.mode = rng.choice([CLASSIC, CLASSIC, NATIVE])
    case.exit_on_zero = rng.random() < 0.5
    case.minimum_drain = rng.choice([5, 5, 2, 8, 12, 20])
    case.termination_drain = rng.choice([5, 5, 2, 8, 12, 20, 35])
    case.drain_duration = rng.choice([45, 45, 45, 5, 10, 15, 25])
    if case.mode == CLASSIC:
        case.proxy_pre_stop = rng.choice([0, 0, 0, 4, 9])
    else:
        case.drain_hook = rng.random() < 0.8
    case.idle = rng.choice([0, 0, 0, 1, 2])
    end = case.grace + 6
    case.in_flight = [rng.randrange(end) + 0.5 for _ in range(rng.randint(2, 6))]
    arrivals = sorted(rng.sample(range(min(end, 30)), rng.randint(4, 9)))
    case.late = [(at + 0.5, float(rng.randint(1, 8))) for at in arrivals]
    alive = min(case.pre_stop, case.grace)
    case.outbound = [
        (rng.randrange(alive) + 0.5, float(rng.randint(1, 6)))
        for _ in range(rng.randint(0, 3) if alive else 0)
    ]
    _add_connections(case, random.Random(f"connections of {seed}"))
    case.manifest, case.config, case.versions = _write(case, rng)
    return case


def _add_connections(case: Case, rng: random.Random) -> None:
    """Add what a pod has besides requests on new connections."""
    end = case.grace + 6
    if rng.random() < 0.4:
        arrivals = sorted(rng.sample(range(min(end, 30)), rng.randint(1, 3)))
        case.kept = [(at + 0.5, float(rng.randint(1, 6))) for at in arrivals]
    if rng.random() < 0.2:
        case.resets = [rng.randrange(end) + 0.5 for _ in range(rng.randint(1, 2))]
    case.idle_http2 = int(rng.random() < 0.15)
    case.idle_tcp = int(rng.random() < 0.15)
    case.pool = rng.choice([0, 0, 0, 0, 1, 2])
    if rng.random() < 0.15:
        case.idle_timeout = rng.randint(1, 10)
    if rng.random() < 0.4:
        case.waits_for_calls = False
        case.outbound += [
            (rng.randrange(end) + 0.5, float(rng.randint(1, 6))) for _ in range(rng.randint(1, 2))
        ]
    if case.drain_duration == 45 and (case.idle or case.kept or case.resets or case.idle_http2):
        # Envoy 1.40 drains idle connections early where a third of this is more than its own five
        # seconds, which are not scaled.
        case.drain_duration = 35


def _write(case: Case, rng: random.Random) -> tuple[str, str, tuple[str, str | None]]:
    """Manifests that say what the case is, spread as people spread it, and the user's own words."""
    injected = rng.random() < 0.3 or (case.mode == NATIVE and not case.drain_hook)
    writer = _Injected(case, rng) if injected else _ToInject(case, rng)
    config = f'[[workloads]]\nmatch = "*"\napp = "{case.behaviour}"\ndrain = "{case.drain}s"\n'
    config += f"waits-for-calls = {str(case.waits_for_calls).lower()}\n"
    return writer.text(), config, writer.versions


class _Converter:
    """The common part of both forms: the app's container and the pod around it."""

    def __init__(self, case: Case, rng: random.Random) -> None:
        self.case = case
        self.rng = rng
        self.versions: tuple[str, str | None] = ("1.26", None)

    def grace(self) -> str:
        if self.case.grace == 30 and self.rng.random() < 0.5:
            return ""
        return f"      terminationGracePeriodSeconds: {self.case.grace}\n"

    def app(self) -> str:
        text = "        - name: app\n          image: shop/app:1\n"
        seconds = self.case.pre_stop
        if not seconds:
            return text
        forms = [
            f'exec: {{command: ["sleep", "{seconds}"]}}',
            f'exec: {{command: ["/bin/sh", "-c", "sleep {seconds}s"]}}',
            f'exec: {{command: [bash, -c, "echo bye; sleep {seconds}"]}}',
            'exec: {command: [sh, -c, "sleep $WAIT"]}',
        ]
        if seconds <= self.case.grace:
            forms.append(f"sleep: {{seconds: {seconds}}}")
        hook = self.rng.choice(forms)
        if "$WAIT" in hook:
            text += f'          env: [{{name: WAIT, value: "{seconds}"}}]\n'
        return f"{text}          lifecycle: {{preStop: {{{hook}}}}}\n"

    def deployment(self, annotations: str, labels: str, containers: str, inits: str = "") -> str:
        return (
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: shop, namespace: shop}\n"
            "spec:\n  selector: {matchLabels: {app: shop}}\n  template:\n    metadata:\n"
            f"      labels: {{app: shop{labels}}}\n{annotations}    spec:\n{self.grace()}"
            f"{inits}      containers:\n{containers}"
        )

    def proxy_hook(self) -> str:
        seconds = self.case.proxy_pre_stop
        hook = f"lifecycle: {{preStop: {{exec: {{command: [sleep, '{seconds}']}}}}}}"
        return f"          {hook}\n" if seconds else ""


class _ToInject(_Converter):
    """A pod that Istio will inject; settings spread over mesh config, objects and annotation."""

    def text(self) -> str:
        case, rng = self.case, self.rng
        fields = {
            "drainDuration": (case.drain_duration, 45),
            "terminationDrainDuration": (case.termination_drain, 5),
        }
        wanted = {
            "EXIT_ON_ZERO_ACTIVE_CONNECTIONS": ("true" if case.exit_on_zero else "false", "false"),
            "MINIMUM_DRAIN_DURATION": (f"{case.minimum_drain}s", "5s"),
        }
        mesh: dict[str, object] = {}
        mesh_env: dict[str, str] = {}
        own: dict[str, object] = {}
        own_env: dict[str, str] = {}
        object_env: dict[str, str] = {}
        container_env: dict[str, str] = {}
        for name, (value, default) in fields.items():
            region = rng.choice(
                ["mesh", "own", "both"] + (["none"] * 3 if value == default else [])
            )
            if region in ("mesh", "both"):
                mesh[name] = f"{value}s" if region == "mesh" else "55s"
            if region in ("own", "both"):
                own[name] = f"{value}s"
        for name, (text, usual) in wanted.items():
            places = ["mesh", "own", "both", "object", "container"]
            region = rng.choice(places + (["none"] * 4 if text == usual else []))
            if region in ("mesh", "both"):
                mesh_env[name] = text if region == "mesh" else "1s" if "DRAIN" in name else "1"
            if region in ("own", "both"):
                own_env[name] = text
            if region == "object":
                object_env[name] = text
            if region == "container":
                container_env[name] = text
        documents = self._documents(mesh, mesh_env, object_env)
        labels, annotations = self._mode()
        self._idle_timeout(own, own_env)
        if own or own_env:
            if own_env:
                own["proxyMetadata"] = own_env
            annotations["proxy.istio.io/config"] = self._config(own)
        containers = self.app() + self._overlay(container_env)
        noted = "".join(f"        {key}: {value}\n" for key, value in annotations.items())
        noted = f"      annotations:\n{noted}" if noted else ""
        documents.append(self.deployment(noted, labels, containers))
        rng.shuffle(documents)
        return "---\n".join(documents)

    def _idle_timeout(self, own: dict[str, object], own_env: dict[str, str]) -> None:
        timeout = f"{self.case.idle_timeout}s"
        if self.case.idle_timeout and self.versions[0] == "1.31":
            own["connectionSettings"] = {"httpIdleTimeout": timeout}
        elif self.case.idle_timeout:
            own_env["ISTIO_META_IDLE_TIMEOUT"] = timeout

    def _documents(
        self, mesh: dict[str, object], mesh_env: dict[str, str], object_env: dict[str, str]
    ) -> list[str]:
        labels = self.rng.choice(["istio-injection: enabled", "istio.io/rev: default"])
        found = [
            f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: shop, labels: {{{labels}}}}}\n"
        ]
        if mesh_env:
            mesh["proxyMetadata"] = mesh_env
        if mesh:
            found.append(self._mesh(mesh))
        if object_env:
            namespace = self.rng.choice(["shop", "istio-system"])
            found.append(
                "apiVersion: networking.istio.io/v1beta1\nkind: ProxyConfig\n"
                f"metadata: {{name: all, namespace: {namespace}}}\n"
                f"spec: {{environmentVariables: {json.dumps(object_env)}}}\n"
            )
        return found

    def _mesh(self, mesh: dict[str, object]) -> str:
        config = json.dumps({"defaultConfig": mesh})
        if self.rng.random() < 0.5:
            return (
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: istio, namespace: istio-system}\n"
                f"data:\n  mesh: |-\n    {config}\n"
            )
        return (
            "apiVersion: install.istio.io/v1alpha1\nkind: IstioOperator\nmetadata: {name: mesh}\n"
            f"spec:\n  meshConfig: {config}\n"
        )

    def _mode(self) -> tuple[str, dict[str, str]]:
        """Labels and annotations that make it classic or native, and the versions that go by."""
        native = self.case.mode == NATIVE
        labels = self.rng.choice(["", ', sidecar.istio.io/inject: "true"'])
        if self.rng.random() < 0.5:
            istio = "1.31" if self.case.idle_timeout else "1.27"
            self.versions = (istio, "1.33" if native else "1.32")
            return labels, {}
        self.versions = ("1.26", None)
        wish = {"sidecar.istio.io/nativeSidecar": '"true"' if native else '"false"'}
        return labels, wish if native or self.rng.random() < 0.3 else {}

    def _config(self, own: dict[str, object]) -> str:
        if self.rng.random() < 0.5:
            return f"'{json.dumps(own)}'"
        lines = ["|"]
        for key, value in own.items():
            if isinstance(value, dict):
                lines.append(f"          {key}:")
                lines += [f"            {name}: '{text}'" for name, text in value.items()]
            else:
                lines.append(f"          {key}: {value}")
        return "\n".join(lines)

    def _overlay(self, env: dict[str, str]) -> str:
        if not env and not self.case.proxy_pre_stop:
            return ""
        text = "        - name: istio-proxy\n          image: auto\n"
        if env:
            entries = ", ".join(f'{{name: {name}, value: "{v}"}}' for name, v in env.items())
            text += f"          env: [{entries}]\n"
        return text + self.proxy_hook()


class _Injected(_Converter):
    """A pod as Istio leaves it: the proxy is there, its settings in PROXY_CONFIG and environment."""

    def text(self) -> str:
        case = self.case
        config = {}
        if case.drain_duration != 45:
            config["drainDuration"] = f"{case.drain_duration}s"
        if case.termination_drain != 5:
            config["terminationDrainDuration"] = f"{case.termination_drain}s"
        env = {"PROXY_CONFIG": json.dumps(config)}
        if case.exit_on_zero:
            env["EXIT_ON_ZERO_ACTIVE_CONNECTIONS"] = "true"
        if case.minimum_drain != 5:
            env["MINIMUM_DRAIN_DURATION"] = f"{case.minimum_drain}s"
        if case.idle_timeout:
            env["ISTIO_META_IDLE_TIMEOUT"] = f"{case.idle_timeout}s"
        entries = "".join(f"            - {{name: {n}, value: '{v}'}}\n" for n, v in env.items())
        proxy = (
            "        - name: istio-proxy\n          image: docker.io/istio/proxyv2:1.26.1\n"
            f"          args: [proxy, sidecar]\n          env:\n{entries}"
        )
        status = "      annotations: {sidecar.istio.io/status: '{}'}\n"
        if case.mode == CLASSIC:
            return self.deployment(status, "", self.app() + proxy + self.proxy_hook())
        proxy += "          restartPolicy: Always\n"
        if case.drain_hook:
            command = "[pilot-agent, request, --debug-port=15020, POST, drain]"
            proxy += f"          lifecycle: {{preStop: {{exec: {{command: {command}}}}}}}\n"
        return self.deployment(status, "", self.app(), f"      initContainers:\n{proxy}")
