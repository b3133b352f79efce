"""Servers that are slow, wrong or elsewhere: each gives one clear line, and nothing else is asked."""

from __future__ import annotations

import json
import math
import socket
import ssl
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs

import pytest
import trustme

from shutdownlint import http_client, limits
from shutdownlint.measurement.prometheus import Credentials, Prometheus, PrometheusError
from tests.helpers import run
from tests.measurement.test_real_prometheus import manifest
from tests.ports import PORTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class Asked(list[tuple[str, str, dict[str, str], dict[str, list[str]]]]):
    """Method, path, headers and fields of each request."""


@contextmanager
def answering(
    answer: Callable[[BaseHTTPRequestHandler], None], tls: ssl.SSLContext | None = None
) -> Iterator[tuple[str, Asked]]:
    """Run a server that gives this answer, and yield its address and what it was asked."""
    asked = Asked()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._handle(self.path.partition("?")[2])

        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            self._handle(self.rfile.read(length).decode())

        def _handle(self, fields: str) -> None:
            path = self.path.partition("?")[0]
            asked.append(
                (
                    self.command,
                    path,
                    {k.lower(): v for k, v in self.headers.items()},
                    parse_qs(fields),
                )
            )
            answer(self)

        def log_message(self, *_: object) -> None:
            """Nothing to the screen."""

    with ThreadingHTTPServer(("127.0.0.1", PORTS.take()), Handler) as server:
        server.daemon_threads, server.block_on_close = True, False
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        scheme = "http" if tls is None else "https"
        yield f"{scheme}://127.0.0.1:{server.server_address[1]}", asked
        server.shutdown()


def send(handler: BaseHTTPRequestHandler, body: bytes, status: int = 200, **headers: str) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.send_header("content-length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def success(data: Any) -> bytes:
    return json.dumps({"status": "success", "data": data}).encode()


def sending(body: bytes, status: int = 200, **headers: str) -> Callable[[Any], None]:
    return lambda handler: send(handler, body, status, **headers)


VECTOR: Final = {"resultType": "vector", "result": [{"metric": {}, "value": [1, "2"]}]}
ERROR: Final = json.dumps({"status": "error", "errorType": "x", "error": "too heavy"}).encode()
WRONG: Final = {
    "a redirect": (sending(b"", 302, location="http://127.0.0.1:1/"), "which is not followed"),
    "not found": (sending(b"<html>", 404), "HTTP 404"),
    "a page": (sending(b"<html>"), "no JSON of Prometheus"),
    "its own error": (sending(ERROR, 422), "too heavy (HTTP 422)"),
    "an error with 200": (sending(ERROR), "too heavy"),
    "login": (sending(b"", 401), "wants a token or a password (HTTP 401)"),
    "deep": (sending(b"[" * 100_000), "no JSON of Prometheus"),
    "a number": (sending(b"3"), "no JSON of Prometheus"),
    "no data": (sending(b'{"status":"success"}'), "no query result"),
    "a matrix": (sending(success({"resultType": "matrix", "result": []})), "is a matrix"),
    "broken sample": (
        sending(success({"resultType": "vector", "result": [{"metric": 3}]})),
        "no query result",
    ),
    "a huge number": (
        sending(
            b'{"status":"success","data":{"resultType":"vector","result":'
            b'[{"metric":{},"value":[1,1' + b"0" * 400 + b"]}]}}"
        ),
        "no query result",
    ),
    "nothing": (lambda handler: handler.connection.close(), ""),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_answer_is_one_clear_error(name: str) -> None:
    answer, text = WRONG[name]
    with answering(answer) as (address, asked):
        with pytest.raises(PrometheusError) as caught:
            Prometheus(address).query("up")
        assert text in str(caught.value)
        assert len(asked) == 1


def test_a_slow_server_is_given_its_time_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_QUERY_SECONDS", 0.3)

    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        for _ in range(100):
            handler.wfile.write(b" ")
            time.sleep(0.05)

    def drip_headers(handler: BaseHTTPRequestHandler) -> None:
        for _ in range(40):
            handler.wfile.write(b"H")
            time.sleep(0.05)

    monkeypatch.setattr(http_client, "_CONNECT_SECONDS", 0.2)
    for answer in (lambda _: time.sleep(2), drip, drip_headers):
        with answering(answer) as (address, _), pytest.raises(PrometheusError, match="no answer"):
            Prometheus(address).query("up")


def test_a_long_answer_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_QUERY_ANSWER_BYTES", 100_000)
    body = success({"resultType": "vector", "result": [{"metric": {"a": "x" * 200_000}}]})
    with answering(sending(body)) as (address, _), pytest.raises(PrometheusError, match="larger"):
        Prometheus(address).query("up")


@pytest.mark.parametrize(
    "address",
    [
        "localhost:9090",
        "ftp://host/",
        "http://",
        "http://a:b@host/",
        "http://h/?a=b",
        "http://h:x/",
    ],
)
def test_an_address_that_is_none(address: str) -> None:
    with pytest.raises(PrometheusError, match="an address"):
        Prometheus(address)


def test_values_that_are_no_numbers() -> None:
    values = ["NaN", "+Inf", "-Inf", "1e3"]
    result = [{"metric": {"n": str(n)}, "value": [1, v]} for n, v in enumerate(values)]
    result.append({"metric": {}, "histogram": [1, {}]})
    body = success({"resultType": "vector", "result": result})
    with answering(sending(body)) as (address, _):
        found = [sample.value for sample in Prometheus(address).query("up")]
    assert found[1:4] == [math.inf, -math.inf, 1000]
    assert math.isnan(found[0])
    assert math.isnan(found[4])


def test_credentials_come_from_the_environment_or_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop.yaml").write_text(manifest("shop"))
    token = tmp_path / "token"
    token.write_text("secret\n")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    with answering(sending(success([]))) as (address, asked):
        given = ["measure", str(tmp_path), "--isolated", "--prometheus", f"{address}/prom/"]
        assert run(*given)[0] == 2
        _, _, err = run(*given, "--token-file", str(token))
        assert "sent without encryption" in err
        monkeypatch.setenv("SHUTDOWNLINT_PROMETHEUS_USER", "me")
        monkeypatch.setenv("SHUTDOWNLINT_PROMETHEUS_PASSWORD", "secret")
        run(*given)
    # Two requests each: the metrics that are there, and those of endpoints.
    assert [headers.get("authorization") for _, _, headers, _ in asked[::2]] == [
        None,
        "Bearer secret",
        "Basic bWU6c2VjcmV0",
    ]
    assert {path for _, path, _, _ in asked} == {"/prom/api/v1/label/__name__/values"}


@pytest.mark.parametrize("token", ["a\nb", "a\r\nHost: x", "\x00"])
def test_a_token_cannot_add_headers(token: str) -> None:
    with pytest.raises(PrometheusError, match="no header can hold"):
        Prometheus("http://127.0.0.1:1", Credentials(token))


def test_names_from_manifests_stay_inside_their_quotes(tmp_path: Path) -> None:
    evil = manifest("shop").replace("name: checkout", "name: 'x\"}) or vector(1) #'")
    (tmp_path / "shop.yaml").write_text(evil)
    _, out, _ = run("measure", str(tmp_path), "--isolated")
    assert "vector" not in "".join(line for line in out.splitlines() if line[:1] != "#")
    with answering(sending(success(["istio_request_duration_milliseconds_bucket"]))) as found:
        code, out, _ = run("measure", str(tmp_path), "--isolated", "--prometheus", found[0])
        assert code == 2
        assert "its name is no name of Kubernetes" in out
        assert all(path.endswith("/values") for _, path, _, _ in found[1])


def test_one_query_a_workload(tmp_path: Path) -> None:
    text = "\n---\n".join(manifest("shop").replace("checkout", name) for name in ("a", "b", "c"))
    (tmp_path / "shop.yaml").write_text(text)
    names = ["istio_request_duration_milliseconds_bucket", "grpc_server_handling_seconds_bucket"]

    def answer(handler: BaseHTTPRequestHandler) -> None:
        is_query = handler.path.endswith("/query")
        send(handler, success({"resultType": "vector", "result": []} if is_query else names))

    with answering(answer) as (address, asked):
        code, out, err = run("measure", str(tmp_path), "--isolated", "--prometheus", address)
    queries = [fields["query"][0] for _, path, _, fields in asked if path.endswith("/query")]
    assert len(queries) == 3
    assert all(name in query for name in names for query in queries)
    assert out.count("not measured: no requests were seen in 7d") == 3
    assert code == 2
    assert "nothing was measured" in err


def test_without_a_server_nothing_is_asked_and_every_query_is_printed(tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(manifest("shop", "StatefulSet"))
    code, out, err = run("measure", str(tmp_path), "--isolated", "--window", "36h")
    assert (code, err) == (0, "")
    assert 'pod=~"checkout-[0-9]+"}[36h]' in out
    assert 'statefulset="checkout"' in out
    assert "kubeproxy_network_programming_duration_seconds_bucket" in out
    code, _, err = run("measure", str(tmp_path), "-o", str(tmp_path / "x"))
    assert (code, (tmp_path / "x").exists()) == (2, False)
    assert "--output needs --prometheus" in err


def test_certificates_are_checked(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    body = success({"resultType": "vector", "result": []})
    with answering(sending(body), context) as (address, asked):
        with pytest.raises(PrometheusError, match="certificate verify failed"):
            Prometheus(address).query("up")
        assert asked == []
        assert Prometheus(address, authorities=str(tmp_path / "ca.pem")).query("up") == []
    with pytest.raises(PrometheusError, match="no certificates"):
        Prometheus(address, authorities=str(tmp_path / "none.pem"))


def test_nothing_but_the_given_address_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop.yaml").write_text(manifest("shop"))
    connected: list[Any] = []
    real = socket.socket.connect

    def connect(self: socket.socket, address: Any) -> None:
        connected.append(address)
        real(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    names = ["istio_request_duration_milliseconds_bucket"]
    (tmp_path / "shutdownlint.toml").write_text('measured = ["http://127.0.0.1:1/x.toml"]\n')
    with answering(sending(success(names))) as (address, _):
        monkeypatch.chdir(tmp_path)
        run("measure", ".", "--isolated", "--prometheus", address)
        run("measure", ".", "--prometheus", address)
        run("measure", ".")
        port = int(address.rpartition(":")[2])
    assert set(connected) == {("127.0.0.1", port)}


@pytest.mark.parametrize(
    ("label", "value"),
    [("shutdownlint_metric", "\ud800\u001b[31m\nroot"), ("shutdownlint_quantile", "7")],
)
def test_an_answer_about_something_else_is_refused(label: str, value: str, tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(manifest("shop"))
    names = ["http_server_request_duration_seconds"]  # a native histogram
    sample = {"metric": {label: value}, "value": [1, "3"]}

    def answer(handler: BaseHTTPRequestHandler) -> None:
        found = {"resultType": "vector", "result": [sample]}
        send(handler, success(found if handler.path.endswith("/query") else names))

    with answering(answer) as (address, _):
        code, out, _ = run("measure", str(tmp_path), "--isolated", "--prometheus", address)
    assert code == 2
    assert "that was not asked for" in out
    assert "\x1b" not in out


@pytest.mark.parametrize("share", ["nan", "0.4", "1.5", "-1"])
def test_a_quantile_is_a_share(share: str, tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(manifest("shop"))
    assert run("measure", str(tmp_path), "--isolated", "--quantile", share)[0] == 2
