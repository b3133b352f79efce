"""Generated manifests: one workload of any platform, written as people write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.helpers import user_facts

if TYPE_CHECKING:
    import random

    from shutdownlint.platforms.user_facts import UserFacts

_HOOKS = (
    "",
    "sleep: {seconds: SECONDS}",
    'exec: {command: [sleep, "SECONDS"]}',
    'exec: {command: [sh, -c, "sleep SECONDS"]}',
    "exec: {command: [/bin/drain.sh]}",
    'exec: {command: [sh, -c, "kill -TERM 1; sleep SECONDS"]}',
    "exec: {command: [nginx, -s, quit]}",
    "httpGet: {path: /stop, port: 8080}",
)
_COMMANDS = (
    "",
    "[gunicorn, 'shop:app']",
    "[gunicorn, --graceful-timeout, '90', 'shop:app']",
    "[uvicorn, 'shop:app', --timeout-graceful-shutdown, '5']",
    "[hypercorn, 'shop:app']",
    "[sh, -c, 'sleep 0.1; uvicorn shop:app']",
    "[sh, -c, 'server &  wait']",
    "[npm, start]",
    "[node, server.js]",
    "[nginx, -g, 'daemon off;']",
    "[kong, start]",
    "[flask, run]",
    "[celery, -A, shop, worker]",
    "[vllm, serve, model]",
    "[vllm, serve, model, --shutdown-timeout, '25']",
)
_CONSUL_GRACE = (
    "consul.hashicorp.com/sidecar-proxy-lifecycle-shutdown-grace-period-seconds: 'SECONDS'"
)
_MESHES: tuple[tuple[str, str], ...] = (
    ("", ""),
    ("", ""),
    ("sidecar.istio.io/inject: 'true'", ""),
    ("sidecar.istio.io/inject: 'true'", "proxy.istio.io/config: '{terminationDrainDuration: 40s}'"),
    (
        "sidecar.istio.io/inject: 'true'",
        "proxy.istio.io/config: '{proxyMetadata: {EXIT_ON_ZERO_ACTIVE_CONNECTIONS: \"true\"}}'",
    ),
    ("", "linkerd.io/inject: enabled"),
    (
        "",
        "linkerd.io/inject: enabled, config.alpha.linkerd.io/proxy-wait-before-exit-seconds: '5'",
    ),
    ("", "consul.hashicorp.com/connect-inject: 'true'"),
    (
        "",
        "consul.hashicorp.com/connect-inject: 'true', " + _CONSUL_GRACE,
    ),
    ("kuma.io/sidecar-injection: enabled", "kuma.io/mesh: default"),
    ("", "dapr.io/enabled: 'true', dapr.io/app-id: shop"),
)
_SERVICES = (
    "",
    "type: ClusterIP",
    "type: LoadBalancer",
    "type: NodePort",
)
_NLB = (
    "annotations: {service.beta.kubernetes.io/aws-load-balancer-type: external, "
    "service.beta.kubernetes.io/aws-load-balancer-nlb-target-type: ip}"
)
_HELPERS = (
    "",
    "",
    "- {name: cache, image: 'redis:7'}",
    "- {name: front, image: 'nginx:1.27', ports: [{containerPort: 80}]}",
    "- {name: sql, image: 'gcr.io/cloud-sql-connectors/cloud-sql-proxy:2.11', args: [db]}",
)
_P99 = (None, None, "2s", "10s", "45s")
_VERSIONS = ("1.24", "1.27", "1.30", "1.33", "1.35")


def generate_pod(draw: random.Random) -> tuple[str, UserFacts]:
    """Return a manifest, and what the user says of it."""
    seconds = str(draw.choice((0, 1, 3, 5, 8, 15, 25, 30, 60)))
    label, annotation = draw.choice(_MESHES)
    hook, command = draw.choice(_HOOKS), draw.choice(_COMMANDS)
    service, helper = draw.choice(_SERVICES), draw.choice(_HELPERS)
    grace = draw.choice(("", "0", "5", "10", "20", "30", "60", "120"))
    port = "ports: [{containerPort: 8080}]"
    container = [
        "name: app",
        "image: shop/app:1",
        *([f"command: {command}"] if command else []),
        *([port] if draw.random() < 0.7 else []),
        *([f"lifecycle: {{preStop: {{{hook}}}}}"] if hook else []),
    ]
    labels = ", ".join(filter(None, ("app: shop", label)))
    pod = [
        *([f"      terminationGracePeriodSeconds: {grace}"] if grace else []),
        "      containers:",
        f"      - {{{', '.join(container)}}}",
        *([f"      {helper}"] if helper else []),
    ]
    workload = [
        "apiVersion: apps/v1",
        f"kind: {draw.choice(('Deployment', 'Deployment', 'StatefulSet', 'DaemonSet'))}",
        "metadata: {name: shop}",
        "spec:",
        "  selector: {matchLabels: {app: shop}}",
        "  template:",
        f"    metadata: {{labels: {{{labels}}}, annotations: {{{annotation}}}}}",
        "    spec:",
        *pod,
    ]
    documents = ["\n".join(workload)]
    if service:
        notes = f", {_NLB}" if "Load" in service and draw.random() < 0.7 else ""
        documents.append(
            f"apiVersion: v1\nkind: Service\nmetadata: {{name: shop{notes}}}\n"
            f"spec: {{{service}, selector: {{app: shop}}, ports: [{{port: 80, targetPort: 8080}}]}}"
        )
    facts = user_facts(
        p99=draw.choice(_P99),
        kubernetes=draw.choice((None, *_VERSIONS)),
        istio=draw.choice((None, "1.24", "1.29")) if "istio" in label else None,
    )
    return "\n---\n".join(documents).replace("SECONDS", seconds) + "\n", facts
