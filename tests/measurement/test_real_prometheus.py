"""``measure`` with a real Prometheus: every metric, and what histograms cannot show."""

from __future__ import annotations

import time
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import run, served
from tests.measurement.server import (
    Series,
    exposing,
    find_program,
    histogram,
    running,
    write_blocks,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_program("prometheus") is None or find_program("promtool") is None,
        reason="Prometheus is not installed",
    ),
]

POD = "checkout-7d9fc6b5d4-x2bqz"
#: 1,000 requests: 98 % take up to 10 s, 99.5 % up to 30 s, all up to 60 s.
COUNTS = {"1": 900.0, "10": 980.0, "30": 995.0, "60": 1000.0, "+Inf": 1000.0}
MILLISECONDS = {le if le == "+Inf" else f"{le}000": count for le, count in COUNTS.items()}


def own(namespace: str, **more: str) -> dict[str, str]:
    """Return the labels of a pod's own metrics."""
    return {"namespace": namespace, "pod": POD, **more}


#: By namespace: the metric, its labels as its system writes them, its buckets.
FAMILIES: dict[str, tuple[str, dict[str, str], dict[str, float]]] = {
    "istio": (
        "istio_request_duration_milliseconds",
        {
            "reporter": "destination",
            "destination_workload": "checkout",
            "destination_workload_namespace": "istio",
            "response_code": "200",
        },
        MILLISECONDS,
    ),
    "envoy": (
        "envoy_cluster_upstream_rq_time",
        {"envoy_cluster_name": "outbound|80||checkout.envoy.svc.cluster.local"},
        MILLISECONDS,
    ),
    "linkerd": (
        "response_latency_ms",
        {"direction": "inbound", "namespace": "linkerd", "deployment": "checkout"},
        MILLISECONDS,
    ),
    "traefik": (
        "traefik_service_request_duration_seconds",
        {"service": "traefik-checkout-80@kubernetes"},
        COUNTS,
    ),
    "nginx": (
        "nginx_ingress_controller_request_duration_seconds",
        {"exported_namespace": "nginx", "namespace": "ingress", "service": "checkout"},
        COUNTS,
    ),
    "spring": ("http_server_requests_seconds", own("spring", uri="/buy"), COUNTS),
    "otel": ("http_server_request_duration_seconds", own("otel"), COUNTS),
    "collector": (
        "http_server_request_duration_seconds",
        {"k8s_namespace_name": "collector", "k8s_deployment_name": "checkout"},
        COUNTS,
    ),
    "oldotel": ("http_server_duration_milliseconds", own("oldotel"), MILLISECONDS),
    "grpc": ("grpc_server_handling_seconds", own("grpc", grpc_type="unary"), COUNTS),
    "rpc": ("rpc_server_call_duration_seconds", own("rpc"), COUNTS),
    "oldrpc": ("rpc_server_duration_milliseconds", own("oldrpc"), MILLISECONDS),
    "vllm": ("vllm:e2e_request_latency_seconds", own("vllm", model_name="m"), COUNTS),
    "sglang": ("sglang:e2e_request_latency_seconds", own("sglang"), COUNTS),
    "tgi": ("tgi_request_duration", own("tgi"), COUNTS),
}
SATURATED = {"1": 900.0, "10": 960.0, "+Inf": 1000.0}
OTHERS = [
    # What must not be counted: clients' view, streams, health checks, another workload's pods.
    *histogram(
        "istio_request_duration_milliseconds",
        {**FAMILIES["istio"][1], "reporter": "source"},
        {"10": 1.0, "3600000": 1e6, "+Inf": 1e6},
    ),
    *histogram("grpc_server_handling_seconds", own("grpc", grpc_type="bidi_stream"), SATURATED),
    *histogram("http_server_requests_seconds", own("spring", uri="/actuator/x"), SATURATED),
    *histogram(
        "http_server_request_duration_seconds",
        {"namespace": "otel", "pod": "checkout-api-x2bqz"},
        SATURATED,
    ),
    *histogram("http_server_request_duration_seconds", own("saturated"), SATURATED),
    *histogram("http_server_request_duration_seconds", own("idle"), dict.fromkeys(COUNTS, 0.0)),
    *histogram(
        "http_server_request_duration_seconds", own("nan"), dict.fromkeys(COUNTS, float("nan"))
    ),
    *histogram("http_server_request_duration_seconds", own("two"), SATURATED),
    *histogram(
        "istio_request_duration_milliseconds",
        {
            "reporter": "destination",
            "destination_workload": "checkout",
            "destination_workload_namespace": "two",
        },
        MILLISECONDS,
    ),
    *histogram("http_server_request_duration_seconds", own("open"), {"1": 900.0, "10": 980.0}),
    Series("http_server_requests_seconds_max", own("longest", uri="/buy"), 12.5, True),
    Series("shop:request_duration:p99", {"app": "checkout", "ns": "recorded"}, 7.25, True),
    *histogram("kubeproxy_network_programming_duration_seconds", {"node": "a"}, COUNTS),
    *histogram("kubeproxy_sync_proxy_rules_duration_seconds", {"node": "a"}, COUNTS),
]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("prometheus")
    known = [each for name, labels, n in FAMILIES.values() for each in histogram(name, labels, n)]
    write_blocks([*known, *OTHERS], folder)
    with running(folder) as found:
        yield found


def manifest(namespace: str, kind: str = "Deployment") -> str:
    return served("checkout", namespace, kind)


def measured(
    folder: Path, address: str, namespace: str, *options: str
) -> tuple[int, str, dict[str, Any]]:
    """Exit code, the workload's line, and its entry in the file."""
    (folder / "shop.yaml").write_text(manifest(namespace))
    file = folder / "measured.toml"
    given = ["--isolated", "--window", "2h", "--prometheus", address, "-o", str(file), *options]
    code, out, _ = run("measure", str(folder), *given)
    entries = tomllib.loads(file.read_text()).get("workloads", [])
    return code, out.splitlines()[0], entries[0] if entries else {}


@pytest.mark.parametrize("namespace", FAMILIES)
def test_every_family(namespace: str, address: str, tmp_path: Path) -> None:
    code, line, entry = measured(tmp_path, address, namespace)
    name = FAMILIES[namespace][0]
    assert code == 0, line
    assert "p99 30s (between 10s and 30s)" in line
    assert f"{name}  1,000 requests in 2h" in line
    assert (entry["match"], entry["p99"], entry["metric"]) == (
        f"Deployment/{namespace}/checkout",
        "30s",
        name,
    )
    assert entry["shares"] == {"1s": 0.9, "10s": 0.98, "30s": 0.995, "60s": 1.0}


def test_a_saturated_histogram_is_a_lower_bound(address: str, tmp_path: Path) -> None:
    code, line, entry = measured(tmp_path, address, "saturated")
    assert (code, entry["p99"], entry["at-least"]) == (0, "10s", True)
    assert "p99 at least 10s: saturated, its buckets end there" in line
    # Another quantile lies below the last bucket.
    assert measured(tmp_path, address, "saturated", "--quantile", "0.9")[2]["p99"] == "1s"


def test_a_metric_that_goes_further_is_believed(address: str, tmp_path: Path) -> None:
    _, line, entry = measured(tmp_path, address, "two")
    assert (entry["p99"], entry["metric"]) == ("30s", "istio_request_duration_milliseconds")
    assert "saturated" not in line


@pytest.mark.parametrize(
    ("namespace", "why"),
    [
        ("idle", "no requests were seen in 2h"),
        ("nan", "no requests were seen in 2h"),
        ("nowhere", "no requests were seen in 2h"),
        ("open", "http_server_request_duration_seconds: its buckets have no +Inf"),
    ],
)
def test_no_number_is_made_up(namespace: str, why: str, address: str, tmp_path: Path) -> None:
    code, line, entry = measured(tmp_path, address, namespace)
    assert (code, entry) == (2, {})
    assert line.endswith(f"not measured: {why}")


def test_a_maximum_where_there_are_no_buckets(address: str, tmp_path: Path) -> None:
    _, line, entry = measured(tmp_path, address, "longest")
    assert (entry["p99"], entry["metric"]) == ("12.5s", "http_server_requests_seconds_max")
    assert "p99 12.5s" in line


def test_a_query_of_ones_own(address: str, tmp_path: Path) -> None:
    recorded = 'shop:request_duration:p99{ns="$namespace",app="$workload"}'
    code, _, entry = measured(tmp_path, address, "recorded", "--query", recorded)
    assert (code, entry["p99"]) == (0, "7.25s")
    buckets = (
        "sum by (le) (increase(http_server_request_duration_seconds_bucket"
        '{namespace="$namespace",pod=~"$pods"}[$window]))'
    )
    assert measured(tmp_path, address, "otel", "--query", buckets)[2]["p99"] == "30s"


def test_a_query_that_is_no_promql_is_an_error(address: str, tmp_path: Path) -> None:
    code, line, entry = measured(tmp_path, address, "otel", "--query", "sum by (le) (")
    assert (code, entry) == (2, {})
    assert "parse error" in line
    assert "(HTTP 400)" in line


def test_endpoint_propagation(address: str, tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(manifest("otel"))
    file = tmp_path / "measured.toml"
    given = ["--window", "2h", "--prometheus", address, "-o", str(file), "--isolated"]
    _, out, _ = run("measure", str(tmp_path), *given)
    assert out.splitlines()[1].startswith("endpoint propagation      p99 30s")
    assert tomllib.loads(file.read_text())["propagation"] == "30s"


def test_a_native_histogram(tmp_path: Path) -> None:
    labels = own("native")
    # 1,000 of 1,010 requests take from 4 s to 8 s, the rest from 16 s to 32 s.
    counts = {3: 1000, 5: 10}
    (tmp_path / "data").mkdir()
    (tmp_path / "shop.yaml").write_text(manifest("native"))
    with (
        exposing("http_server_request_duration_seconds", labels, counts) as port,
        running(tmp_path, port) as address,
    ):
        for _ in range(100):
            given = ["--isolated", "--window", "1m", "--prometheus", address, "--quantile", "0.995"]
            code, out, _ = run("measure", str(tmp_path), *given)
            if code == 0:
                break
            time.sleep(0.2)
    assert code == 0, out
    seconds = float(out.split(" p99.5 ")[1].split("s")[0])
    assert 16 < seconds < 32
