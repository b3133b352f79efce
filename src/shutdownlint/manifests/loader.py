"""The files of a run: first the objects that give context, then the workloads one by one."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

from msgspec import Struct, field

from shutdownlint.manifests.discovery import InputError, InputFile
from shutdownlint.manifests.mesh_evidence import MeshEvidenceIndex, find_evidence
from shutdownlint.manifests.prefilter import Content, Prefilter
from shutdownlint.manifests.reader import (
    ReadStats,
    UnreadableInput,
    internal_error,
    read_bytes,
)
from shutdownlint.manifests.skips import EMPTY, SkipReason
from shutdownlint.manifests.splitter import Chunk, split
from shutdownlint.yaml_source.errors import BudgetExceededError
from shutdownlint.yaml_source.location import Region

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from shutdownlint.manifests.document import Document
    from shutdownlint.manifests.kinds import KindTable
    from shutdownlint.manifests.object_index import ObjectIndex
    from shutdownlint.manifests.parser import Parser
    from shutdownlint.manifests.suppressions import Suppression
    from shutdownlint.manifests.workloads import Workload

_TOO_MANY_VALUES = "too many values after expanding YAML aliases"
#: Every comment that is meant as a suppression has this; with a capital it is a slip.
_SUPPRESSION_WORD = "hutdownlint:"


class InputSource(Struct, frozen=True):
    """A file of the run; one that is ``context`` only is read but not checked."""

    file: InputFile | InputError
    context: bool = False


class _PendingChunk(Struct, frozen=True):
    """A part of a file that holds workloads. ``seen``: it was parsed for its context already."""

    start: int
    length: int
    first_line: int
    index: int
    seen: bool


class _PendingFile(Struct):
    """A file with parts that hold workloads, and how long it was when they were found."""

    file: InputFile
    size: int
    chunks: list[_PendingChunk] = field(default_factory=list)


class Loader:
    """Reads the files of a run. Bad input never raises; it is noted in ``stats``.

    ``on_words`` is called with the bytes of every document that is parsed, before its objects are
    read. ``index`` is None until a document has been parsed.
    """

    def __init__(
        self,
        kinds: KindTable,
        on_words: Callable[[bytes], None],
        on_file: Callable[[], None],
        *,
        debug: bool = False,
    ) -> None:
        self._debug = debug
        self.stats = ReadStats()
        self.index: ObjectIndex | None = None
        self.context_files: set[str] = set()
        self.suppressions: list[Suppression] = []
        self.mesh_evidence = MeshEvidenceIndex(kinds.mesh_words)
        self._kinds = kinds
        self._prefilter = Prefilter(kinds.entries)
        self._on_words = on_words
        self._on_file = on_file
        self._pending: list[_PendingFile] = []
        self._parser: Parser | None = None

    def read_context(self, sources: Iterable[InputSource]) -> None:
        """Read every file: parse what gives context, and note where workloads are."""
        for source in sources:
            if isinstance(source.file, InputError):
                self.stats.fail(source.file.display_path, source.file.reason)
                continue
            self.stats.files += 1
            self._on_file()
            data = read_bytes(source.file, self.stats)
            if data is not None:
                if source.context:
                    self.context_files.add(source.file.display_path)
                self._read_file(source.file, data, context=source.context)

    def _read_file(self, file: InputFile, data: bytes, *, context: bool) -> None:
        pending = _PendingFile(file, len(data))
        kustomization = file.is_kustomization
        for chunk in split(data):
            self._note_mesh(file, chunk.data)
            content = Content.CONTEXT if kustomization else self._prefilter.classify(chunk.data)
            if isinstance(content, SkipReason):
                if content != EMPTY:
                    self.stats.documents += 1
                    self.stats.skipped[content] += 1
                continue
            self._on_words(chunk.data)
            seen = content is not Content.WORKLOADS
            if seen:
                both = content is Content.BOTH
                holds_workloads = self._read_context_chunk(
                    file, chunk, both=both, context_only=context
                )
            else:
                holds_workloads = not context
                self.stats.documents += context
            if holds_workloads:
                part = _PendingChunk(
                    chunk.start, len(chunk.data), chunk.first_line, chunk.index, seen
                )
                pending.chunks.append(part)
        if pending.chunks:
            self._pending.append(pending)

    def _note_mesh(self, file: InputFile, data: bytes) -> None:
        for evidence in find_evidence(self._kinds.mesh_words, file.display_path, data):
            self._on_words(data)
            self.mesh_evidence.add(evidence)

    def _read_context_chunk(
        self, file: InputFile, chunk: Chunk, *, both: bool, context_only: bool
    ) -> bool:
        """Read the objects of a chunk; whether it holds workloads as well."""
        from shutdownlint.manifests.object_index import ObjectIndex  # noqa: PLC0415
        from shutdownlint.manifests.workloads import (  # noqa: PLC0415
            collect_context,
            has_workloads,
            unused_reason,
        )

        found = False
        if self.index is None:
            self.index = ObjectIndex()
        for document in self._documents(file, chunk):
            try:
                context = collect_context(document, self.index, self._kinds)
                pods = both and has_workloads(document, self._kinds)
                found = found or (pods and not context_only)
                if not context and not pods:
                    self.stats.skipped[unused_reason(document)] += 1
            except BudgetExceededError:
                self._note_budget(document)
            except Exception as error:
                self._note_internal(document, error)
            if not context_only:
                self._note_suppressions(document)
            document.release()
        return found

    @property
    def has_workloads(self) -> bool:
        """Whether a part of a file may hold workloads."""
        return bool(self._pending)

    def workloads(self) -> Iterator[Workload]:
        """The workloads, file by file; the nodes of a document live until the next one."""
        from shutdownlint.manifests.workloads import find_workloads, unused_reason  # noqa: PLC0415

        for pending in self._pending:
            data = self._read_again(pending.file)
            if data is None:
                continue
            if len(data) != pending.size:
                self.stats.fail(pending.file.display_path, "changed while it was read")
                continue
            for part in pending.chunks:
                text = data[part.start : part.start + part.length]
                chunk = Chunk(text, part.first_line, part.index, part.start)
                for document in self._documents(pending.file, chunk, seen=part.seen):
                    if not part.seen:
                        self._note_suppressions(document)
                    count = 0
                    try:
                        for workload in find_workloads(document, self._kinds):
                            count += 1
                            yield workload
                    except BudgetExceededError:
                        self._note_budget(document)
                        count += 1
                    except Exception as error:
                        self._note_internal(document, error)
                        count += 1
                    if not count and not part.seen:
                        self.stats.skipped[unused_reason(document)] += 1
                    document.release_nodes()

    @property
    def pending_count(self) -> int:
        """How many parts of files may hold workloads."""
        return sum(len(pending.chunks) for pending in self._pending)

    def split(self, count: int) -> list[Loader]:
        """Loaders that each have a part of the workloads, with counts of their own."""
        sizes = [sum(chunk.length for chunk in pending.chunks) for pending in self._pending]
        shares: list[list[_PendingFile]] = [[] for _ in range(count)]
        before, total = 0, max(sum(sizes), 1)
        for pending, size in zip(self._pending, sizes, strict=True):
            shares[min(count * before // total, count - 1)].append(pending)
            before += size
        return [self._with_pending(share) for share in shares]

    def _with_pending(self, pending: list[_PendingFile]) -> Loader:
        part = copy(self)
        part.stats = ReadStats(stdin=self.stats.stdin)
        part.suppressions = []
        part._parser = None
        part._pending = pending
        return part

    def _documents(
        self, file: InputFile, chunk: Chunk, *, seen: bool = False
    ) -> Iterator[Document]:
        """The documents of a chunk; what was ``seen`` before is not counted again."""
        if self._parser is None:
            from shutdownlint.manifests.parser import Parser  # noqa: PLC0415 - needs the parser

            self._parser = Parser()
        stats = ReadStats() if seen else self.stats
        return self._parser.documents(file.display_path, chunk, stats, in_chart=file.in_chart)

    def _read_again(self, file: InputFile) -> bytes | None:
        if file.path is None and file.data is None:
            return self.stats.stdin
        return read_bytes(file, self.stats)

    def _note_suppressions(self, document: Document) -> None:
        if _SUPPRESSION_WORD in document.text:
            from shutdownlint.manifests.suppressions import read_comments  # noqa: PLC0415

            self.suppressions += read_comments(document)

    def _note_internal(self, document: Document, error: Exception) -> None:
        """Note a document that shutdownlint fails on: the others are still checked."""
        if self._debug:
            raise error
        line = document.line_offset + 1
        region = Region(document.file, line, 1, line, 1)
        self.stats.unreadable.append(internal_error(region, error))

    def _note_budget(self, document: Document) -> None:
        error = UnreadableInput(document.region(()), _TOO_MANY_VALUES)
        self.stats.unreadable.append(error)
