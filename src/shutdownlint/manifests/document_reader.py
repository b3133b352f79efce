"""Documents of files, with everything that is noted while they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shutdownlint.manifests.prefilter import AS_POD
from shutdownlint.manifests.reader import ReadStats, TransformError, contained
from shutdownlint.yaml_source.errors import BudgetExceededError
from shutdownlint.yaml_source.location import Region

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.manifests.discovery import InputFile
    from shutdownlint.manifests.document import Document
    from shutdownlint.manifests.inputs import InputSource
    from shutdownlint.manifests.parser import Parser
    from shutdownlint.manifests.splitter import Chunk
    from shutdownlint.manifests.suppressions import Suppression

#: Every comment that is meant as a suppression has this; with a capital it is a slip.
SUPPRESSION_WORD: Final = "hutdownlint:"


class DocumentReader:
    """Reads documents of chunks. Bad input never raises; it is noted in ``stats``.

    ``debug``: internal errors are raised.
    """

    def __init__(self, *, debug: bool = False) -> None:
        self.debug = debug
        self.stats = ReadStats()
        self.suppressions: list[Suppression] = []
        self._parser: Parser | None = None

    def documents(
        self, source: InputSource, file: InputFile, chunk: Chunk, *, counted: bool, first: bool
    ) -> Iterator[Document]:
        """Yield the documents of a chunk as they are deployed.

        ``counted``: its documents are counted. ``first``: its comments about findings are read.
        """
        wanted = source.words == AS_POD
        for document in self.written_documents(
            file, chunk, counted=counted, first=first, wanted=wanted
        ):
            document.variant = source.variant
            document.is_context = source.context
            if source.transform is None:
                yield document
                continue
            try:
                changed = source.transform(document)
            except TransformError as error:
                # One variant may have a mistake that the one before it does not have.
                self.stats.unreadable.append(error.unreadable)
            except Exception as error:
                self.note_failure(document, error)
            else:
                if changed is not None:
                    yield changed

    def written_documents(
        self,
        file: InputFile,
        chunk: Chunk,
        *,
        counted: bool,
        first: bool,
        wanted: bool = False,
    ) -> Iterator[Document]:
        """Yield the documents of a chunk as they are written."""
        stats = self.stats if counted else ReadStats()
        parser = self.make_parser()
        name, chart = file.display_path, file.chart
        unreadable = len(stats.unreadable)
        for document in parser.documents(name, chunk, stats, chart=chart, wanted=wanted):
            if first:
                self.note_suppressions(document)
            yield document
        if first and len(stats.unreadable) > unreadable:
            self._note_comments(name, chunk.data.decode(errors="replace"), chunk.first_line)

    def make_parser(self) -> Parser:
        """Return the parser, imported for the first document that is parsed."""
        if self._parser is None:
            from shutdownlint.manifests.parser import Parser  # noqa: PLC0415 - needs the parser

            self._parser = Parser()
        return self._parser

    def note_suppressions(self, document: Document) -> None:
        """Note the comments of a document that ignore findings."""
        self._note_comments(document.file, document.text, document.line_offset + 1)

    def _note_comments(self, file: str, text: str, first_line: int) -> None:
        if SUPPRESSION_WORD in text:
            from shutdownlint.manifests.suppressions import read_comments  # noqa: PLC0415 - seldom

            self.suppressions += read_comments(file, text, first_line)

    def note_failure(self, document: Document, error: Exception) -> None:
        """Note a document that cannot be used: the others are still read."""
        if isinstance(error, BudgetExceededError):
            place = document.region(())
        else:
            line = document.line_offset + 1
            place = Region(document.file, line, 1, line, 1)
        with contained(self.stats, lambda: place, debug=self.debug):
            raise error
