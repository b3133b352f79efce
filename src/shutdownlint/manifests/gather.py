"""All files of a run into typed objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from shutdownlint.manifests.discover import Missing
from shutdownlint.manifests.read import Reading, Unreadable, read_documents
from shutdownlint.yamltext.errors import BudgetExceededError
from shutdownlint.yamltext.place import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from shutdownlint.manifests.discover import Found
    from shutdownlint.manifests.document import Document
    from shutdownlint.manifests.ignore import Ignore
    from shutdownlint.manifests.workloads import Objects


class Source(Struct, frozen=True):
    """A file of the run; one that is ``context`` only is read but not checked."""

    file: Found | Missing
    context: bool = False


def with_text(source: Source, texts: Mapping[str, bytes]) -> Source:
    """The source with its new text, where it has one."""
    if isinstance(source.file, Missing) or source.file.shown not in texts:
        return source
    return replace(source, file=replace(source.file, data=texts[source.file.shown]))


class Gathered(Struct):
    """What the files hold. ``objects`` is None where nothing bears on shutdown."""

    reading: Reading = field(default_factory=Reading)
    objects: Objects | None = None
    #: The files that are read for context only.
    context: set[str] = field(default_factory=set)
    ignores: list[Ignore] = field(default_factory=list)


def gather(sources: Sequence[Source], tick: Callable[[], None]) -> Gathered:
    """Read the files. Never raises for bad input."""
    gathered = Gathered()
    for source in sources:
        if isinstance(source.file, Missing):
            place = Place(source.file.shown, 1, 1, 1, 1)
            gathered.reading.unreadable.append(Unreadable(place, source.file.reason))
            continue
        for document in read_documents(source.file, gathered.reading, tick):
            _collect(document, gathered)
            document.drop_nodes()
            if source.context:
                gathered.context.add(document.file)
            elif "hutdownlint:" in document.text:  # with a capital it is a slip, and told
                from shutdownlint.manifests.ignore import of_comments  # noqa: PLC0415

                gathered.ignores += of_comments(document)
    return gathered


def _collect(document: Document, gathered: Gathered) -> None:
    from shutdownlint.manifests.workloads import Objects, collect  # noqa: PLC0415 - see run.py

    if gathered.objects is None:
        gathered.objects = Objects()
    try:
        collect(document, gathered.objects)
    except BudgetExceededError:
        reason = "its aliases write out to more values than is reasonable"
        gathered.reading.unreadable.append(Unreadable(document.place(()), reason))
