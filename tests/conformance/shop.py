"""The page about measuring and verifying: ``python -m tests.conformance.shop`` writes it.

Every command of the page is run: with a real Prometheus, and the scripts with a real Envoy. The
example's other workloads have series too: one is saturated, one has no requests.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.conformance.envoy import VERSIONS, binary
from tests.conformance.pod import ROOT
from tests.conformance.test_suggested import case_of
from tests.conformance.test_verify import observe_script, planned_in, replace_requests
from tests.helpers import run
from tests.measurement.server import histogram, running, write_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE: Final = ROOT / "docs" / "measure-and-verify.md"
IMAGES: Final = ROOT / "docs" / "images"
_ADDRESS: Final = "http://localhost:9090"
_WORKLOAD: Final = "shop frontend"
#: Of 1,000 requests each, by upper bounds in milliseconds or seconds.
_FRONTEND: Final = {"1000": 930.0, "2500": 978.0, "5000": 993.0, "10000": 999.2, "+Inf": 1000.0}
_CATALOG: Final = {"1": 900.0, "5": 950.0, "10": 960.0, "+Inf": 1000.0}
_SEARCH: Final = {"0.1": 800.0, "0.5": 992.0, "1": 999.0, "+Inf": 1000.0}
_ENDPOINTS: Final = {"0.5": 700.0, "1": 950.0, "2": 985.0, "3": 997.0, "+Inf": 1000.0}
SERIES: Final = [
    *histogram(
        "istio_request_duration_milliseconds",
        {
            "reporter": "destination",
            "destination_workload": "frontend",
            "destination_workload_namespace": "shop",
        },
        _FRONTEND,
    ),
    *histogram(
        "http_server_request_duration_seconds",
        {"namespace": "shop", "pod": "catalog-0"},
        _CATALOG,
    ),
    *histogram(
        "http_server_requests_seconds",
        {"namespace": "shop", "pod": "search-7d9fc6b5d4-x2bqz", "uri": "/search"},
        _SEARCH,
    ),
    *histogram("kubeproxy_network_programming_duration_seconds", {"node": "a"}, _ENDPOINTS),
]


def shell(command: str, *, address: str = "", expected: tuple[int, ...] = (0,)) -> str:
    """Return a block with a command of the page and what it prints."""
    words = command.replace(_ADDRESS, address or _ADDRESS).split()
    assert words[0] == "shutdownlint"
    file = None
    if ">" in words:
        at = words.index(">")
        file, words = Path(words[at + 1]), words[:at]
    code, out, err = run(*words[1:])
    assert code in expected, err
    if file is not None:
        file.write_text(out)
        out = ""
    return block(command, out)


def block(command: str, output: str) -> str:
    """Return a command and its output, as a terminal shows them."""
    return (
        f"```console\n$ {command}\n{output}```\n" if output else f"```console\n$ {command}\n```\n"
    )


@contextlib.contextmanager
def folder_with_shop() -> Iterator[Path]:
    """Create a folder with a copy of the example, as the current one."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        shutil.copytree(ROOT / "examples" / "shop", Path(name) / "shop")
        os.chdir(name)
        try:
            yield Path(name)
        finally:
            os.chdir(before)


def run_script(folder: Path, expect: str) -> str:
    """Run the script of the page against a pod with the settings that the folder has now."""
    case = replace_requests(case_of(0, planned_in(folder / "shop", "frontend")))

    async def once() -> tuple[int | None, str]:
        starting = asyncio.Semaphore(1)
        script = folder / "verify.sh"
        return await observe_script(case, script, expect, binary(VERSIONS[0]), starting)

    code, output = asyncio.run(once())
    assert code == 0, output
    return output


def pages() -> dict[Path, str]:
    """Return the page and its pictures."""
    with folder_with_shop() as folder:
        with tempfile.TemporaryDirectory() as data:
            write_blocks(SERIES, Path(data))
            with running(Path(data)) as address:
                measure = f"shutdownlint measure shop --prometheus {_ADDRESS} --window 2h"
                measured = shell(f"{measure} -o measured.toml", address=address)
        entry = (folder / "measured.toml").read_text().partition("[[workloads]]\n")[2]
        entry = next(part for part in entry.split("[[workloads]]\n") if "shop/frontend" in part)
        given = "--measured measured.toml"
        found = shell(
            f"shutdownlint check shop/frontend.yaml --context shop/mesh.yaml {given}", expected=(1,)
        )
        pictures = {"before": shell_picture(given)}
        suggested = shell(f"shutdownlint suggest {_WORKLOAD} {given}")
        script = shell(f"shutdownlint verify {_WORKLOAD} {given} > verify.sh")
        command = "REQUEST_PATH='/%s' sh verify.sh"
        seen_before = block(command, run_script(folder, "before"))
        shell(f"shutdownlint suggest {_WORKLOAD} {given} --format diff > fix.patch")
        subprocess.run(["patch", "-p1", "-i", "fix.patch"], check=True, capture_output=True)
        seen_after = block(command.replace(" sh", " EXPECT=after sh"), run_script(folder, "after"))
        pictures["after"] = shell_picture(given)
        again = shell(f"shutdownlint suggest {_WORKLOAD} {given}")
    text = _TEXT.format(
        measured=measured,
        entry=entry.strip(),
        found=found,
        suggested=suggested,
        script=script,
        seen_before=seen_before,
        seen_after=seen_after,
        again=again,
        patch=block(
            f"shutdownlint suggest {_WORKLOAD} {given} --format diff > fix.patch", ""
        ).replace("fix.patch\n", "fix.patch\n$ patch -p1 -i fix.patch\n"),
    )
    images = {IMAGES / f"shop-{name}.svg": picture for name, picture in pictures.items()}
    return {PAGE: text, **images}


def shell_picture(given: str) -> str:
    """Return the timeline with the requests that were measured."""
    return run("explain", *_WORKLOAD.split(), *given.split(), "--format", "svg")[1]


def without_times(text: str) -> str:
    """Return the text without what differs from run to run.

    That is days, how long requests took, and whether the client of a lost one sees 503 or a closed
    connection: on a busy machine the proxy may end before it has answered.
    """
    text = re.sub(r"\d{4}-\d\d-\d\d", "DAY", text)
    text = re.sub(r"lost, HTTP (?:503, curl 0|000, curl 5[26])", "lost, HTTP CUT", text)
    return re.sub(r"[0-9.]+s$", "TIME", text, flags=re.MULTILINE)


_TEXT: Final = """\
# Measure, check, suggest, verify

How long do requests take, what does that mean for the settings, and is it true? This page goes through it
once, for the workload `frontend` of [the example shop](https://github.com/shutdownlint/shutdownlint/tree/main/examples/shop).

It is written by `python -m tests.conformance.shop`, which runs each command: `measure` asks a real Prometheus
with made-up requests, and the scripts delete a pod whose sidecar is a real Envoy. The tests run all of it
again, and compare.

## How long do requests take?

`measure` looks for the metrics of Istio, Linkerd, OpenTelemetry, Micrometer, gRPC, ingress controllers and model
servers, and takes the 99th percentile from the buckets of their histograms. Without `--prometheus` it prints the
queries instead.

{measured}
The numbers are upper bounds of buckets, so they err on the safe side. `catalog` is "at least 10s": 4 % of its
requests are above the last bucket, and the metric does not show how far. `checkout` had no requests. The last line is how
long the nodes of the cluster took to learn of changed pods.

`measured.toml` keeps all of it, so `check` needs no server and gives the same answer tomorrow:

```toml
{entry}
```

## What does that mean?

{found}
![The shutdown of frontend as it is, and what serving each share of its requests needs](images/shop-before.svg)

## Which settings serve them?

{suggested}
`--serve 95%` computes the same for another share of the requests.

## Is that true?

`verify` writes a test: it deletes one pod while requests run, and knows what becomes of each of them, now and
with the suggested settings. `REQUEST_PATH` is a request that takes as long as it is asked to.

{script}
{seen_before}
The predictions hold: what is in flight is cut after 5 s, and new requests are refused. Now with the suggested
settings:

{patch}
{seen_after}
{again}
![The shutdown of frontend with the suggested settings](images/shop-after.svg)

The script also says what to watch meanwhile (events, endpoints, the log lines of Istio's agent, response flags) and
how many requests a rollout under load loses. `--format k6` writes the same test for k6.
"""


def main() -> None:
    """Write the page and its pictures."""
    IMAGES.mkdir(exist_ok=True)
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
