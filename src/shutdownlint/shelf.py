"""Bytes kept out of memory, where there is room for them elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import BinaryIO

#: From which byte of the file on, and how many bytes; or what found no room there.
Entry = tuple[int, int] | bytes


class Shelf:
    """A file without a name, made when it is first needed and gone once it is closed."""

    def __init__(self) -> None:
        self._file: BinaryIO | None = None
        self._end = 0

    def put(self, data: bytes) -> Entry:
        """Keep the bytes; where is what ``get`` takes. Never raises: memory has to do at worst."""
        try:
            file = self._opened()
            file.seek(self._end)
            if file.write(data) < len(data):
                return data
        except OSError:  # a full disk, or no folder for such files
            return data
        self._end += len(data)
        return self._end - len(data), len(data)

    def get(self, entry: Entry) -> bytes:
        """The bytes again. Raises ``OSError``."""
        if isinstance(entry, bytes):
            return entry
        file = self._opened()
        file.seek(entry[0])
        return file.read(entry[1])

    def close(self) -> None:
        """Give the room back."""
        if self._file is not None:
            self._file.close()

    def _opened(self) -> BinaryIO:
        if self._file is None:
            import tempfile  # noqa: PLC0415 - most runs keep everything in memory

            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - see close
        return self._file
