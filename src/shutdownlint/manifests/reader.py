"""Bytes of files, and what is counted while they are read."""

from __future__ import annotations

import errno
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from shutdownlint import files, limits
from shutdownlint.wording import internal_error
from shutdownlint.yaml_source.errors import TOO_MANY_VALUES, BudgetExceededError
from shutdownlint.yaml_source.location import Region

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from shutdownlint.manifests.discovery import InputFile
    from shutdownlint.manifests.skips import SkipReason


class UnreadableInput(Struct, frozen=True):
    """Something that could not be read: the job is not complete."""

    region: Region
    reason: str


class TransformError(Exception):
    """A document that cannot be deployed as something else says: where that is, and why."""

    def __init__(self, region: Region, reason: str) -> None:
        super().__init__(reason)
        self.unreadable = UnreadableInput(region, reason)


class ReadStats(Struct):
    """The counts of a reading: documents, what was skipped, and what failed."""

    files: int = 0
    documents: int = 0
    skipped: Counter[SkipReason] = field(default_factory=Counter)
    unreadable: list[UnreadableInput] = field(default_factory=list)

    def count_file(self) -> None:
        """Count a file that is read."""
        self.files += 1

    def count_document(self) -> None:
        """Count a document."""
        self.documents += 1

    def skip(self, reason: SkipReason) -> None:
        """Count a document that is not checked."""
        self.documents += 1
        self.skipped[reason] += 1

    def fail(self, file: str, reason: str) -> None:
        """Note that a whole file could not be read."""
        self.unreadable.append(UnreadableInput(Region(file, 1, 1, 1, 1), reason))


def add_stats(parts: Iterable[ReadStats]) -> ReadStats:
    """Return the sum of several counts; what could not be read counts once."""
    total = ReadStats()
    for part in parts:
        total.files += part.files
        total.documents += part.documents
        total.skipped.update(part.skipped)
        total.unreadable += part.unreadable
    total.unreadable = [*dict.fromkeys(total.unreadable)]
    return total


@contextmanager
def contained(stats: ReadStats, place: Callable[[], Region], *, debug: bool) -> Iterator[None]:
    """Note an unexpected failure in a part of the input: the rest is still checked.

    ``debug``: mistakes of ours are raised.
    """
    try:
        yield
    except BudgetExceededError:
        stats.unreadable.append(UnreadableInput(place(), TOO_MANY_VALUES))
    except Exception as error:
        if debug:
            raise
        stats.unreadable.append(UnreadableInput(place(), internal_error(error)))


def too_large() -> str:
    """Return why a file is not read that is larger than the limit."""
    return f"larger than {limits.MAX_FILE_BYTES // (1024 * 1024)} MiB"


def read_bytes(file: InputFile, stats: ReadStats) -> bytes | None:
    """Return the bytes of a file; None where it cannot be read, which is noted. Never raises."""
    if file.data is not None:
        return file.data
    try:
        return files.read_file(file.path) if file.path is not None else b""
    except OSError as error:
        reason = error.strerror or "cannot be read"
        if error.errno == errno.EFBIG:
            reason = too_large()
        stats.fail(file.display_path, reason)
        return None


def manifest_bytes(file: InputFile) -> bytes:
    """Return the bytes of a file that the run reads as a manifest; none where it cannot be read.

    What is wrong with it is noted where it is checked.
    """
    return read_bytes(file, ReadStats()) or b""


_UTF_16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")


def searchable(data: bytes) -> bytes:
    """Return a chunk as bytes in which words can be looked for: UTF-16 as UTF-8.

    Without the zeros of UTF-16 that has no mark, and of UTF-32: a manifest in these is refused, as
    kubectl does, not skipped.
    """
    if data.startswith(_UTF_16_MARKS):
        data = data.decode("utf-16", "replace").encode()
    return data.replace(b"\0", b"") if b"\0" in data else data


def decode_text(data: bytes) -> str:
    """Return the text of a file or chunk. Raises ``UnicodeDecodeError``."""
    if data.startswith(_UTF_16_MARKS):
        return data.decode("utf-16")
    text = data.decode("utf-8-sig")
    # JSON allows tabs between tokens and none inside strings; YAML forbids them as indentation.
    return text.replace("\t", " ") if text.lstrip()[:1] in ("{", "[") and "\t" in text else text
