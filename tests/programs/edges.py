"""Edges with random settings and requests: ``python -m tests.programs.edges --requests 500 --seed 1``.

nginx, HAProxy, Caddy, Traefik and lighttpd are in front of a slow server. Each run draws a limit (or none),
a stop signal and requests, in flight and late, at least half a second from every event. The pod and the
ConfigMap with the same settings are given to ``explain``, and each answer is compared with what was seen.
Traefik is run where it is installed; CONTRIBUTING.md says how it is built.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

import yaml
from msgspec import Struct
from msgspec.structs import replace

from tests.helpers import run
from tests.programs.cases import CASES, Case
from tests.programs.client import OK
from tests.programs.run import Asked, missing, observe_requests
from tests.shell.conformance.run import can_run

if TYPE_CHECKING:
    from collections.abc import Iterator

_LIFECYCLE: Final = "--entrypoints.web.transport.lifecycle"
_TRAEFIK: Final = Case(
    "traefik",
    (
        "traefik",
        "--entrypoints.web.address=127.0.0.1:{port}",
        "--providers.file.filename={config.yaml}",
        "--global.checknewversion=false",
    ),
    ("traefik",),
    config="""\
http:
  routers: {all: {rule: "PathPrefix(`/`)", service: app, entryPoints: [web]}}
  services: {app: {loadBalancer: {servers: [{url: "http://127.0.0.1:{backend}"}]}}}
""",
    backend=True,
)


class Edge(Struct, frozen=True):
    """An edge: its stop signals, and how its limit is written, as a line of its file or as a flag.

    ``accepts`` is the flag for how long it goes on accepting.
    """

    signals: tuple[str, ...]
    directive: str = ""
    flag: str = ""
    accepts: str = ""


EDGES: Final = {
    "nginx": Edge(("SIGQUIT", "SIGTERM"), "worker_shutdown_timeout {}s;"),
    "haproxy": Edge(("SIGUSR1", "SIGTERM"), "hard-stop-after {}s"),
    "caddy": Edge(("SIGTERM",), "grace_period {}s"),
    "traefik": Edge(
        ("SIGTERM",),
        flag=f"{_LIFECYCLE}.gracetimeout={{}}s",
        accepts=f"{_LIFECYCLE}.requestacceptgracetimeout={{}}s",
    ),
    "lighttpd": Edge(("SIGINT", "SIGTERM")),
}
_REQUESTS_EACH: Final = 12
_AT_ONCE: Final = 6
_MARGIN: Final = 0.5


class Drawn(Struct, frozen=True):
    """An edge with settings and requests; a ``limit`` of 0 means no limit."""

    case: Case
    limit: int
    requests: tuple[Asked, ...]


def draw(edge: str, rng: Random) -> Drawn:
    """Draw settings and requests."""
    kind, case = EDGES[edge], find_case(edge)
    limit = rng.choice((0, 2, 3, 5)) if kind.directive or kind.flag else 0
    accepts = rng.choice((0, 2)) if kind.accepts else 0
    config = case.config.replace("{extra}", kind.directive.format(limit) if limit else "")
    flags = [kind.flag.format(limit)] if limit and kind.flag else []
    flags += [kind.accepts.format(accepts)] if accepts else []
    chosen = replace(
        case,
        command=(*case.command, *flags),
        config=config,
        signal=rng.choice(kind.signals),
        image="shop/edge:1",
    )
    requests: list[Asked] = []
    while len(requests) < _REQUESTS_EACH:
        arrival = rng.choice((0.0, 0.0, 0.0, 1.0, 2.5))
        duration = rng.randrange(1, 16) / 2
        ends = arrival + duration
        if not limit or abs(ends - (accepts + limit)) >= _MARGIN:
            requests.append(Asked(arrival, duration))
    return Drawn(chosen, limit, tuple(requests))


def find_case(edge: str) -> Case:
    """Return the command line of an edge."""
    return next(case for case in (*CASES, _TRAEFIK) if case.name == edge)


def manifests(drawn: Drawn) -> str:
    """Return a pod that mounts the configuration."""
    case = drawn.case
    command = [
        word.replace("{config}", "/etc/edge/config").replace("{config.yaml}", "/etc/edge/config")
        for word in case.command
    ]
    container: dict[str, Any] = {
        "name": "edge",
        "image": case.image,
        "command": command,
        "volumeMounts": [{"name": "config", "mountPath": "/etc/edge"}],
        "lifecycle": {"stopSignal": case.signal},
    }
    metadata = {"name": "edge", "namespace": "shop"}
    spec = {
        "os": {"name": "linux"},
        "volumes": [{"name": "config", "configMap": {"name": "edge"}}],
        "containers": [container],
    }
    return yaml.safe_dump_all(
        [
            {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec},
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": metadata,
                "data": {"config": case.config},
            },
        ]
    )


def predict(drawn: Drawn, folder: Path) -> dict[tuple[float, float], set[str]]:
    """Return the outcomes that ``explain`` names for each request, by arrival and duration."""
    file = folder / "edge.yaml"
    file.write_text(manifests(drawn))
    asked = [f"--request={each.duration}s@{each.arrival}s" for each in drawn.requests]
    options = ["--mesh=none", "--kubernetes-version=1.36", "--format=json"]
    code, out, err = run("explain", *options, *asked, str(file))
    assert code == 0, err
    (workload,) = json.loads(out)["workloads"]
    return {
        (each["arrival"], each["duration"]): {
            each["outcome"],
            *(other["outcome"] for other in each["alternatives"]),
        }
        for each in workload["requests"]
    }


def compare(
    drawn: Drawn, predicted: dict[tuple[float, float], set[str]]
) -> Iterator[tuple[Asked, bool]]:
    """Each request as it was seen, and whether that was predicted."""
    for seen in observe_requests(drawn.case, drawn.requests) or ():
        outcomes = predicted[seen.arrival, seen.duration]
        yield seen, (seen.seen == OK) in {outcome == "ok" for outcome in outcomes}


class Result(Struct, frozen=True):
    """The number of an edge's requests and runs, and the requests unlike the prediction."""

    requests: int
    runs: int
    unlike: tuple[str, ...]


def run_edge(edge: str, requests: int, seed: int) -> Result:
    """Run an edge with so many requests at least, and compare each with its prediction."""
    rng = Random(f"{edge} {seed}")
    runs = [draw(edge, rng) for _ in range(-(-requests // _REQUESTS_EACH))]
    with tempfile.TemporaryDirectory() as folder:
        predicted = [predict(drawn, Path(folder)) for drawn in runs]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        results = list(pool.map(lambda *pair: list(compare(*pair)), runs, predicted))
    unlike = tuple(
        f"{edge} {drawn.case.signal} limit {drawn.limit}: {seen}"
        for drawn, result in zip(runs, results, strict=True)
        for seen, fits in result
        if not fits
    )
    return Result(sum(map(len, results)), len(runs), unlike)


def main() -> None:
    """Run, and print each disagreement and the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=sorted(EDGES), action="append", help="default: all")
    asked = parser.parse_args()
    if not can_run():
        sys.exit("a pid namespace cannot be made here: nothing was run")
    wrong = 0
    for edge in asked.only or EDGES:
        if missing(find_case(edge)):
            sys.stdout.write(f"{edge}: skipped, it is not installed\n")
            continue
        found = run_edge(edge, asked.requests, asked.seed)
        for text in found.unlike:
            sys.stdout.write(f"{text}\n")
        wrong += len(found.unlike) + (not found.requests)
        counts = f"{found.requests} requests in {found.runs} runs, {len(found.unlike)} unlike"
        sys.stdout.write(f"{edge}: {counts}\n")
        sys.stdout.flush()
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
