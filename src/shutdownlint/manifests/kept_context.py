"""The documents that give context, as an earlier run has described them, by the text they are in.

The description of a document depends on its text alone, so it holds wherever that text is found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import DecodeError, Raw, msgpack

from shutdownlint import files
from shutdownlint.manifests.context_objects import DescribedDocument

if TYPE_CHECKING:
    from shutdownlint.cache_folder import RunEntries

#: The kind of the entry.
_KIND: Final = "context"


class KeptContext:
    """The texts that were described in an earlier run, and those that this run keeps."""

    def __init__(self, entries: RunEntries) -> None:
        self._entries = entries
        self._kept: dict[str, Raw] = {}
        self._current: dict[str, Raw] = {}
        data = entries.read(_KIND)
        if data is not None:
            try:
                self._kept = msgpack.decode(data, type=dict[str, Raw])
            except (DecodeError, ValueError):  # another version wrote it
                return

    @staticmethod
    def key(data: bytes, *, both: bool) -> str:
        """A name of a text; ``both``: it may hold workloads as well."""
        return f"{files.digest(data)} {both:d}"

    def find(self, key: str) -> list[DescribedDocument] | None:
        """The documents of a text; None where it has to be parsed."""
        data = self._kept.get(key)
        if data is None:
            return None
        try:
            found = msgpack.decode(data, type=list[DescribedDocument])
        except (DecodeError, ValueError):
            return None
        self._current[key] = data
        return found

    def add(self, key: str, documents: list[DescribedDocument]) -> None:
        """Keep the documents of a text."""
        try:
            self._current[key] = Raw(msgpack.encode(documents))
        except (ValueError, OverflowError):  # text that is not UTF-8
            return

    def save(self) -> None:
        """Write what this run keeps, if it is something else than before."""
        if files.is_noting() and self._current.keys() != self._kept.keys():
            self._entries.write(_KIND, msgpack.encode(self._current))
