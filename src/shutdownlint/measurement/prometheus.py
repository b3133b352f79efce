"""Prometheus' HTTP interface: instant queries, and the names of metrics.

Nothing but the given address is asked: no redirect is followed and no proxy of the environment is
used. Answers are bounded in size and time.
"""

from __future__ import annotations

import json
import math
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

import urllib3
from msgspec import Struct

from shutdownlint import limits
from shutdownlint.http_client import HttpClient, HttpError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class PrometheusError(Exception):
    """A server that cannot be queried, or whose answer is not valid; the message says why."""


class Sample(Struct, frozen=True):
    """The labels of a series and its value, which can be NaN or infinite."""

    labels: Mapping[str, str]
    value: float


class Credentials(Struct, frozen=True):
    """The credentials that a server asks for: a bearer token, or a name and a password."""

    token: str | None = None
    user: str | None = None
    password: str | None = None

    def headers(self) -> dict[str, str]:
        """Return the header for them. Raises ``PrometheusError`` for what no header can hold."""
        values = (self.token or "", self.user or "", self.password or "")
        if any(not text.isprintable() for text in values):
            raise PrometheusError("a token or password has a character that no header can hold")
        if self.token:
            return {"authorization": f"Bearer {self.token}".encode().decode("latin-1")}
        if self.user is not None:
            text = f"{self.user}:{self.password or ''}"
            return urllib3.make_headers(basic_auth=text.encode().decode("latin-1"))
        return {}


class Prometheus:
    """One server, by the address below which its interface is. Raises ``PrometheusError``."""

    def __init__(
        self, address: str, credentials: Credentials | None = None, authorities: str | None = None
    ) -> None:
        try:
            parts = urlsplit(address)
            host = parts.hostname
            port_is_valid = parts.port is None or parts.port > 0
        except ValueError:
            host, port_is_valid = None, False
        if not host or not port_is_valid or parts.scheme not in ("http", "https"):
            raise PrometheusError("an address begins with http:// or https:// and names a host")
        if parts.username is not None or parts.password is not None:
            raise PrometheusError("an address has no name and password: see --help for the ways")
        if parts.query or parts.fragment:
            raise PrometheusError("an address ends with its path: without ? and #")
        self.base = address.rstrip("/")
        self._headers = {
            "accept": "application/json",
            **(credentials or Credentials()).headers(),
        }
        try:
            self._client = HttpClient(
                limits.MAX_QUERY_SECONDS,
                limits.MAX_QUERY_ANSWER_BYTES,
                authorities if parts.scheme == "https" else None,
            )
        except HttpError as error:
            raise PrometheusError(str(error)) from None

    def query(self, expression: str) -> list[Sample]:
        """Return the value of an expression now, by series."""
        data = self._ask("api/v1/query", {"query": expression})
        if not isinstance(data, dict) or not isinstance(data.get("result"), list):
            raise PrometheusError("its answer is no query result")
        if data.get("resultType") != "vector":
            raise PrometheusError(f"its answer is a {data.get('resultType')}, not a vector")
        return [_sample(entry) for entry in data["result"]]

    def metric_names(self, candidates: Sequence[str], seconds: int) -> set[str]:
        """Return those of these metrics that the server has had in the last seconds."""
        now = int(time.time())
        fields = {
            "match[]": f'{{__name__=~"{"|".join(candidates)}"}}',
            "start": str(now - seconds),
            "end": str(now + 60),
        }
        data = self._ask("api/v1/label/__name__/values", fields, method="GET")
        if not isinstance(data, list):
            raise PrometheusError("its answer is no list of names")
        return {name for name in data if isinstance(name, str)} & set(candidates)

    def _ask(self, path: str, fields: dict[str, str], *, method: str = "POST") -> Any:
        """Return the data of an answer."""
        url, body, headers = f"{self.base}/{path}", urlencode(fields), self._headers
        if method == "GET":
            url, body = f"{url}?{body}", ""
        else:
            headers = {**headers, "content-type": "application/x-www-form-urlencoded"}
        try:
            answer = self._client.ask(method, url, headers, body)
        except HttpError as error:
            raise PrometheusError(str(error)) from None
        return _data(answer.status, answer.redirect, answer.body)


def _data(status: int, redirect: str | None, body: bytes) -> Any:
    """Return the data of an answer. Raises ``PrometheusError`` with the server's reason."""
    if redirect is not None:
        to = f" to {redirect}" if redirect else ""
        raise PrometheusError(f"it redirects{to}, which is not followed: give that address itself")
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        answer = None
    if isinstance(answer, dict) and answer.get("status") == "success" and status == 200:
        return answer.get("data")
    if isinstance(answer, dict) and isinstance(answer.get("error"), str):
        raise PrometheusError(f"{answer['error'][:500]} (HTTP {status})")
    if status in (401, 403):
        raise PrometheusError(f"it wants a token or a password (HTTP {status})")
    what = "no JSON of Prometheus" if status == 200 else f"HTTP {status}"
    raise PrometheusError(f"its answer is {what}: is this the address of a Prometheus?")


def _sample(entry: Any) -> Sample:
    try:
        labels = {str(name): str(value) for name, value in entry["metric"].items()}
        if "value" not in entry and "histogram" in entry:
            return Sample(labels, math.nan)
        return Sample(labels, float(entry["value"][1]))
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError):
        raise PrometheusError("its answer is no query result") from None
