"""What checking a file gave, as data that is kept between runs."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final, TypeAlias

from msgspec import Struct, msgpack

from shutdownlint.engine.finding import Change, EditAction, Finding, Fix, Related, Severity
from shutdownlint.linter.checked_part import CheckedPart
from shutdownlint.manifests.document import Document, EmbeddedNodeRef, NodeRef
from shutdownlint.manifests.object_id import ObjectId
from shutdownlint.manifests.reader import ReadStats
from shutdownlint.manifests.skips import SkipReason
from shutdownlint.manifests.suppressions import Suppression
from shutdownlint.platforms.edit_target import EditTarget, ValueFormat
from shutdownlint.platforms.workload_index import WorkloadEntry
from shutdownlint.shutdown.pod_plan import Confidence
from shutdownlint.yaml_source.composer import ComposeError, compose
from shutdownlint.yaml_source.location import EntryPart, FixedLocation, Region
from shutdownlint.yaml_source.tree import Tree

#: Gives a document of the file again, by where its chunk starts in bytes, and its number there.
FindDocument: TypeAlias = Callable[[int, int], Document]

_PLAIN: Final = (str, int, bool, type(None))


class CheckedFile(Struct, frozen=True):
    """What the workloads of a file gave, as data."""

    documents: int
    skipped: tuple[tuple[SkipReason, int], ...]
    findings: list[Finding]
    entries: list[WorkloadEntry]
    suppressions: list[Suppression]
    assumed_versions: tuple[str, ...]
    without_mesh: int
    without_p99: int

    @classmethod
    def of(cls, part: CheckedPart) -> CheckedFile | None:
        """What can be kept of a file; None where it cannot."""
        if part.failures or part.descriptions or part.stats.unreadable:
            return None
        return cls(
            part.stats.documents,
            tuple(part.stats.skipped.items()),
            part.findings,
            part.entries,
            part.suppressions,
            tuple(part.assumed_versions),
            part.without_mesh,
            part.without_p99,
        )

    def as_part(self) -> CheckedPart:
        """The same as a check of the file gives it."""
        return CheckedPart(
            ReadStats(documents=self.documents, skipped=Counter(dict(self.skipped))),
            self.suppressions,
            self.findings,
            self.entries,
            assumed_versions=dict.fromkeys(self.assumed_versions),
            without_mesh=self.without_mesh,
            without_p99=self.without_p99,
        )


#: What is kept is data of these types, by their numbers in this order.
_COLLECTIONS: Final = (tuple, frozenset)
_NAMES: Final = (Severity, Confidence, EditAction, ValueFormat, EntryPart)
_FIXES: Final = (Fix, Change, EditTarget)
_PLACES: Final = (Region, Related, FixedLocation)
_STRUCTS: Final = (
    CheckedFile,
    SkipReason,
    WorkloadEntry,
    Finding,
    ObjectId,
    Suppression,
    *_FIXES,
    *_PLACES,
)
_OTHERS: Final = (NodeRef, EmbeddedNodeRef, timedelta, dt.date)
_TYPES: Final[tuple[Any, ...]] = (*_COLLECTIONS, *_NAMES, *_STRUCTS, *_OTHERS)
_NUMBERS: Final = {of_type: number for number, of_type in enumerate(_TYPES)}


def encode_file(checked: CheckedFile, file: str) -> bytes:
    """What the file gave as bytes.

    Raises ``ValueError`` and ``OverflowError`` for what cannot be kept.
    """
    return msgpack.encode(_Encoder(file).encode(checked))


def decode_file(data: bytes, find_document: FindDocument) -> CheckedFile:
    """What a file gave.

    Raises ``DecodeError``, ``TypeError``, ``ValueError`` and ``LookupError`` for data that this
    version has not written.
    """
    found = _Decoder(find_document).decode(msgpack.decode(data))
    if not isinstance(found, CheckedFile):
        raise TypeError("another version wrote it")
    return found


class _Encoder:
    """Data for msgpack: a value of one of the types becomes a mapping from its number."""

    def __init__(self, file: str) -> None:
        self.file = file

    def encode(self, value: Any) -> Any:
        of_type = type(value)
        number = _NUMBERS.get(of_type)
        if of_type in _STRUCTS:
            fields = value.__struct_fields__
            return {number: [self.encode(getattr(value, name)) for name in fields]}
        if of_type in _NAMES:
            return {number: value.value}
        if of_type in _COLLECTIONS:
            return {number: [self.encode(item) for item in value]}
        if of_type is NodeRef:
            return {number: self._place(value)}
        if of_type is EmbeddedNodeRef:
            below = (value.host, value.inner is not None, value.key_path, value.part)
            return {number: [*map(self.encode, below), value.editable]}
        if of_type is timedelta:
            return {number: [value.days, value.seconds, value.microseconds]}
        if of_type is dt.date:
            return {number: value.isoformat()}
        if of_type is list:
            return [self.encode(item) for item in value]
        if of_type is dict:
            return {str(key): self.encode(item) for key, item in value.items()}
        if of_type not in _PLAIN:
            raise ValueError(f"{of_type} is not kept")
        return value

    def _place(self, ref: NodeRef) -> list[Any]:
        document = ref.document
        if type(document) is not Document or document.file != self.file:
            raise ValueError("a place in another file, or in text that is written nowhere")
        place = [document.start, document.number, document.template]
        return [*place, self.encode(ref.key_path), self.encode(ref.part)]


class _Decoder:
    def __init__(self, find_document: FindDocument) -> None:
        self.find_document = find_document
        self._documents: dict[tuple[int, int, str | None], Document] = {}

    def decode(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.decode(item) for item in value]
        if not isinstance(value, dict):
            return value
        number = next(iter(value), None)
        if not isinstance(number, int):
            return {key: self.decode(item) for key, item in value.items()}
        of_type, data = _TYPES[number], self.decode(value[number])
        if of_type is NodeRef:
            start, number, template, key_path, part = data
            return NodeRef(self._document(start, number, template), key_path, part)
        if of_type is EmbeddedNodeRef:
            host, has_inner, *below = data
            return EmbeddedNodeRef(host, _inner_tree(host) if has_inner else None, *below)
        if of_type is dt.date:
            return dt.date.fromisoformat(data)
        return of_type(*data) if of_type in _STRUCTS or of_type is timedelta else of_type(data)

    def _document(self, start: int, number: int, template: str | None) -> Document:
        key = start, number, template
        if key not in self._documents:
            self._documents[key] = self.find_document(start, number)
            self._documents[key].template = template
        return self._documents[key]


def _inner_tree(host: NodeRef) -> Tree:
    """The YAML in the text of a scalar."""
    try:
        entry = host.document.tree.entry(host.key_path)
        roots = compose(str(entry.value.value)) if entry is not None else []
    except ComposeError as error:
        raise LookupError from error
    return Tree(roots[0])
