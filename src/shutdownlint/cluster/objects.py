"""The objects of a cluster: those of the kinds that are read, in pages, within bounds.

Source: kubernetes/kubernetes staging/src/k8s.io/apiserver (limit and continue, 410 Gone for a list
that has expired), the API's discovery documents.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

from msgspec import Struct, field

from shutdownlint import limits
from shutdownlint.cluster.kubeconfig import Access, ClusterError
from shutdownlint.http_client import HttpClient, HttpError
from shutdownlint.manifests.decoding import mappings

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_PAGE: Final = 500
_OK, _FORBIDDEN, _GONE = 200, (401, 403), 410
#: A list is begun again so often where the server has forgotten its place in it.
_TRIES: Final = 3
#: Everybody may ask for it, so it shows whether the server can be asked.
_FIRST: Final = "/version"
_NEVER: Final = ("", "Secret")


class _Resource(Struct, frozen=True):
    """A kind as the server has it: the path of its list."""

    group: str
    kind: str
    path: str
    api_version: str


class ClusterObjects(Struct):
    """What a cluster gave: objects, and the kinds that could not be listed with the reason.

    ``requests`` counts what it was asked.
    """

    objects: list[dict[str, Any]] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    requests: int = 0


def read_objects(access: Access, wanted: Collection[tuple[str, str]]) -> ClusterObjects:
    """Return the objects of the wanted kinds (group and kind). Raises ``ClusterError``.

    Only lists are asked for, and what the server has at all. A kind that it refuses is named.
    """
    return _Reader(access).read({*wanted} - {_NEVER})


class _Reader:
    def __init__(self, access: Access) -> None:
        self._access = access
        self._client = HttpClient(
            limits.MAX_CLUSTER_SECONDS, limits.MAX_CLUSTER_ANSWER_BYTES, tls=access.tls
        )
        self._found = ClusterObjects()
        self._bytes = 0

    def read(self, wanted: Collection[tuple[str, str]]) -> ClusterObjects:
        """Ask for everything."""
        self._ask(_FIRST)
        for resource in self._resources(wanted):
            try:
                self._list(resource)
            except _RefusedError as error:
                self._found.refused.append((resource.kind, str(error)))
        return self._found

    def _resources(self, wanted: Collection[tuple[str, str]]) -> Iterator[_Resource]:
        """Yield the wanted kinds that the server has, each in the version that it prefers."""
        groups = {group for group, _ in wanted}
        paths = [("", "/api/v1", "v1")] if "" in groups else []
        for entry in mappings(self._ask("/apis").get("groups")):
            name, preferred = str(entry.get("name")), entry.get("preferredVersion")
            version = preferred.get("groupVersion") if isinstance(preferred, dict) else None
            if name in groups and isinstance(version, str):
                paths.append((name, f"/apis/{quote(version)}", version))
        for group, path, version in paths:
            try:
                entries = mappings(self._ask(path).get("resources"))
            except _RefusedError as error:
                self._found.refused.append((version, str(error)))
                continue
            for entry in entries:
                kind, name, verbs = (
                    str(entry.get("kind")),
                    str(entry.get("name")),
                    entry.get("verbs"),
                )
                listed = isinstance(verbs, list) and "list" in verbs
                if (group, kind) in wanted and "/" not in name and listed:
                    yield _Resource(group, kind, f"{path}/{quote(name)}", version)

    def _list(self, resource: _Resource) -> None:
        """Add all objects of a kind, page by page."""
        for _ in range(_TRIES):
            page, place = list[dict[str, Any]](), ""
            while True:
                query = {"limit": str(_PAGE)} | ({"continue": place} if place else {})
                answer = self._ask(f"{resource.path}?{urlencode(query)}", gone_is_none=True)
                if not answer:
                    break
                page += mappings(answer.get("items"))
                if len(self._found.objects) + len(page) > limits.MAX_CLUSTER_OBJECTS:
                    most = f"{limits.MAX_CLUSTER_OBJECTS:,}"
                    raise ClusterError(
                        f"context {self._access.context}: it has more than {most} objects"
                    )
                metadata = answer.get("metadata")
                following = metadata.get("continue") if isinstance(metadata, dict) else None
                if not following:
                    self._add(resource, page)
                    return
                if following == place:
                    raise _RefusedError("its list does not end")
                place = str(following)
        raise _RefusedError("its list changes faster than it can be read")

    def _add(self, resource: _Resource, items: list[dict[str, Any]]) -> None:
        for item in items:
            metadata = item.get("metadata")
            if isinstance(metadata, dict):
                metadata.pop("managedFields", None)
            named = {"apiVersion": resource.api_version, "kind": resource.kind}
            self._found.objects.append(named | item)

    def _ask(self, path: str, *, gone_is_none: bool = False) -> dict[str, Any]:
        """Return an answer as JSON; empty for a list that has expired, where that may be."""
        access = self._access
        self._found.requests += 1
        if self._found.requests > limits.MAX_CLUSTER_REQUESTS:
            raise ClusterError(f"context {access.context}: it gives pages without end")
        headers = {"accept": "application/json", **access.headers}
        try:
            answer = self._client.ask("GET", f"{access.server}{path}", headers)
        except HttpError as error:
            raise ClusterError(f"context {access.context}: {error}") from None
        self._bytes += len(answer.body)
        if self._bytes > limits.MAX_CLUSTER_BYTES:
            raise ClusterError(f"context {access.context}: its objects are too large")
        if answer.status == _GONE and gone_is_none:
            return {}
        if answer.status in _FORBIDDEN:
            what = "forbidden" if answer.status != _FORBIDDEN[0] else "its credentials are refused"
            if path == _FIRST:
                raise ClusterError(f"context {access.context}: {what}")
            raise _RefusedError(what)
        if answer.status != _OK:
            raise _RefusedError(f"HTTP {answer.status}")
        try:
            found = json.loads(answer.body)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise _RefusedError("its answer is no JSON object")
        return found


class _RefusedError(Exception):
    """One list that the server does not give."""
