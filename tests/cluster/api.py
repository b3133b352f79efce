"""A client of the API server: plain requests, and a watch."""

from __future__ import annotations

import json
import ssl
import threading
import time
from http.client import HTTPException, HTTPSConnection
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

ADDRESS: Final = "127.0.0.1:6443"
TOKEN: Final = "tests"
Object = dict[str, Any]


class ApiError(Exception):
    """An answer that is an error: its code, and the server's message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class Api:
    """Requests to the API server; a connection for each thread."""

    def __init__(self) -> None:
        self._context = ssl.create_default_context()
        self._context.check_hostname = False
        self._context.verify_mode = ssl.CERT_NONE  # the server makes its certificate itself
        self._local = threading.local()

    def is_ready(self) -> bool:
        """Whether the server answers."""
        try:
            self.request("GET", "/readyz")
            self.get("/api/v1/namespaces/default")
        except (OSError, HTTPException, ApiError):
            return False
        return True

    def get(self, path: str) -> Any:
        """Return an object or list."""
        return self.request("GET", path)

    def create(self, path: str, body: Object | str, query: str = "") -> Any:
        """Create an object; a text is sent as YAML."""
        return self.request("POST", path + query, body)

    def patch(self, path: str, body: Object) -> Any:
        """Merge a patch into an object."""
        return self.request("PATCH", path, body, "application/merge-patch+json")

    def delete(self, path: str, body: Object | None = None) -> Any:
        """Delete an object."""
        return self.request("DELETE", path, body)

    def request(
        self, method: str, path: str, body: Object | str | None = None, kind: str = ""
    ) -> Any:
        """Return the server's answer. Raises ``ApiError``."""
        if isinstance(body, str):
            data, kind = body.encode(), kind or "application/yaml"
        else:
            data = json.dumps(body).encode() if body is not None else b""
        headers = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/json"}
        headers["Content-Type"] = kind or "application/json"
        for attempt in (1, 2):
            # What changes something is not sent on a connection that the server may be closing.
            connection = self._connection() if method == "GET" else self._new()
            try:
                connection.request(method, path, data or None, headers)
                answer = connection.getresponse()
                text = answer.read()
                break
            except (OSError, HTTPException):
                connection.close()
                self._local.__dict__.pop("connection", None)
                if attempt == 2 or method != "GET":
                    raise
        if method != "GET":
            connection.close()
        if answer.status >= 400:
            try:
                message = json.loads(text)["message"]
            except (ValueError, KeyError):
                message = text.decode(errors="replace")
            raise ApiError(answer.status, message)
        if answer.headers.get_content_type() != "application/json":
            return text.decode(errors="replace")
        return json.loads(text)

    def watch(
        self, path: str, stop: threading.Event, query: str = ""
    ) -> Iterator[tuple[float, str, Object]]:
        """Yield the changes below a path: the time of day, what happened, the object.

        It ends at the first change after ``stop`` is set, or with the server.
        """
        connection = self._new()
        connection.timeout = None
        headers = {"Authorization": f"Bearer {TOKEN}"}
        connection.request("GET", f"{path}?watch=true{query}", headers=headers)
        answer = connection.getresponse()
        buffer = b""
        while not stop.is_set():
            try:
                part = answer.read1()
            except (OSError, HTTPException):
                return
            if not part:
                return
            buffer += part
            *lines, buffer = buffer.split(b"\n")
            for line in lines:
                event = json.loads(line)
                yield time.time(), event["type"], event["object"]

    def _connection(self) -> HTTPSConnection:
        if not hasattr(self._local, "connection"):
            self._local.connection = self._new()
        connection: HTTPSConnection = self._local.connection
        return connection

    def _new(self) -> HTTPSConnection:
        host, _, port = ADDRESS.partition(":")
        return HTTPSConnection(host, int(port), timeout=60, context=self._context)
