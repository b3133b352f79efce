"""The client's view of a lost request, and the retries that hide it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import dedent, run, served

if TYPE_CHECKING:
    from pathlib import Path

NAMESPACE = dedent("""\
    apiVersion: v1
    kind: Namespace
    metadata: {name: shop, labels: {istio-injection: enabled}}
    ---
    """)
CLASSIC = 'annotations: {sidecar.istio.io/nativeSidecar: "false"}'
SHOP = NAMESPACE + served(sleep=15).replace(
    "metadata: {labels: {app: shop}}", f"metadata: {{labels: {{app: shop}}, {CLASSIC}}}"
).replace("spec:\n  selector: {match", "spec:\n  replicas: 3\n  selector: {match")
ROUTE = dedent("""\
    ---
    apiVersion: networking.istio.io/v1
    kind: VirtualService
    metadata: {name: shop, namespace: shop}
    spec:
      hosts: [shop]
      http: [{route: [{destination: {host: shop}}], retries: %s}]
    """)
HTTP_ROUTE = dedent("""\
    ---
    apiVersion: gateway.networking.k8s.io/v1
    kind: HTTPRoute
    metadata: {name: shop, namespace: shop}
    spec:
      parentRefs: [{name: public}]
      rules: [{retry: {codes: [503], attempts: 2}, backendRefs: [{name: shop, port: 80}]}]
    """)
#: The proxy ends after 5 s, or outlives the app, which ends at 15 s.
CUT, REFUSED, ANSWERED = "10s", "1s@8s", "1s@17s"
LATE_PROXY = SHOP.replace(
    '"false"}', '"false", proxy.istio.io/config: "terminationDrainDuration: 25s"}'
)


def client(text: str, request: str, folder: Path, *options: str) -> tuple[str, dict[str, Any]]:
    """Return the line about the client below the request, and the same request in JSON."""
    (folder / "shop.yaml").write_text(text)
    given = ["explain", str(folder), "--isolated", "--request", request, *options]
    lines = run(*given)[1].splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("  request "))
    (workload,) = json.loads(run(*given, "--format", "json")[1])["workloads"]
    line = lines[at + 1].strip()
    return (line if line.startswith("the client") else ""), workload["requests"][0]


@pytest.mark.parametrize(
    ("request_", "text", "options", "line", "retried"),
    [
        (CUT, SHOP, (), "a reset connection (through Envoy: 503 UC); not retried", False),
        (REFUSED, SHOP, (), "a refused connection (through Envoy: 503 UF); retried", True),
        (ANSWERED, LATE_PROXY, (), "HTTP 503; not retried by Istio's default retries", False),
        # Until 1.24 the default retried 503.
        (ANSWERED, LATE_PROXY, ("--istio-version", "1.23"), "HTTP 503; retried", True),
        (REFUSED, SHOP.replace("replicas: 3", "replicas: 1"), (), "but there is no other", False),
        (CUT, SHOP + ROUTE % "{retryOn: 5xx}", (), "retried on another pod by VirtualS", True),
        (CUT, SHOP + ROUTE % "{retryOn: reset}", (), "retried on another pod by Virtual", True),
        (CUT, SHOP + ROUTE % "{retryOn: connect-failure}", (), "not retried by Virtual", False),
        (REFUSED, SHOP + ROUTE % "{attempts: 0}", (), "not retried by VirtualService shop", False),
        (REFUSED, SHOP + ROUTE % "{attempts: 3}", (), "by Istio's default retries", True),
        (ANSWERED, LATE_PROXY + ROUTE % '{retryOn: "503"}', (), "503; retried on another", True),
        (ANSWERED, LATE_PROXY + ROUTE % "{retryOn: gateway-error}", (), "503; retried", True),
        (ANSWERED, LATE_PROXY + HTTP_ROUTE, (), "retried on another pod by HTTPRoute shop", True),
        (CUT, SHOP + HTTP_ROUTE, (), "not retried by HTTPRoute shop", False),
        ("1s", SHOP, (), "", None),
        (CUT, SHOP.replace("enabled", "disabled"), (), "", None),
    ],
)
def test_the_client_sees(
    request_: str,
    text: str,
    options: tuple[str, ...],
    line: str,
    retried: bool | None,
    tmp_path: Path,
) -> None:
    shown, request = client(text, request_, tmp_path, *options)
    assert line in shown
    assert bool(line) is bool(shown)
    assert request["retried"] is retried


def test_without_a_mesh_no_proxy_is_named(tmp_path: Path) -> None:
    text = SHOP.replace("enabled", "disabled")
    shown, _ = client(text, REFUSED.replace("8s", "17s"), tmp_path)
    assert shown == "the client sees a refused connection"


def test_a_policy_of_the_mesh_is_not_guessed(tmp_path: Path) -> None:
    mesh = dedent("""\
        ---
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: istio, namespace: istio-system}
        data:
          mesh: |
            defaultHttpRetryPolicy: {attempts: 0}
            defaultConfig: {terminationDrainDuration: 5s}
        """)
    shown, request = client(SHOP + mesh, REFUSED, tmp_path)
    assert shown.endswith("the mesh's own retry policy is not evaluated")
    assert request["retried"] is None
