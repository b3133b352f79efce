"""Objects of a mesh among the files: they make it likely that pods near them are in the mesh."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from shutdownlint.patterns import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shutdownlint.manifests.kinds import MeshWord

#: Of an object as people write it: the group of its version, its kind and its namespace.
_API_VERSION: Final = lazy_pattern(
    rb"^[ \-]*\"?apiVersion\"?: *[\"']?([a-z0-9.\-]+)/", re.MULTILINE
)
_KIND: Final = lazy_pattern(rb"^\"?kind\"?: *[\"']?([A-Za-z0-9]+)", re.MULTILINE)
_NAME: Final = lazy_pattern(rb"\bname\"?: *[\"']?([a-z0-9\-]+)")
_NAMESPACE: Final = lazy_pattern(rb"\bnamespace\"?: *[\"']?([a-z0-9\-]+)")


class MeshEvidence(Struct, frozen=True):
    """An object of a mesh. ``namespace`` is empty where it writes none."""

    mesh: str
    file: str
    kind: str
    namespace: str


def find_evidence(words: Sequence[MeshWord], file: str, data: bytes) -> Iterator[MeshEvidence]:
    """The meshes that objects in this text belong to; the text alone shows it."""
    for word in words:
        if word.mesh.encode() not in data:
            continue
        kind = _KIND.search(data)
        groups = (found[1] for found in _API_VERSION.finditer(data))
        if any(group.endswith(word.group) for group in groups):
            namespace = _NAMESPACE.search(data)
        elif kind is not None and any(
            sign.kind == kind[1] and all(re.search(each, data) for each in sign.patterns)
            for sign in word.signs
        ):
            namespace = (_NAME if kind[1] == b"Namespace" else _NAMESPACE).search(data)
        else:
            continue
        yield MeshEvidence(
            word.mesh,
            file,
            kind[1].decode(errors="replace") if kind else "object",
            namespace[1].decode(errors="replace") if namespace else "",
        )


class MeshEvidenceIndex(Struct):
    """The evidence by namespace and by folder.

    An object is near a pod if both write the same namespace. Where one of them writes none, it is
    near if it is in the pod's folder or above it, or both are in folders of one parent.
    """

    words: Sequence[MeshWord] = ()
    _by_namespace: dict[tuple[str, str], MeshEvidence] = field(default_factory=dict)
    _by_folder: dict[tuple[str, bool, str], MeshEvidence] = field(default_factory=dict)
    _by_parent: dict[tuple[str, bool, str], MeshEvidence] = field(default_factory=dict)

    def named_in(self, keys: Iterable[str]) -> set[str]:
        """The meshes whose labels or annotations these keys are."""
        groups = [key.partition("/")[0] for key in keys if "/" in key]
        return {
            word.mesh
            for word in self.words
            if any(group.endswith(word.group.decode()) for group in groups)
        }

    def add(self, evidence: MeshEvidence) -> None:
        """Add an object."""
        mesh, named, folder = evidence.mesh, bool(evidence.namespace), _folder(evidence.file)
        if named:
            self._by_namespace.setdefault((mesh, evidence.namespace), evidence)
        self._by_folder.setdefault((mesh, named, folder), evidence)
        self._by_parent.setdefault((mesh, named, _folder(folder)), evidence)

    def copy(self) -> MeshEvidenceIndex:
        """An index with the same objects, to which others can be added."""
        return MeshEvidenceIndex(
            self.words, dict(self._by_namespace), dict(self._by_folder), dict(self._by_parent)
        )

    def __bool__(self) -> bool:
        return bool(self._by_folder)

    def near(self, mesh: str, namespace: str | None, file: str) -> MeshEvidence | None:
        """The evidence near a pod of this namespace in that file."""
        if not self:
            return None
        if namespace and (mesh, namespace) in self._by_namespace:
            return self._by_namespace[mesh, namespace]
        folder = _folder(file)
        # Of another namespace it says nothing about a pod that writes its own.
        for named in (False,) if namespace else (False, True):
            found = self._by_parent.get((mesh, named, folder)) or self._by_parent.get(
                (mesh, named, _folder(folder))
            )
            here = folder
            while found is None:
                found = self._by_folder.get((mesh, named, here))
                if not here:
                    break
                here = _folder(here)
            if found is not None:
                return found
        return None


def _folder(path: str) -> str:
    return path.removeprefix("./").rpartition("/")[0]
