"""The files of a run: first the objects that give context, then the workloads one by one."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from shutdownlint import files
from shutdownlint.manifests.discovery import IgnoredInput, InputError, InputFile
from shutdownlint.manifests.mesh_evidence import MeshEvidenceIndex, find_evidence
from shutdownlint.manifests.own_reports import is_own_report
from shutdownlint.manifests.prefilter import Content, Prefilter
from shutdownlint.manifests.reader import (
    ReadStats,
    TransformError,
    UnreadableInput,
    internal_error,
    read_bytes,
)
from shutdownlint.manifests.skips import (
    EMPTY,
    EXCLUDED,
    GIT_IGNORED,
    NO_PODS,
    NOT_KUBERNETES,
    OWN_REPORT,
    SkipReason,
)
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

    #: Gives a document as it is deployed; None: not at all.
    Transform = Callable[[Document], Document | None]

_TOO_MANY_VALUES = "too many values after expanding YAML aliases"
_FLUX: Final = b"kustomize.toolkit.fluxcd.io"
#: Every comment that is meant as a suppression has this; with a capital it is a slip.
_SUPPRESSION_WORD = "hutdownlint:"


class InputSource(Struct, frozen=True):
    """A file of the run; one that is ``context`` only is read but not checked.

    ``transform`` gives its documents as they are deployed (None: not at all), with ``words`` among
    others that the file does not have, from the files ``changed_by``. ``patch``: it only changes
    other files. ``variant`` is the environment that it is deployed to, of several that exclude one
    another. ``rendered``: what it was made of, the file of a chart or the folder of a
    kustomization.
    """

    file: InputFile | InputError | IgnoredInput
    context: bool = False
    transform: Transform | None = None
    words: bytes = b""
    changed_by: tuple[str, ...] = ()
    patch: bool = False
    variant: str = ""
    rendered: str = ""
    namespace: str | None = None


class _PendingChunk(Struct, frozen=True):
    """A part of a file that holds workloads. ``seen``: it was parsed for its context already."""

    start: int
    length: int
    first_line: int
    index: int
    seen: bool

    def of(self, data: bytes) -> Chunk:
        """Return the part of the file's bytes."""
        text = data[self.start : self.start + self.length]
        return Chunk(text, self.first_line, self.index, self.start)


class _PendingFile(Struct):
    """A file with parts that hold workloads, and how long it was when they were found.

    ``number``: how often it was read before, in this world or another one: a file is deployed by
    several overlays, and counted once.
    """

    source: InputSource
    file: InputFile
    size: int
    number: int
    chunks: list[_PendingChunk] = field(default_factory=list)

    @property
    def again(self) -> bool:
        """Whether it was read before."""
        return self.number > 0


def variants_of(loaders: Iterable[Loader]) -> dict[str, set[str]]:
    """Return the variants that each file is part of, or changes."""
    found: dict[str, set[str]] = {}
    for loader in loaders:
        for file, variants in loader.variants.items():
            found.setdefault(file, set()).update(variants)
    return found


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
        #: The files that are part of variants, with the names of those.
        self.variants: dict[str, set[str]] = {}
        self._is_further = False
        #: The number of objects that give context and that this loader has not read itself.
        self._shared_objects = 0
        self.suppressions: list[Suppression] = []
        self.mesh_evidence = MeshEvidenceIndex(kinds.mesh_words)
        self._kinds = kinds
        self._prefilter = Prefilter(kinds.entries)
        self._on_words = on_words
        self._on_file = on_file
        self._pending: list[_PendingFile] = []
        self._parser: Parser | None = None
        #: The number of times each file was read, for all worlds.
        self._files: Counter[str] = Counter()

    def further_world(self) -> Loader:
        """Return a loader for variants, which knows all that this one has read so far."""
        other = self._with_pending([])
        other.variants, other._is_further = {}, True
        other.index = self.index.copy() if self.index is not None else None
        other._shared_objects = self.index.count if self.index is not None else 0
        other.mesh_evidence = self.mesh_evidence.copy()
        return other

    def read_context(self, sources: Iterable[InputSource]) -> None:
        """Read every file: parse what gives context, and note where workloads are."""
        for source in sources:
            if isinstance(source.file, InputError):
                self.stats.fail(source.file.display_path, source.file.reason)
                continue
            if isinstance(source.file, IgnoredInput):
                self.stats.skipped[EXCLUDED if source.file.excluded else GIT_IGNORED] += 1
                continue
            if source.variant:
                for file in (source.file.display_path, *source.changed_by):
                    self.variants.setdefault(file, set()).add(source.variant)
            number = self._files[source.file.display_path]
            again = number > 0
            self._files[source.file.display_path] += 1
            self._on_file()
            stats = ReadStats() if again else self.stats
            data = read_bytes(source.file, stats, files.read_manifest)
            self.stats.files += not again
            if data is not None:
                if source.namespace:
                    self._make_index().namespaces.assign(source.namespace, source.file.display_path)
                if source.context:
                    self.context_files.add(source.file.display_path)
                self._read_file(source, source.file, data, number)

    def _read_file(self, source: InputSource, file: InputFile, data: bytes, number: int) -> None:
        again = number > 0
        if is_own_report(data):
            if not again:
                self.stats.documents += 1
                self.stats.skipped[OWN_REPORT] += 1
            return
        pending = _PendingFile(source, file, len(data), number)
        context = source.context
        for chunk in split(data):
            # Flux' own Kustomizations are often in files of the same name.
            kustomization = file.is_kustomization and _FLUX not in chunk.data
            if kustomization or source.patch:
                self._on_words(chunk.data)
                self._read_only(file, chunk, counted=not again)
                continue
            self._note_mesh(file, chunk.data + source.words)
            content = self._prefilter.classify(chunk.data, source.words)
            if isinstance(content, SkipReason):
                if content != EMPTY and not again:
                    self._skip(source, file, chunk, content)
                continue
            self._on_words(chunk.data + source.words)
            seen = content is not Content.WORKLOADS
            if seen:
                both = content is Content.BOTH
                holds_workloads = self._read_context_chunk(pending, chunk, both=both)
            else:
                holds_workloads = not context
                self.stats.documents += context and not again
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

    def _make_index(self) -> ObjectIndex:
        from shutdownlint.manifests.object_index import ObjectIndex  # noqa: PLC0415 - seldom first

        if self.index is None:
            self.index = ObjectIndex()
        return self.index

    def _read_only(self, file: InputFile, chunk: Chunk, *, counted: bool) -> None:
        """Read what says something about other files: kustomizations, and patches."""
        self._make_index()
        for document in self._parse(file, chunk, self.stats if counted else ReadStats()):
            if counted:
                self._note_suppressions(document)
            document.release()

    def _read_context_chunk(self, pending: _PendingFile, chunk: Chunk, *, both: bool) -> bool:
        """Read the objects of a chunk; whether it holds workloads as well."""
        self._make_index()
        own, holds_workloads = ReadStats(), False
        first = not pending.again and not pending.source.context
        for document in self._documents(pending, chunk, own, first=first):
            holds_workloads = self._add_context(pending, document, both=both) or holds_workloads
            document.release()
        if not pending.again:
            self.stats.add(own)
        return holds_workloads and not pending.source.context

    def _add_context(self, pending: _PendingFile, document: Document, *, both: bool) -> bool:
        """Add what a document says of other objects to the index; whether it holds workloads."""
        from shutdownlint.manifests.context_objects import (  # noqa: PLC0415 - needs the parser
            add_context,
            describe_context,
        )

        try:
            described = describe_context(document, self._kinds, both=both)
            add_context(document, described, self._make_index(), self._kinds)
        except BudgetExceededError:
            self._note_budget(document)
            return False
        except Exception as error:
            self._note_internal(document, error)
            return False
        if not (pending.again or described.gives_context or described.has_workloads):
            self.stats.skipped[NO_PODS if described.is_object else NOT_KUBERNETES] += 1
        return described.has_workloads

    @property
    def has_own_objects(self) -> bool:
        """Whether some of the objects that give context are its own, and may be reported here."""
        return self.index is not None and self.index.count > self._shared_objects

    def reports(self, file: str) -> bool:
        """Whether what a file has is reported here, and not where it is checked for itself.

        Files for context are not reported. What belongs to no variant is reported once, though the
        worlds of all variants know it.
        """
        return file not in self.context_files and (not self._is_further or file in self.variants)

    @property
    def has_input(self) -> bool:
        """Whether there is anything to check, or to report."""
        return bool(self.has_workloads or self.index is not None or self.stats.unreadable)

    @property
    def has_workloads(self) -> bool:
        """Whether a part of a file may hold workloads."""
        return bool(self._pending)

    def workloads(self) -> Iterator[Workload]:
        """Yield the workloads, file by file; the nodes of a document live until the next one."""
        from shutdownlint.manifests.objects import as_object  # noqa: PLC0415
        from shutdownlint.manifests.workloads import find_workloads  # noqa: PLC0415

        for pending in self._pending:
            data = self._read_again(pending.file)
            if data is None:
                continue
            if len(data) != pending.size:
                self.stats.fail(pending.file.display_path, "changed while it was read")
                continue
            for part in pending.chunks:
                chunk = part.of(data)
                counted = not part.seen and not pending.again
                stats = self.stats if counted else ReadStats()
                for document in self._documents(pending, chunk, stats, first=counted):
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
                    if not count and counted:
                        is_object = as_object(document.tree.root, ()) is not None
                        self.stats.skipped[NO_PODS if is_object else NOT_KUBERNETES] += 1
                    document.release_nodes()

    @property
    def pending_count(self) -> int:
        """The number of parts of files that may hold workloads."""
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
        part = Loader.__new__(Loader)
        vars(part).update(vars(self))
        part.stats = ReadStats(stdin=self.stats.stdin, stdin_name=self.stats.stdin_name)
        part.suppressions = []
        part._parser = None
        part._pending = pending
        return part

    def _documents(
        self, pending: _PendingFile, chunk: Chunk, stats: ReadStats, *, first: bool
    ) -> Iterator[Document]:
        """Yield the documents of a chunk as they are deployed; what is counted goes to ``stats``.

        ``first``: they are read for the first time, so their comments are read as well.
        """
        transform = pending.source.transform
        for document in self._parse(pending.file, chunk, stats):
            document.variant = pending.source.variant
            if first:
                self._note_suppressions(document)
            if transform is None:
                yield document
                continue
            try:
                changed = transform(document)
            except BudgetExceededError:
                self._note_budget(document)
            except TransformError as error:
                # One variant may have a mistake that the one before it does not have.
                self.stats.unreadable.append(error.unreadable)
            except Exception as error:
                self._note_internal(document, error)
            else:
                if changed is not None:
                    yield changed

    def _parse(self, file: InputFile, chunk: Chunk, stats: ReadStats) -> Iterator[Document]:
        return self._make_parser().documents(file.display_path, chunk, stats, chart=file.chart)

    def _make_parser(self) -> Parser:
        if self._parser is None:
            from shutdownlint.manifests.parser import Parser  # noqa: PLC0415 - needs the parser

            self._parser = Parser()
        return self._parser

    def _read_again(self, file: InputFile) -> bytes | None:
        if file.path is None and file.data is None:
            return self.stats.stdin
        return read_bytes(file, self.stats, files.read_manifest)

    def _note_suppressions(self, document: Document) -> None:
        if _SUPPRESSION_WORD in document.text:
            from shutdownlint.manifests.suppressions import read_comments  # noqa: PLC0415

            self.suppressions += read_comments(document)

    def _skip(self, source: InputSource, file: InputFile, chunk: Chunk, reason: SkipReason) -> None:
        self.stats.documents += 1
        self.stats.skipped[reason] += 1
        # An object of Flux may have patches, which findings point to.
        if _FLUX in chunk.data and _SUPPRESSION_WORD.encode() in chunk.data and not source.context:
            with suppress(ValueError):  # not UTF-8
                document = self._make_parser().document(file.display_path, chunk, 0)
                self._note_suppressions(document)

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
