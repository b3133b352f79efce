"""Namespaces of manifests that write none: from kustomizations, Argo CD, Flux and options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Iterable


class NamespaceSources(Struct):
    """What puts the manifests below a path into a namespace.

    ``default`` is what the user says (``--namespace``). Paths are files or folders as reports write
    them.
    """

    default: str | None = None
    _overriding: dict[str, set[str]] = field(default_factory=dict)
    _filling: dict[str, set[str]] = field(default_factory=dict)
    _known: dict[str, tuple[str | None, str | None]] = field(default_factory=dict)

    def add(self, namespace: str, paths: Iterable[str], *, overrides: bool) -> None:
        """Add a source. ``overrides``: it replaces a namespace that is written (kustomize does)."""
        target = self._overriding if overrides else self._filling
        for path in paths:
            target.setdefault("" if path == "." else path, set()).add(namespace)

    def of(self, written: str | None, file: str) -> str | None:
        """The namespace of an object that writes this namespace, or none, in that file.

        Sources that name different namespaces (two overlays of one base) say nothing.
        """
        if not self._overriding and not self._filling:
            return written or self.default
        if file not in self._known:
            self._known[file] = _only(self._overriding, file), _only(self._filling, file)
        overriding, filling = self._known[file]
        return overriding or written or filling or self.default


def _only(sources: dict[str, set[str]], file: str) -> str | None:
    """The only namespace that the file or a folder above it is put into."""
    found: set[str] = set()
    path = file.removeprefix("./")
    while True:
        found |= sources.get(path, set())
        if not path:
            return next(iter(found)) if len(found) == 1 else None
        path = path.rpartition("/")[0]
