"""What the workloads of unchanged files gave in an earlier run of the same command line.

A file is not parsed and checked again while its workloads and everything that gives context are
the same. It is checked again where its findings have fixes, which need its nodes, where it holds
suppressions, or where something could not be read.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from msgspec import DecodeError, Struct, msgpack

from shutdownlint import files
from shutdownlint.engine.finding import Finding, Fix, Related, Severity
from shutdownlint.linter.checked_part import CheckedPart
from shutdownlint.manifests.object_id import ObjectId
from shutdownlint.manifests.reader import ReadStats
from shutdownlint.manifests.skips import SkipReason
from shutdownlint.platforms.workload_index import WorkloadEntry
from shutdownlint.shutdown.pod_plan import Confidence
from shutdownlint.yaml_source.location import Region

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from shutdownlint.cache_folder import KeptEntries
    from shutdownlint.manifests.context_digest import ContextDigest
    from shutdownlint.manifests.loader import Loader

#: The context, where its pieces are, and what was kept, by the names of files.
_Kept = tuple[str, dict[str, str], dict[str, bytes]]
_PLAIN: Final = (str, int, bool, type(None))
#: The questions of reading a file again.
_OWN: Final = (files.MANIFEST, "size")


class CheckedFile(Struct, frozen=True):
    """What the workloads of a file gave, as data."""

    documents: int
    skipped: tuple[tuple[SkipReason, int], ...]
    findings: list[Finding]
    entries: list[WorkloadEntry]
    assumed_versions: tuple[str, ...]
    without_mesh: int
    without_p99: int

    @classmethod
    def of(cls, part: CheckedPart) -> CheckedFile | None:
        """What can be kept of a file; None where it cannot: all of it has to be data."""
        if part.suppressions or part.failures or part.descriptions or part.stats.unreadable:
            return None
        if any(finding.fix is not None and finding.fix.changes for finding in part.findings):
            return None
        return cls(
            part.stats.documents,
            tuple(part.stats.skipped.items()),
            part.findings,
            part.entries,
            tuple(part.assumed_versions),
            part.without_mesh,
            part.without_p99,
        )

    def as_part(self) -> CheckedPart:
        """The same as a check of the file gives it."""
        return CheckedPart(
            ReadStats(documents=self.documents, skipped=Counter(dict(self.skipped))),
            [],
            self.findings,
            self.entries,
            assumed_versions=dict.fromkeys(self.assumed_versions),
            without_mesh=self.without_mesh,
            without_p99=self.without_p99,
        )


#: What is kept is data of these types, by their numbers in this order.
_COLLECTIONS: Final = (tuple, frozenset)
_NAMES: Final = (Severity, Confidence)
_FINDINGS: Final = (Finding, Fix, Related, Region, ObjectId)
_STRUCTS: Final = (CheckedFile, SkipReason, WorkloadEntry, *_FINDINGS)
_TYPES: Final[tuple[Any, ...]] = (*_COLLECTIONS, *_NAMES, *_STRUCTS)
_NUMBERS: Final = {of_type: number for number, of_type in enumerate(_TYPES)}


class KeptPods:
    """The files that were checked in an earlier run; ``current`` are those that this run keeps."""

    def __init__(self, entries: KeptEntries, name: str) -> None:
        self._entries = entries
        self._name = name
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
        data = self._entries.read(self._name)
        if data is None:
            return
        try:
            known, before, self._kept = msgpack.decode(data, type=_Kept)
        except DecodeError:
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
                if not any(path in data for path in moved)
            }

    def find(self, key: str) -> CheckedFile | None:
        """What the file of this digest gave; None where it has to be checked."""
        data = self._kept.get(key)
        if data is None:
            return None
        try:
            found = _decode(msgpack.decode(data))
        except (DecodeError, TypeError, ValueError, LookupError):
            return None
        if not isinstance(found, CheckedFile):  # not written by this version
            return None
        self.current[key] = data
        return found

    def forget(self) -> None:
        """Use nothing more: a rule failed, and is not evaluated for later workloads."""
        self._kept = {}

    def add(self, key: str, checked: CheckedFile) -> None:
        """Keep what a file gave."""
        try:
            self.current[key] = msgpack.encode(_encode(checked))
        except (ValueError, OverflowError):  # a name that is not UTF-8, a number of 20 digits
            return

    def save(self, current: Mapping[str, bytes]) -> None:
        """Write what all processes keep, if the run noted everything that it asked."""
        if files.is_noting() and current != self._kept:
            try:
                data = msgpack.encode((self._context, self._places, current))
            except UnicodeEncodeError:  # the name of a file is not UTF-8
                return
            self._entries.write(self._name, data)


def check_files(
    loader: Loader, kept: KeptPods, world: int, check: Callable[[Loader], CheckedPart]
) -> CheckedPart:
    """Check the workloads file by file; those that are as they were give what they gave.

    ``world`` is the number of the world: each has the files as they are deployed in it.
    """
    part = CheckedPart(loader.stats, [])
    for name, single in loader.by_file():
        key = f"{world} {name}"
        known = kept.find(key)
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
            path == single.only_file and kind in _OWN for kind, path, _ in asked
        )
        if alone and (checked := CheckedFile.of(found)):
            kept.add(key, checked)
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
        if kind in ("size", "type", "own type") and posixpath.normpath(path) in own:
            continue
        name.add(kind, path, more, answer)
    return name.name()


def _encode(value: Any) -> Any:
    """Data for msgpack: a value of one of the types becomes a mapping from its number."""
    of_type = type(value)
    number = _NUMBERS.get(of_type)
    if of_type in _STRUCTS:
        return {number: [_encode(getattr(value, name)) for name in value.__struct_fields__]}
    if of_type in _NAMES:
        return {number: value.value}
    if of_type in _COLLECTIONS:
        return {number: [_encode(item) for item in value]}
    if of_type is list:
        return [_encode(item) for item in value]
    if of_type is dict:
        return {str(key): _encode(item) for key, item in value.items()}
    if of_type not in _PLAIN:
        raise ValueError(f"{of_type} is not kept")
    return value


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    number = next(iter(value), None)
    if not isinstance(number, int):
        return {key: _decode(item) for key, item in value.items()}
    of_type, data = _TYPES[number], _decode(value[number])
    return of_type(*data) if of_type in _STRUCTS else of_type(data)
