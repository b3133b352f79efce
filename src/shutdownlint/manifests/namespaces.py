"""Namespaces of manifests that write none: from kustomizations, Argo CD, Flux and options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Iterator


class NamespaceSource(Struct, frozen=True):
    """Something that puts the manifests below these paths into a namespace.

    ``paths`` are files or folders as reports write them. ``overrides``: a namespace that is written
    in the manifests is replaced (a kustomization does that).
    """

    namespace: str
    paths: tuple[str, ...]
    overrides: bool = False

    def covers(self, file: str) -> bool:
        """Whether a file is one of the paths, or below one."""
        return any(
            file == path or file.startswith(f"{path}/") or path == "." for path in self.paths
        )


class NamespaceSources(Struct):
    """Every source of namespaces in a run. ``default`` is what the user says (``--namespace``)."""

    sources: list[NamespaceSource] = field(default_factory=list)
    default: str | None = None
    _known: dict[str, tuple[str | None, str | None]] = field(default_factory=dict)

    def of(self, written: str | None, file: str) -> str | None:
        """The namespace of an object that writes this namespace, or none, in that file.

        Sources that name different namespaces (two overlays of one base) say nothing.
        """
        if not self.sources:
            return written or self.default
        if file not in self._known:
            self._known[file] = (
                _only({s.namespace for s in self._covering(file) if s.overrides}),
                _only({s.namespace for s in self._covering(file)}),
            )
        overriding, filling = self._known[file]
        return overriding or written or filling or self.default

    def _covering(self, file: str) -> Iterator[NamespaceSource]:
        return (source for source in self.sources if source.covers(file))


def _only(names: set[str]) -> str | None:
    return next(iter(names)) if len(names) == 1 else None
