"""Edges with random settings and requests: ``python -m tests.programs.edges --requests 500 --seed 1``.

nginx, HAProxy, Caddy and lighttpd are in front of a slow server. Each run draws a limit (or none), a
stop signal and requests, in flight and late, at least half a second from every event. The pod and the
ConfigMap with the same settings are given to ``explain``, and each answer is compared with what was seen.
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

#: The case of each edge, how its limit is written, and its stop signals.
EDGES: Final = {
    "nginx": ("worker_shutdown_timeout {}s;", ("SIGQUIT", "SIGTERM")),
    "haproxy": ("hard-stop-after {}s", ("SIGUSR1", "SIGTERM")),
    "caddy": ("grace_period {}s", ("SIGTERM",)),
    "lighttpd": ("", ("SIGINT", "SIGTERM")),
}
_REQUESTS_EACH: Final = 12
_AT_ONCE: Final = 3
_MARGIN: Final = 0.5


class Drawn(Struct, frozen=True):
    """An edge with settings and requests; ``limit`` is 0 where there is none."""

    case: Case
    limit: int
    requests: tuple[Asked, ...]


def draw(edge: str, rng: Random) -> Drawn:
    """Draw settings and requests."""
    directive, signals = EDGES[edge]
    case = next(case for case in CASES if case.name == edge)
    limit = rng.choice((0, 2, 3, 5)) if directive else 0
    config = case.config.replace("{extra}", directive.format(limit) if limit else "")
    chosen = replace(case, config=config, signal=rng.choice(signals), image="shop/edge:1")
    requests: list[Asked] = []
    while len(requests) < _REQUESTS_EACH:
        arrival = rng.choice((0.0, 0.0, 0.0, 1.0, 2.5))
        duration = rng.randrange(1, 16) / 2
        if not limit or abs(duration - limit) >= _MARGIN:
            requests.append(Asked(arrival, duration))
    return Drawn(chosen, limit, tuple(requests))


def manifests(drawn: Drawn) -> str:
    """A pod that mounts the configuration."""
    case = drawn.case
    command = [word.replace("{config}", "/etc/edge/config") for word in case.command]
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
    """The outcomes that ``explain`` names for each request, by arrival and duration."""
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


def main() -> None:
    """Run, and print each disagreement and the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    if not can_run():
        sys.exit("a pid namespace cannot be made here: nothing was run")
    wrong = 0
    for edge in EDGES:
        case = next(case for case in CASES if case.name == edge)
        if missing(case):
            sys.stdout.write(f"{edge}: skipped, it is not installed\n")
            continue
        rng = Random(f"{edge} {asked.seed}")
        runs = [draw(edge, rng) for _ in range(-(-asked.requests // _REQUESTS_EACH))]
        with tempfile.TemporaryDirectory() as folder:
            predicted = [predict(drawn, Path(folder)) for drawn in runs]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            results = list(pool.map(lambda *pair: list(compare(*pair)), runs, predicted))
        count = sum(map(len, results))
        unlike = [
            (drawn, seen)
            for drawn, result in zip(runs, results, strict=True)
            for seen, fits in result
            if not fits
        ]
        for drawn, seen in unlike:
            sys.stdout.write(f"{edge} {drawn.case.signal} limit {drawn.limit}: {seen}\n")
        wrong += len(unlike)
        sys.stdout.write(f"{edge}: {count} requests in {len(runs)} runs, {len(unlike)} unlike\n")
        sys.stdout.flush()
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
