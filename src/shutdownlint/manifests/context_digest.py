"""A name of everything that gives context to the workloads of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shutdownlint import files
from shutdownlint.manifests.prefilter import Content
from shutdownlint.manifests.skips import SkipReason

if TYPE_CHECKING:
    from shutdownlint.manifests.discovery import InputFile
    from shutdownlint.manifests.splitter import Chunk


class ContextDigest:
    """The pieces of the files, without those that hold nothing but workloads.

    ``paths`` are the files, by the paths that they were read by.
    """

    def __init__(self) -> None:
        self.paths: set[str] = set()
        self._places: dict[str, files.Digest] = {}
        self._pieces = files.Digest()
        #: Pieces that are skipped say at most how others are deployed.
        self._skipped = files.Digest()
        self._any_deployed = False

    def add(
        self,
        file: InputFile,
        chunk: Chunk,
        content: Content | SkipReason | None,
        *,
        deployed_as: str,
    ) -> str:
        """Add a piece. One with nothing but workloads is not added: its own digest is given.

        ``deployed_as`` says how the file is deployed; empty: as it is written.
        """
        self._any_deployed = self._any_deployed or bool(deployed_as)
        if content is Content.WORKLOADS:
            own = files.Digest()
            own.add(deployed_as, chunk.data)
            return own.name()
        path = file.display_path
        pieces = self._skipped if isinstance(content, SkipReason) else self._pieces
        pieces.add(path, file.chart or "", deployed_as, chunk.data)
        self._places.setdefault(path, files.Digest()).add(*chunk.place)
        return ""

    def places(self) -> dict[str, str]:
        """For each file a digest of where its pieces are.

        A piece that is only at another place says the same as before: what names the place is what
        changes.
        """
        return {path: places.name() for path, places in self._places.items()}

    def name(self) -> str:
        """The digest of all that was added; what is skipped counts where files are deployed.

        Where in its file a piece is does not count.
        """
        found = files.Digest()
        found.add(self._pieces.name(), self._skipped.name() if self._any_deployed else "")
        return found.name()
