"""The files of a run, as ``read`` finds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from shutdownlint.manifests.discovery import InputFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from shutdownlint.manifests.discovery import IgnoredInput, InputError
    from shutdownlint.manifests.document import Document

    #: Gives a document as it is deployed; None: not at all.
    Transform = Callable[[Document], Document | None]


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


class Inputs(Struct, frozen=True):
    """The files of a run in their order, standard input and renderings with their text.

    ``roots`` are the files and folders that they were looked for in.
    """

    sources: tuple[InputSource, ...] = ()
    roots: tuple[str, ...] = ()

    @property
    def files(self) -> Iterator[InputFile]:
        """The files, without paths that could not be used."""
        return (s.file for s in self.sources if isinstance(s.file, InputFile))

    @property
    def texts(self) -> dict[str, bytes]:
        """The texts that are not read from the disk, by the name in reports."""
        return {file.display_path: file.data for file in self.files if file.data is not None}

    @property
    def renderings(self) -> set[str]:
        """The names of the files that a program has rendered."""
        return {file.display_path for file in self.files if file.path is None and not file.stdin}

    def with_texts(self, texts: Mapping[str, bytes]) -> Inputs:
        """Return the same files, some of them with other texts, by the name in reports."""
        sources = tuple(_with_text(source, texts) for source in self.sources)
        return replace(self, sources=sources)


def _with_text(source: InputSource, texts: Mapping[str, bytes]) -> InputSource:
    if not isinstance(source.file, InputFile) or source.file.display_path not in texts:
        return source
    return replace(source, file=replace(source.file, data=texts[source.file.display_path]))
