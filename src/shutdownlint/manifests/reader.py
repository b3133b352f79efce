"""From files to documents: reading, per-document failure, and what is passed over and why."""

from __future__ import annotations

import gc
import sys
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from shutdownlint.manifests.splitter import find_skip_reason, split
from shutdownlint.yaml_source.location import Region

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from shutdownlint.manifests.discovery import InputFile
    from shutdownlint.manifests.document import Document

#: Larger files are refused: no manifest comes near it, and memory stays bounded.
MAX_BYTES: Final = 256 * 1024 * 1024

_KUSTOMIZATIONS: Final = frozenset(("kustomization.yaml", "kustomization.yml", "Kustomization"))


class UnreadableInput(Struct, frozen=True):
    """Something that could not be read: the job is not whole."""

    region: Region
    reason: str


class ReadStats(Struct):
    """What was counted while reading: documents, what was passed over and what failed."""

    files: int = 0
    documents: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    unreadable: list[UnreadableInput] = field(default_factory=list)
    #: What came on standard input, kept for the reports that show source lines.
    stdin: bytes = b""
    #: What was rendered, kept for the same.
    texts: dict[str, bytes] = field(default_factory=dict)

    def add(self, other: ReadStats) -> None:
        """Count what another has read, after this one."""
        self.files += other.files
        self.documents += other.documents
        self.skipped.update(other.skipped)
        self.unreadable += other.unreadable
        self.stdin = self.stdin or other.stdin
        self.texts |= other.texts


@contextmanager
def gc_paused() -> Iterator[None]:
    """Nodes hold no cycles worth collecting, and the collector costs more than the parse."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def read_documents(
    found: InputFile, reading: ReadStats, on_file: Callable[[], None]
) -> Iterator[Document]:
    """The documents of one file that may bear on shutdown. Never raises for bad input."""
    reading.files += 1
    on_file()
    data = _bytes(found, reading)
    if data is None:
        return
    kustomization = found.shown.rpartition("/")[2] in _KUSTOMIZATIONS
    for chunk in split(data):
        skip = None if kustomization else find_skip_reason(chunk.data)
        if skip is not None:
            if skip.reason != "empty documents":
                reading.documents += 1
                reading.skipped[skip.reason] += 1
            continue
        # The parser is imported once something is to be parsed.
        from shutdownlint.manifests.parser import documents  # noqa: PLC0415

        yield from documents(found.shown, chunk, reading)


def _bytes(found: InputFile, reading: ReadStats) -> bytes | None:
    try:
        if found.data is not None:
            if found.path is None:
                reading.texts[found.shown] = found.data
            return found.data
        if found.path is None:
            reading.stdin = sys.stdin.buffer.read(MAX_BYTES)
            return reading.stdin
        if found.path.stat().st_size > MAX_BYTES:
            limit = MAX_BYTES // (1024 * 1024)
            reading.unreadable.append(_whole(found.shown, f"larger than {limit} MiB"))
            return None
        return found.path.read_bytes()
    except OSError as error:
        reading.unreadable.append(_whole(found.shown, error.strerror or "cannot be read"))
        return None


def _whole(shown: str, reason: str) -> UnreadableInput:
    return UnreadableInput(Region(shown, 1, 1, 1, 1), reason)


def decode(data: bytes) -> str:
    """The text of a file or chunk. Raises ``UnicodeDecodeError``."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16")
    text = data.decode("utf-8-sig")
    # JSON allows tabs between tokens and none inside strings; YAML forbids them as indentation.
    return text.replace("\t", " ") if text.lstrip()[:1] in ("{", "[") and "\t" in text else text
