"""All files of a run into typed objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from shutdownlint.manifests.discovery import InputError
from shutdownlint.manifests.reader import ReadStats, UnreadableInput, read_documents
from shutdownlint.yaml_source.errors import BudgetExceededError
from shutdownlint.yaml_source.location import Region

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from shutdownlint.manifests.discovery import InputFile
    from shutdownlint.manifests.document import Document
    from shutdownlint.manifests.suppressions import Suppression
    from shutdownlint.manifests.workloads import ObjectIndex


class InputSource(Struct, frozen=True):
    """A file of the run; one that is ``context`` only is read but not checked."""

    file: InputFile | InputError
    context: bool = False


def replace_text_of(source: InputSource, texts: Mapping[str, bytes]) -> InputSource:
    """The source with its new text, where it has one."""
    if isinstance(source.file, InputError) or source.file.shown not in texts:
        return source
    return replace(source, file=replace(source.file, data=texts[source.file.shown]))


class LoadedFiles(Struct):
    """What the files hold. ``objects`` is None where nothing bears on shutdown."""

    reading: ReadStats = field(default_factory=ReadStats)
    objects: ObjectIndex | None = None
    #: The files that are read for context only.
    context: set[str] = field(default_factory=set)
    ignores: list[Suppression] = field(default_factory=list)


def load_files(sources: Sequence[InputSource], on_file: Callable[[], None]) -> LoadedFiles:
    """Read the files. Never raises for bad input."""
    gathered = LoadedFiles()
    for source in sources:
        if isinstance(source.file, InputError):
            region = Region(source.file.shown, 1, 1, 1, 1)
            gathered.reading.unreadable.append(UnreadableInput(region, source.file.reason))
            continue
        for document in read_documents(source.file, gathered.reading, on_file):
            _collect(document, gathered)
            document.release_nodes()
            if source.context:
                gathered.context.add(document.file)
            elif "hutdownlint:" in document.text:  # with a capital it is a slip, and told
                from shutdownlint.manifests.suppressions import read_comments  # noqa: PLC0415

                gathered.ignores += read_comments(document)
    return gathered


def _collect(document: Document, gathered: LoadedFiles) -> None:
    from shutdownlint.manifests.workloads import ObjectIndex, collect  # noqa: PLC0415 - see run.py

    if gathered.objects is None:
        gathered.objects = ObjectIndex()
    try:
        collect(document, gathered.objects)
    except BudgetExceededError:
        reason = "its aliases write out to more values than is reasonable"
        gathered.reading.unreadable.append(UnreadableInput(document.region(()), reason))
