"""A real Prometheus with series that a test wrote, and targets with native histograms."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint.measurement.prometheus import Prometheus, PrometheusError
from tests.ports import PORTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_CACHE: Final = Path(__file__).parents[1] / ".cache" / "prometheus" / "usr" / "bin"
#: The time before the query that the series cover, and the interval of their samples.
SPAN: Final = 7200
_STEP: Final = 60


def find_program(name: str) -> str | None:
    """Return where Debian's package is installed or unpacked."""
    return shutil.which(name, path=f"{os.environ['PATH']}:{_CACHE}")


class Series(Struct, frozen=True):
    """A counter that grows by ``total`` from the first sample to the last one."""

    name: str
    labels: dict[str, str]
    total: float
    is_constant: bool = False


def histogram(name: str, labels: dict[str, str], counts: dict[str, float]) -> list[Series]:
    """Return the series of a classic histogram, by upper bound."""
    return [Series(f"{name}_bucket", {**labels, "le": le}, n) for le, n in counts.items()]


def write_blocks(series: Iterable[Series], folder: Path) -> None:
    """Write the samples of the last two hours as blocks of a Prometheus."""
    promtool = find_program("promtool")
    assert promtool is not None
    end = int(time.time()) - 5
    lines = []
    for each in series:
        labels = ",".join(f'{key}="{value}"' for key, value in each.labels.items())
        for at in range(end - SPAN, end + 1, _STEP):
            share = 1.0 if each.is_constant else (at - (end - SPAN)) / SPAN
            lines.append(f"{each.name}{{{labels}}} {each.total * share} {at}")
    source = folder / "samples.om"
    source.write_text("\n".join((*lines, "# EOF")) + "\n")
    data = folder / "data"
    command = [promtool, "tsdb", "create-blocks-from", "openmetrics", str(source), str(data)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@contextmanager
def running(folder: Path, scrape: int | None = None) -> Iterator[str]:
    """Run a Prometheus with the blocks of a folder; with a port, it also scrapes that one."""
    program = find_program("prometheus")
    assert program is not None
    config = folder / "prometheus.yml"
    text = "global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
    if scrape is not None:
        target = f"{{targets: ['127.0.0.1:{scrape}']}}"
        text += f"scrape_configs: [{{job_name: app, static_configs: [{target}]}}]\n"
    config.write_text(text)
    port = PORTS.take()
    command = [
        program,
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        f"--web.console.templates={folder}",
        f"--web.console.libraries={folder}",
        "--enable-feature=native-histograms",
        "--log.level=error",
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            address = f"http://127.0.0.1:{port}"
            _wait(address)
            yield address
        finally:
            process.terminate()
            process.wait()


def _wait(address: str) -> None:
    server = Prometheus(address)
    for _ in range(300):
        try:
            server.query("vector(1)")
        except PrometheusError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError("Prometheus does not start")


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _field(number: int, value: bytes | int | float) -> bytes:
    """Return a field of a protocol buffer: bytes, a variable integer, or a double."""
    if isinstance(value, bytes):
        return _varint(number << 3 | 2) + _varint(len(value)) + value
    if isinstance(value, float):
        return _varint(number << 3 | 1) + struct.pack("<d", value)
    return _varint(number << 3) + _varint(value)


def _signed(number: int) -> int:
    return number << 1 if number >= 0 else (-number << 1) - 1


def native_histogram(name: str, labels: dict[str, str], counts: dict[int, int]) -> bytes:
    """Return a native histogram as it is exposed: how many values are in each bucket of schema 0.

    Bucket i holds values above 2^(i-1) and up to 2^i.
    """
    spans = deltas = b""
    last = previous = 0
    for index, count in sorted(counts.items()):
        offset = index if not spans else index - last - 1
        spans += _field(12, _field(1, _signed(offset)) + _field(2, 1))
        deltas += _field(13, _signed(count - previous))
        last, previous = index, count
    # A zero bucket, even an empty one, is what marks the histogram as native.
    body = _field(1, sum(counts.values())) + _field(2, 1.0) + _field(5, 0) + _field(6, 1e-9)
    body += _field(7, 0) + spans + deltas
    pairs = b"".join(
        _field(1, _field(1, key.encode()) + _field(2, value.encode()))
        for key, value in labels.items()
    )
    family = _field(1, name.encode()) + _field(3, 4) + _field(4, pairs + _field(7, body))
    return _varint(len(family)) + family


@contextmanager
def exposing(name: str, labels: dict[str, str], counts: dict[int, int]) -> Iterator[int]:
    """Run a target whose native histogram grows by these counts at each scrape."""
    scrapes = iter(range(1, 1_000_000))
    kind = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; "

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            times = next(scrapes)
            grown = {index: count * times for index, count in counts.items()}
            body = native_histogram(name, labels, grown)
            self.send_response(200)
            self.send_header("content-type", f"{kind}encoding=delimited")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing to the screen."""

    with ThreadingHTTPServer(("127.0.0.1", PORTS.take()), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server.server_address[1]
        server.shutdown()
