"""Namespaces of manifests that write none: from Argo CD, Flux and options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Iterable


class NamespaceSources(Struct):
    """The sources of a namespace for manifests below a path that state none.

    ``default`` is what the user says (``--namespace``). Paths are files or folders as reports write
    them.
    """

    default: str | None = None
    _named: dict[str, set[str]] = field(default_factory=dict)
    _assigned: dict[str, str] = field(default_factory=dict)
    _known: dict[str, str | None] = field(default_factory=dict)

    def add(self, namespace: str, paths: Iterable[str]) -> None:
        """Add a source for the manifests in these files and folders."""
        for path in paths:
            self._named.setdefault("" if path == "." else path, set()).add(namespace)

    def assign(self, namespace: str, file: str) -> None:
        """Put the manifests of a file into a namespace, whatever its folder says."""
        self._assigned[file] = namespace

    def copy(self) -> NamespaceSources:
        """Return the same sources, to which others can be added."""
        named = {path: set(names) for path, names in self._named.items()}
        return NamespaceSources(self.default, named, dict(self._assigned))

    def of(self, written: str | None, file: str) -> str | None:
        """Return the namespace of an object that writes this namespace, or none, in that file.

        Sources that name different namespaces (two Applications of one folder) say nothing.
        """
        if written or file in self._assigned:
            return written or self._assigned[file]
        if not self._named:
            return self.default
        if file not in self._known:
            self._known[file] = _only(self._named, file)
        return self._known[file] or self.default


def _only(sources: dict[str, set[str]], file: str) -> str | None:
    """Return the only namespace that the file or a folder above it is put into."""
    found: set[str] = set()
    path = file.removeprefix("./")
    while True:
        found |= sources.get(path, set())
        if not path:
            return next(iter(found)) if len(found) == 1 else None
        path = path.rpartition("/")[0]
