"""Read the files of a world for their context, and find the chunks that may hold workloads."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint.manifests.discovery import IgnoredInput, InputError
from shutdownlint.manifests.document_reader import SUPPRESSION_WORD, DocumentReader
from shutdownlint.manifests.mesh_evidence import MeshEvidenceIndex, find_evidence
from shutdownlint.manifests.own_reports import is_own_report
from shutdownlint.manifests.prefilter import Content, Prefilter
from shutdownlint.manifests.reader import ReadStats, read_bytes, searchable
from shutdownlint.manifests.skips import (
    EMPTY,
    EXCLUDED,
    GIT_IGNORED,
    NO_CONTAINERS,
    OWN_REPORT,
    SkipReason,
)
from shutdownlint.manifests.splitter import split
from shutdownlint.manifests.world import WorkloadChunk, WorkloadFile, World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from shutdownlint.manifests.discovery import InputFile
    from shutdownlint.manifests.document import Document
    from shutdownlint.manifests.inputs import InputSource
    from shutdownlint.manifests.kinds import KindTable
    from shutdownlint.manifests.object_index import ObjectIndex
    from shutdownlint.manifests.splitter import Chunk

_FLUX: Final = b"kustomize.toolkit.fluxcd.io"


class Reading(Struct, frozen=True):
    """The common part of reading several worlds.

    ``on_words`` is called with the bytes of every document that is parsed, before its objects are
    read, ``on_file`` for every file. ``namespace`` is that of manifests without one.
    """

    kinds: KindTable
    prefilter: Prefilter
    on_words: Callable[[bytes], None]
    on_file: Callable[[], None]
    namespace: str | None = None
    debug: bool = False


def read_world(
    sources: Iterable[tuple[InputSource, bool]], reading: Reading, first: World | None = None
) -> World:
    """Read the files of a world. Bad input never raises; it is noted in the world's counts.

    A source comes with whether an earlier world has read its file. ``first`` is the world whose
    objects this one knows as well.
    """
    reader = _WorldReader(reading, first)
    for source, again in sources:
        reader.read_source(source, again=again)
    return reader.world()


class _WorldReader:
    def __init__(self, reading: Reading, first: World | None) -> None:
        self._reading = reading
        self._first = first
        self._documents = DocumentReader(debug=reading.debug)
        self._stats = self._documents.stats
        self._index = first.index.copy() if first is not None and first.index is not None else None
        self._shared = self._index.count if self._index is not None else 0
        self._evidence = (
            first.mesh_evidence.copy()
            if first is not None
            else MeshEvidenceIndex(reading.kinds.mesh_words)
        )
        self._context_files = set(first.context_files) if first is not None else set[str]()
        self._checked_files: set[str] = set()
        self._files: list[WorkloadFile] = []
        #: All files of a world but the first belong to the same variant.
        self._variant = ""
        self._variants: dict[str, set[str]] = {}

    def world(self) -> World:
        """Return what was read."""
        return World(
            self._index,
            tuple(self._files),
            self._stats,
            tuple(self._documents.suppressions),
            self._evidence,
            frozenset(self._context_files - self._checked_files),
            self._variant,
            {file: frozenset(names) for file, names in self._variants.items()},
            self._shared,
        )

    def read_source(self, source: InputSource, *, again: bool) -> None:
        """Read a file."""
        file = source.file
        if isinstance(file, InputError):
            self._stats.fail(file.display_path, file.reason)
            return
        if isinstance(file, IgnoredInput):
            self._stats.skipped[EXCLUDED if file.excluded else GIT_IGNORED] += 1
            return
        if source.variant:
            self._variant = source.variant
            for name in (file.display_path, *source.changed_by):
                self._variants.setdefault(name, set()).add(source.variant)
        self._reading.on_file()
        (self._context_files if source.context else self._checked_files).add(file.display_path)
        data = read_bytes(file, ReadStats() if again else self._stats)
        if not again:
            self._stats.count_file()
        if data is not None:
            if source.namespace:
                self._make_index().namespaces.assign(source.namespace, file.display_path)
            self._read_file(source, file, data, again=again)

    def _read_file(self, source: InputSource, file: InputFile, data: bytes, *, again: bool) -> None:
        if is_own_report(data):
            if not again:
                self._stats.skip(OWN_REPORT)
            return
        chunks: list[WorkloadChunk] = []
        for chunk in split(data):
            # Flux' own Kustomizations are often in files of the same name.
            kustomization = file.is_kustomization and _FLUX not in chunk.data
            text = searchable(chunk.data)
            if kustomization or source.patch:
                self._reading.on_words(text)
                self._read_only(file, chunk, counted=not again)
                continue
            self._note_mesh(file, text + source.words)
            content = self._reading.prefilter.classify(chunk.data, source.words)
            if isinstance(content, SkipReason):
                if content != EMPTY and not again:
                    self._skip(source, file, chunk, content)
                continue
            self._reading.on_words(text + source.words)
            seen = content is not Content.WORKLOADS
            if seen:
                both = content is Content.BOTH
                holds_workloads = self._read_objects(source, file, chunk, both=both, again=again)
            else:
                holds_workloads = not source.context
                if source.context and not again:
                    self._stats.count_document()
            if holds_workloads:
                part = WorkloadChunk(
                    chunk.start, len(chunk.data), chunk.first_line, chunk.index, seen
                )
                chunks.append(part)
        if chunks:
            self._files.append(WorkloadFile(source, file, len(data), again, tuple(chunks)))

    def _note_mesh(self, file: InputFile, data: bytes) -> None:
        for evidence in find_evidence(self._reading.kinds.mesh_words, file.display_path, data):
            self._reading.on_words(data)
            self._evidence.add(evidence)

    def _make_index(self) -> ObjectIndex:
        from shutdownlint.manifests.namespaces import NamespaceSources  # noqa: PLC0415 - as below
        from shutdownlint.manifests.object_index import ObjectIndex  # noqa: PLC0415 - seldom first

        if self._index is None:
            self._index = ObjectIndex(namespaces=NamespaceSources(self._reading.namespace))
        return self._index

    def _read_only(self, file: InputFile, chunk: Chunk, *, counted: bool) -> None:
        """Read what says something about other files: kustomizations, and patches."""
        self._make_index()
        documents = self._documents.written_documents(file, chunk, counted=counted, first=counted)
        for document in documents:
            document.release()

    def _read_objects(
        self, source: InputSource, file: InputFile, chunk: Chunk, *, both: bool, again: bool
    ) -> bool:
        """Read the objects of a chunk; return whether it holds workloads as well."""
        self._make_index()
        holds_workloads = False
        first = not again and not source.context
        documents = self._documents.documents(source, file, chunk, counted=not again, first=first)
        for document in documents:
            found = self._add_objects(document, both=both, again=again)
            holds_workloads = found or holds_workloads
            document.release()
        return holds_workloads and not source.context

    def _add_objects(self, document: Document, *, both: bool, again: bool) -> bool:
        """Add what a document says of other objects to the index; whether it holds workloads."""
        from shutdownlint.manifests.context_objects import add_context  # noqa: PLC0415 - a parser

        kinds = self._reading.kinds
        try:
            found = add_context(document, self._make_index(), kinds, both=both)
        except Exception as error:
            self._documents.note_failure(document, error)
            return False
        if not (again or found.gives_context or found.has_workloads):
            self._stats.skipped[found.skip_reason] += 1
        return found.has_workloads

    def _skip(self, source: InputSource, file: InputFile, chunk: Chunk, reason: SkipReason) -> None:
        if reason == NO_CONTAINERS and not source.context:
            # A workload that is not YAML has perhaps no containers for that reason.
            documents = self._documents.written_documents(file, chunk, counted=True, first=True)
            for document in documents:
                self._stats.skipped[reason] += 1
                document.release()
            return
        self._stats.skip(reason)
        # An object of Flux may have patches, which findings point to.
        if _FLUX in chunk.data and SUPPRESSION_WORD.encode() in chunk.data and not source.context:
            with suppress(ValueError):  # not UTF-8
                document = self._documents.make_parser().document(file.display_path, chunk, 0)
                self._documents.note_suppressions(document)
