"""What the workloads of unchanged files gave in an earlier run of the same command line.

A file is not parsed and checked again while its workloads and everything that gives context are
the same. It is checked again where its findings have fixes, which need its nodes, where it holds
suppressions, or where something could not be read.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any, Final

from msgspec import DecodeError, Struct, msgpack

from shutdownlint import files
from shutdownlint.engine.finding import Finding, Fix, Related, Severity
from shutdownlint.linter.checked_part import CheckedPart
from shutdownlint.manifests.object_id import ObjectId
from shutdownlint.manifests.skips import SkipReason
from shutdownlint.platforms.workload_index import WorkloadEntry
from shutdownlint.shutdown.pod_plan import Confidence
from shutdownlint.yaml_source.location import Region

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from shutdownlint.cache_folder import KeptEntries
    from shutdownlint.manifests.loader import Loader

#: What is kept is data of these types, by their numbers here.
_TYPES: Final = (tuple, frozenset, Severity, Confidence, Finding, Fix, Related, Region, ObjectId)
_ALL_TYPES: Final = (*_TYPES, SkipReason, WorkloadEntry)
_PLAIN: Final = (str, int, bool, type(None))
#: The questions of reading a file again.
_OWN: Final = (files.MANIFEST, "size")
_NUMBERS: Final = {of_type: number for number, of_type in enumerate(_ALL_TYPES)}


class CheckedFile(Struct):
    """What the workloads of a file gave, as data."""

    documents: int
    skipped: dict[SkipReason, int]
    findings: list[Finding]
    entries: list[WorkloadEntry]
    assumed_versions: list[str]
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
            dict(part.stats.skipped),
            part.findings,
            part.entries,
            list(part.assumed_versions),
            part.without_mesh,
            part.without_p99,
        )

    def add_to(self, part: CheckedPart) -> None:
        """Add it to what other files gave."""
        part.stats.documents += self.documents
        part.stats.skipped.update(self.skipped)
        part.findings += self.findings
        part.entries += self.entries
        part.assumed_versions.update(dict.fromkeys(self.assumed_versions))
        part.without_mesh += self.without_mesh
        part.without_p99 += self.without_p99


class KeptPods:
    """The files that were checked in an earlier run; ``current`` are those that are kept next."""

    def __init__(self, entries: KeptEntries, name: str) -> None:
        self._entries = entries
        self._name = name
        self._context = ""
        self._kept: dict[str, bytes] = {}
        self.current: dict[str, bytes] = {}

    def use(self, context: str) -> None:
        """Use what was kept for the same context: a digest of all that the pods may depend on."""
        self._context = context
        data = self._entries.read(self._name)
        if data is None:
            return
        try:
            known, kept = msgpack.decode(data, type=tuple[str, dict[str, bytes]])
        except DecodeError:
            return
        if known == context:
            self._kept = kept

    def find(self, key: str) -> CheckedFile | None:
        """What the file of this digest gave; None where it has to be checked."""
        data = self._kept.get(key)
        if data is None:
            return None
        try:
            documents, skipped, findings, entries, *counts = _decode(msgpack.decode(data))
            found = CheckedFile(documents, dict(skipped), findings, entries, *counts)
        except (DecodeError, TypeError, ValueError, LookupError):  # not written by this version
            return None
        self.current[key] = data
        return found

    def add(self, key: str, checked: CheckedFile) -> None:
        """Keep what a file gave."""
        data = [
            checked.documents,
            list(checked.skipped.items()),
            checked.findings,
            checked.entries,
            checked.assumed_versions,
            checked.without_mesh,
            checked.without_p99,
        ]
        try:
            self.current[key] = msgpack.encode(_encode(data))
        except (ValueError, OverflowError):  # a name that is not UTF-8, a number of 20 digits
            return

    def save(self) -> None:
        """Write what is kept, if the run noted everything that it asked."""
        if files.is_noting() and self.current != self._kept:
            self._entries.write(self._name, msgpack.encode((self._context, self.current)))


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
            known.add_to(part)
            continue
        before = files.count_notes()
        found = check(single)
        asked = files.asked_since(before)
        if asked is None:  # it was changed meanwhile
            part.add(found)
            continue
        alone = all(path == single.only_file and kind in _OWN for kind, path, _ in asked)
        if alone and (checked := CheckedFile.of(found)):
            kept.add(key, checked)
        part.add(found)
    part.kept = kept.current
    return part


def context_name(
    digest: files.Digest, sources: Iterable[str], described: Iterable[object]
) -> str | None:
    """A digest of everything that a pod may depend on; None where that is not known.

    What was asked about the files themselves is not in it: their pieces are, in ``digest``.
    """
    notes = files.take_notes()
    if notes is None:
        return None
    own = set(map(posixpath.normpath, sources))
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
    number = _NUMBERS.get(type(value))
    if number is not None:
        if isinstance(value, Severity | Confidence):
            return {number: value.value}
        if isinstance(value, tuple | frozenset):
            return {number: [_encode(item) for item in value]}
        return {number: [_encode(getattr(value, name)) for name in value.__struct_fields__]}
    if isinstance(value, list):
        return [_encode(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _encode(item) for key, item in value.items()}
    if type(value) not in _PLAIN:
        raise ValueError(f"{type(value)} is not kept")
    return value


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    for key, item in value.items():
        if not isinstance(key, int):
            break
        of_type: Any = _ALL_TYPES[key]
        if key < len((tuple, frozenset, Severity, Confidence)):
            return of_type(_decode(item))
        return of_type(*_decode(item))
    return {key: _decode(item) for key, item in value.items()}
