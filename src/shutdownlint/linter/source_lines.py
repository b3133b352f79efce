"""Lines of the files of a run, for reports and fingerprints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from shutdownlint import files
from shutdownlint.manifests.reader import decode_text

if TYPE_CHECKING:
    from shutdownlint.manifests.inputs import Inputs


class SourceLines:
    """Gives lines of files; it keeps those of the last file."""

    def __init__(self, inputs: Inputs) -> None:
        self._texts = inputs.texts
        self._file: str | None = None
        self._lines: list[str] = []

    def line(self, file: str, number: int) -> str | None:
        """Return a line of a file; None where the file can no longer be read."""
        if self._file != file:
            self._file, self._lines = file, self._read(file)
        return self._lines[number - 1] if 0 < number <= len(self._lines) else None

    def _read(self, file: str) -> list[str]:
        if file in self._texts:
            return _split(self._texts[file])
        path = Path(file)
        try:
            # A device has no lines to show, and may have no end.
            return _split(files.read_file(path)) if files.is_file(path) else []
        except OSError:
            return []


def _split(data: bytes) -> list[str]:
    try:
        return decode_text(data).splitlines()
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace").splitlines()
