"""A world: the files that are deployed together, read for what they say about one another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from shutdownlint.manifests.mesh_evidence import MeshEvidenceIndex
from shutdownlint.manifests.reader import ReadStats
from shutdownlint.manifests.splitter import Chunk
from shutdownlint.yaml_source.location import Region

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shutdownlint.manifests.discovery import InputFile
    from shutdownlint.manifests.inputs import InputSource
    from shutdownlint.manifests.object_index import ObjectIndex
    from shutdownlint.manifests.suppressions import Suppression


class WorkloadChunk(Struct, frozen=True):
    """A chunk of a file that may hold workloads. ``seen``: it was parsed for its context before."""

    start: int
    length: int
    first_line: int
    index: int
    seen: bool

    def of(self, data: bytes) -> Chunk:
        """Return the chunk of the file's bytes."""
        text = data[self.start : self.start + self.length]
        return Chunk(text, self.first_line, self.index, self.start)


class WorkloadFile(Struct, frozen=True):
    """A file with chunks that may hold workloads, and its size when they were found.

    ``again``: it was read before, in this world or another one, so it is not counted again.
    """

    source: InputSource
    file: InputFile
    size: int
    again: bool
    chunks: tuple[WorkloadChunk, ...]

    @property
    def length(self) -> int:
        """The size of its chunks together, in bytes."""
        return sum(chunk.length for chunk in self.chunks)


class World(Struct, frozen=True, eq=False):
    """The files that are deployed together, with the objects that give context.

    The first world has the files that belong to no variant. That of a variant (an environment that
    excludes others) has its name, knows the first one's objects too, and reports its own files
    only. ``index`` is None if no document was parsed. ``context_files`` are read for context only.
    ``variants`` are those of each file. ``shared`` is the number of objects that the first world
    has read. ``stats`` and ``suppressions`` are those of what was read for its context.
    """

    index: ObjectIndex | None = None
    files: tuple[WorkloadFile, ...] = ()
    stats: ReadStats = field(default_factory=ReadStats)
    suppressions: tuple[Suppression, ...] = ()
    mesh_evidence: MeshEvidenceIndex = field(default_factory=MeshEvidenceIndex)
    context_files: frozenset[str] = frozenset()
    variant: str = ""
    variants: Mapping[str, frozenset[str]] = field(default_factory=dict)
    shared: int = 0

    @property
    def has_own_objects(self) -> bool:
        """Whether it has read some of the objects that give context itself."""
        return self.index is not None and self.index.count > self.shared

    @property
    def has_input(self) -> bool:
        """Whether there is anything to check, or to report."""
        return bool(self.files or self.index is not None or self.stats.unreadable)

    @property
    def place(self) -> Region:
        """The beginning of its first file, for what concerns all of it."""
        names = [*self.variants, *(file.file.display_path for file in self.files)]
        return Region(names[0] if names else ".", 1, 1, 1, 1)

    @property
    def chunk_count(self) -> int:
        """The number of chunks that may hold workloads."""
        return sum(len(file.chunks) for file in self.files)

    def reports(self, file: str) -> bool:
        """Whether findings in a file are reported here.

        Files for context are not reported, and those of no variant only once, by the first world.
        """
        return file not in self.context_files and (not self.variant or file in self.variants)

    def share_files(self, count: int) -> list[tuple[WorkloadFile, ...]]:
        """Return the files with workloads in so many groups of about the same size."""
        sizes = [file.length for file in self.files]
        shares: list[list[WorkloadFile]] = [[] for _ in range(count)]
        before, total = 0, max(sum(sizes), 1)
        for file, size in zip(self.files, sizes, strict=True):
            shares[min(count * before // total, count - 1)].append(file)
            before += size
        return [tuple(share) for share in shares]


def variants_of(worlds: Sequence[World]) -> dict[str, set[str]]:
    """Return the variants that each file is part of, or changes."""
    found: dict[str, set[str]] = {}
    for world in worlds:
        for file, variants in world.variants.items():
            found.setdefault(file, set()).update(variants)
    return found
