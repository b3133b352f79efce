"""An API server of the test: discovery, and lists in pages; it may refuse, lie, or never end."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

PLURALS = {
    "Deployment": ("apps", "v1", "deployments"),
    "ReplicaSet": ("apps", "v1", "replicasets"),
    "Pod": ("", "v1", "pods"),
    "Service": ("", "v1", "services"),
    "Namespace": ("", "v1", "namespaces"),
    "ConfigMap": ("", "v1", "configmaps"),
    "Secret": ("", "v1", "secrets"),
}


class FakeServer:
    """What the server has, how it behaves, and what it was asked."""

    def __init__(self, objects: list[dict[str, Any]]) -> None:
        self.objects = objects
        self.asked: list[tuple[str, str]] = []
        self.headers: list[dict[str, str]] = []
        self.forbidden: set[str] = set()
        #: The plural of a list, and what is wrong with it.
        self.faults: dict[str, str] = {}
        self.token = ""
        self.page = 2
        self.port = 0

    def answer(self, path: str, query: dict[str, list[str]]) -> tuple[int, Any]:
        """Return status and document of a request."""
        if path == "/version":
            return 200, {"gitVersion": "v1.34.4"}
        if path == "/apis":
            preferred = {"groupVersion": "apps/v1"}
            return 200, {"groups": [{"name": "apps", "preferredVersion": preferred}, {"name": "x"}]}
        for kind, (group, version, plural) in PLURALS.items():
            base = f"/apis/{group}/{version}" if group else f"/api/{version}"
            if path == base:
                return 200, {"resources": self._resources(group)}
            if path == f"{base}/{plural}":
                return self._list(kind, plural, query)
        return 404, {}

    def _resources(self, group: str) -> list[dict[str, Any]]:
        found = [
            {"name": plural, "kind": kind, "verbs": ["get", "list"]}
            for kind, (of, _, plural) in PLURALS.items()
            if of == group
        ]
        return [*found, {"name": "pods/log", "kind": "Pod", "verbs": ["get"]}]

    def _list(self, kind: str, plural: str, query: dict[str, list[str]]) -> tuple[int, Any]:
        if plural in self.forbidden:
            return 403, {"message": "forbidden"}
        begin = int(query.get("continue", ["0"])[0])
        fault = self.faults.get(plural, "")
        if fault == "gone once" and begin:
            del self.faults[plural]
            return 410, {}
        if fault == "gone" and begin:
            return 410, {}
        if fault == "no JSON":
            return 200, None
        if fault == "endless":
            return 200, {"items": [], "metadata": {"continue": str(begin + 1)}}
        if fault == "the same page":
            return 200, {"items": [], "metadata": {"continue": "7"}}
        if fault == "slow":
            time.sleep(3)
        own = [each for each in self.objects if each["kind"] == kind]
        part = [
            {key: value for key, value in each.items() if key not in ("kind", "apiVersion")}
            for each in own[begin : begin + self.page]
        ]
        metadata = {"continue": str(begin + self.page)} if begin + self.page < len(own) else {}
        return 200, {"items": part, "metadata": metadata}


@contextmanager
def serving(server: FakeServer) -> Iterator[FakeServer]:
    """Serve on 127.0.0.1 inside of the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            server.asked.append((self.command, self.path))
            server.headers.append(dict(self.headers))
            if server.token and self.headers.get("authorization") != f"Bearer {server.token}":
                status, found = 401, dict[str, Any]()
            else:
                status, found = server.answer(parts.path, parse_qs(parts.query))
            data = b"<html>" if found is None else json.dumps(found).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listener:
        server.port = listener.server_address[1]
        threading.Thread(target=listener.serve_forever, daemon=True).start()
        try:
            yield server
        finally:
            listener.shutdown()
