"""Objects of a mesh among the files: they make it likely that pods near them are in the mesh."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from shutdownlint.manifests.kinds import Reach
from shutdownlint.patterns import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shutdownlint.manifests.kinds import MeshSign, MeshWord

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
    reach: Reach = Reach.NO_POD


def find_evidence(words: Sequence[MeshWord], file: str, data: bytes) -> Iterator[MeshEvidence]:
    """Yield the meshes that objects in this text belong to; the text alone shows it."""
    for word in words:
        if word.mesh.encode() not in data:
            continue
        kind = _KIND.search(data)
        groups = (found[1] for found in _API_VERSION.finditer(data))
        sign = _sign_of(word, kind[1] if kind else b"", data)
        if sign is None and not any(group.endswith(word.group) for group in groups):
            continue
        named = kind is not None and kind[1] == b"Namespace"
        namespace = (_NAME if named else _NAMESPACE).search(data)
        yield MeshEvidence(
            word.mesh,
            file,
            kind[1].decode(errors="replace") if kind else "object",
            namespace[1].decode(errors="replace") if namespace else "",
            _reach_of(word, sign, data),
        )


def _sign_of(word: MeshWord, kind: bytes, data: bytes) -> MeshSign | None:
    for sign in word.signs:
        if sign.kind == kind and all(re.search(each, data) for each in sign.patterns):
            return sign
    return None


def _reach_of(word: MeshWord, sign: MeshSign | None, data: bytes) -> Reach:
    """Return the pods that an object makes likely to be in the mesh."""
    if sign is None or any(re.search(each, data) for each in word.switched_off):
        return Reach.NO_POD
    return Reach.BELOW if any(re.search(e, data) for e in word.switched_on) else sign.reach


class MeshEvidenceIndex(Struct):
    """The evidence by namespace and by folder.

    An object is near a pod if both write the same namespace. Where one of them writes none, it is
    near if it is in the pod's folder or above it, or both are in folders of one parent.
    """

    words: Sequence[MeshWord] = ()
    _by_namespace: dict[tuple[str, str], MeshEvidence] = field(default_factory=dict)
    _by_folder: dict[tuple[str, bool, str], MeshEvidence] = field(default_factory=dict)
    _by_parent: dict[tuple[str, bool, str], MeshEvidence] = field(default_factory=dict)
    #: Of those that make pods likely to be in the mesh, by the reach as well.
    _likely: dict[tuple[str, bool, str, Reach], MeshEvidence] = field(default_factory=dict)

    def named_in(self, keys: Iterable[str]) -> set[str]:
        """Return the meshes whose labels or annotations these keys are."""
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
        if evidence.reach is not Reach.NO_POD:
            self._likely.setdefault((mesh, named, folder, evidence.reach), evidence)

    def copy(self) -> MeshEvidenceIndex:
        """Return an index with the same objects, to which others can be added."""
        return MeshEvidenceIndex(
            self.words,
            dict(self._by_namespace),
            dict(self._by_folder),
            dict(self._by_parent),
            dict(self._likely),
        )

    def __bool__(self) -> bool:
        return bool(self._by_folder)

    def likely(self, mesh: str, namespace: str | None, file: str) -> MeshEvidence | None:
        """Return the evidence that a pod of this namespace in that file is likely in the mesh."""
        if not self._likely:
            return None
        here = own = _folder(file)
        # Of another namespace it says nothing about a pod that writes its own.
        kinds = (False,) if namespace else (False, True)
        while True:
            for named in kinds:
                reaches = (Reach.FOLDER, Reach.BELOW) if here == own else (Reach.BELOW,)
                for reach in reaches:
                    found = self._likely.get((mesh, named, here, reach))
                    if found is not None:
                        return found
            if not here:
                return None
            here = _folder(here)

    def near(self, mesh: str, namespace: str | None, file: str) -> MeshEvidence | None:
        """Return the evidence near a pod of this namespace in that file."""
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
