"""What the workloads of unchanged files gave in an earlier run of the same command line.

A file is not parsed and checked again while its workloads and everything that gives context are
the same. It is checked again where a fix changes another file, or what a patch or a policy gives,
and where something could not be read.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final

from msgspec import DecodeError, msgpack

from shutdownlint import files
from shutdownlint.linter.checked_part import CheckedPart
from shutdownlint.linter.kept_data import CheckedFile, decode_file, encode_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from shutdownlint.cache_folder import RunEntries
    from shutdownlint.linter.kept_data import FindDocument
    from shutdownlint.manifests.context_digest import ContextDigest
    from shutdownlint.manifests.loader import Loader

#: Where more files have moved pieces, looking for their names costs more than checking again.
_MOST_MOVED: Final = 100
#: The kind of the entry.
_KIND: Final = "pods"
#: The context, where its pieces are, and what was kept, by the names of files.
_Kept = tuple[str, dict[str, str], dict[str, bytes]]


class KeptPods:
    """The files that were checked in an earlier run; ``current`` are those that this run keeps."""

    def __init__(self, entries: RunEntries) -> None:
        self._entries = entries
        self._context = ""
        self._places: Mapping[str, str] = {}
        self._kept: dict[str, bytes] = {}
        self.current: dict[str, bytes] = {}

    def use(self, context: str, places: Mapping[str, str]) -> None:
        """Use what was kept for the same context: a digest of all that the pods may depend on.

        ``places`` has for each file a digest of where its pieces of the context are. Where one has
        moved, nothing is used that names the file.
        """
        self._context, self._places = context, places
        data = self._entries.read(_KIND)
        if data is None:
            return
        try:
            known, before, self._kept = msgpack.decode(data, type=_Kept)
        except (DecodeError, ValueError):
            return
        if known != context:
            self._kept = {}
        elif before != places:
            moved = [
                path.encode(errors="surrogateescape")
                for path, digest in places.items()
                if before.get(path) != digest
            ]
            self._kept = {
                key: data
                for key, data in self._kept.items()
                if len(moved) <= _MOST_MOVED and not any(path in data for path in moved)
            }

    def find(self, key: str, find_document: FindDocument) -> CheckedFile | None:
        """What the file of this digest gave; None where it has to be checked."""
        data = self._kept.get(key)
        if data is None:
            return None
        try:
            found = decode_file(data, find_document)
        except (DecodeError, TypeError, ValueError, LookupError):
            return None
        self.current[key] = data
        return found

    def forget(self) -> None:
        """Use nothing more: a rule failed, and is not evaluated for later workloads."""
        self._kept = {}

    def add(self, key: str, checked: CheckedFile, file: str) -> None:
        """Keep what a file gave."""
        try:
            self.current[key] = encode_file(checked, file)
        except (ValueError, OverflowError):  # a name that is not UTF-8, a number of 20 digits
            return

    def save(self, current: Mapping[str, bytes]) -> None:
        """Write what all processes keep, if the run noted everything that it asked."""
        if files.is_noting() and current != self._kept:
            try:
                data = msgpack.encode((self._context, self._places, current))
            except UnicodeEncodeError:  # the name of a file is not UTF-8
                return
            self._entries.write(_KIND, data)


def check_files(
    loader: Loader, kept: KeptPods, world: int, check: Callable[[Loader], CheckedPart]
) -> CheckedPart:
    """Check the workloads file by file; those that are as they were give what they gave.

    ``world`` is the number of the world: each has the files as they are deployed in it.
    """
    part = CheckedPart(loader.stats, [])
    for name, single in loader.by_file():
        key = f"{world} {name}"
        known = kept.find(key, single.find_document)
        if known is not None:
            part.add(known.as_part())
            continue
        before = files.count_notes()
        found = check(single)
        part.add(found)
        if found.failures:
            kept.forget()
        asked = files.notes_since(before)
        alone = asked is not None and all(
            path == str(single.only_file.path) and kind == files.MANIFEST for kind, path, _ in asked
        )
        if alone and (checked := CheckedFile.of(found)):
            kept.add(key, checked, single.only_file.display_path)
    part.kept = kept.current
    return part


def context_name(digest: ContextDigest, described: Iterable[object]) -> str | None:
    """A digest of everything that a pod may depend on; None where that is not known.

    What was asked about the files themselves is not in it: their pieces are, in ``digest``.
    """
    notes = files.take_notes()
    if notes is None:
        return None
    own = set(map(posixpath.normpath, digest.paths))
    name = files.Digest()
    name.add(digest.name(), *map(repr, described))
    for (kind, path, more), answer in sorted(notes.items()):
        if kind in files.SEARCHES or kind == files.MANIFEST:
            continue
        if kind in ("type", "own type") and posixpath.normpath(path) in own:
            continue
        name.add(kind, path, more, answer)
    return name.name()
