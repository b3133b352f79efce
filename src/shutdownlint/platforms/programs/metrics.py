"""The request durations that servers, frameworks and edge proxies count."""

from __future__ import annotations

from typing import Final

from shutdownlint.platforms.metric import (
    MILLISECOND,
    SECOND,
    Form,
    Metric,
    Selection,
    Target,
    by_pod,
    by_resource,
)
from shutdownlint.promql import equals, matches, quote_expression


def _envoy_cluster(target: Target) -> Selection:
    host = quote_expression(target.namespace)
    return [
        [
            matches(
                "envoy_cluster_name",
                rf"outbound\|.*\|{quote_expression(service)}\.{host}\.svc\.cluster\.local",
            )
        ]
        for service in target.services
    ]


def _traefik(target: Target) -> Selection:
    return [
        [
            matches(
                "service",
                f"{quote_expression(f'{target.namespace}-{service}')}-[^-@]+@kubernetes.*",
            )
        ]
        for service in target.services
    ]


def _ingress_nginx(target: Target) -> Selection:
    # Where the scrape keeps its own labels, those of the metric are renamed.
    return [
        [equals(label, target.namespace), equals("service", service)]
        for service in target.services
        for label in ("namespace", "exported_namespace")
    ]


METRICS: Final = (
    Metric(
        "OpenTelemetry",
        "http_server_request_duration_seconds",
        SECOND,
        by_resource,
        "semantic-conventions docs/http/http-metrics.md:66",
    ),
    Metric(
        "OpenTelemetry (older name)",
        "http_server_duration_milliseconds",
        MILLISECOND,
        by_resource,
        "semantic-conventions docs/http/http-metrics.md",
    ),
    Metric(
        "Spring Boot (Micrometer)",
        "http_server_requests_seconds",
        SECOND,
        by_pod(matches("uri", "/actuator.*", negated=True)),
        "micrometer AbstractTimerBuilder.java:35-37",
    ),
    Metric(
        "gRPC (go-grpc-middleware)",
        "grpc_server_handling_seconds",
        SECOND,
        by_pod(equals("grpc_type", "unary")),
        "go-grpc-middleware providers/prometheus/server_metrics.go:34-53",
        caution="streams are left out",
    ),
    Metric(
        "gRPC (OpenTelemetry)",
        "rpc_server_call_duration_seconds",
        SECOND,
        by_resource,
        "semantic-conventions docs/rpc/rpc-metrics.md",
    ),
    Metric(
        "gRPC (OpenTelemetry, older name)",
        "rpc_server_duration_milliseconds",
        MILLISECOND,
        by_resource,
        "semantic-conventions docs/rpc/rpc-metrics.md",
    ),
    Metric(
        "vLLM",
        "vllm:e2e_request_latency_seconds",
        SECOND,
        by_pod(),
        "vllm docs/design/metrics.md",
    ),
    Metric(
        "SGLang",
        "sglang:e2e_request_latency_seconds",
        SECOND,
        by_pod(),
        "sglang docs/references/production_metrics.md",
    ),
    Metric(
        "Text Generation Inference",
        "tgi_request_duration",
        SECOND,
        by_pod(),
        "text-generation-inference router/src/server.rs:1938-1946",
    ),
    Metric(
        "Envoy",
        "envoy_cluster_upstream_rq_time",
        MILLISECOND,
        _envoy_cluster,
        "envoy source/common/stats/histogram_impl.cc (defaultBuckets)",
        caution="each attempt of a retried request counts",
        distance=3,
    ),
    Metric(
        "Traefik",
        "traefik_service_request_duration_seconds",
        SECOND,
        _traefik,
        "traefik pkg/observability/types/metrics.go:36",
        distance=4,
    ),
    Metric(
        "ingress-nginx",
        "nginx_ingress_controller_request_duration_seconds",
        SECOND,
        _ingress_nginx,
        "ingress-nginx internal/ingress/metric/collectors/socket.go:89-99",
        caution="with the time that clients need to read the answer",
        distance=5,
    ),
    Metric(
        "Spring Boot (Micrometer)",
        "http_server_requests_seconds_max",
        SECOND,
        by_pod(matches("uri", "/actuator.*", negated=True)),
        "micrometer issue 3298 (the maximum of about the last three minutes)",
        form=Form.MAXIMUM,
        distance=6,
    ),
)
