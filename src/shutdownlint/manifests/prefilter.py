"""The choice of the documents to parse, and for what, by their bytes.

A document is skipped unparsed only if its root is a plain block mapping whose every column-0 line
can be read without a parser: then its ``kind`` is certain. When in doubt, it is parsed.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING, Final

from shutdownlint.manifests.skips import (
    CRDS,
    EMPTY,
    NO_CONTAINERS,
    NO_PODS,
    NOT_KUBERNETES,
    POD_PART,
    SkipReason,
)
from shutdownlint.patterns import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shutdownlint.manifests.kinds import KindEntry

#: Words for documents that are taken as pods, though they have no kind.
AS_POD: Final = b"kind: Pod\ncontainers"
_CRD_KIND: Final = b"CustomResourceDefinition"
#: Every pod template has this key.
_PODS: Final = b"containers"
#: Kinds whose values are texts, so that no pod template can be in them.
_TEXT_KINDS: Final = frozenset((b"ConfigMap", b"Secret"))

#: Kinds that are not deployed without containers.
_WORKLOADS: Final = frozenset(
    (b"Deployment", b"StatefulSet", b"DaemonSet", b"ReplicaSet", b"Pod", b"Job", b"CronJob")
)

# With the line break in front of it this is found by looking for line breaks only.
_UNUSUAL_LINE: Final = lazy_pattern(rb"\n(?:[^A-Za-z# \r\n\-]|-(?![ \r\n]|\Z))")
_UNUSUAL_START: Final = lazy_pattern(rb"[^A-Za-z# \r\n\-]|-(?![ \r\n]|\Z)")
_LONE_BREAK: Final = lazy_pattern(rb"\r(?!\n)|\xc2\x85|\xe2\x80[\xa8\xa9]")
_FIRST_CONTENT: Final = lazy_pattern(rb"(?:[ \t]*(?:#[^\n]*)?\r?\n)*")
_PLAIN_KEY: Final = lazy_pattern(rb"[A-Za-z][A-Za-z0-9_.\-]* *:(?=[ \r\n]|\Z)")
_KIND: Final = lazy_pattern(rb"kind[ \t]*:")
_VERSION: Final = lazy_pattern(rb"^apiVersion[ \t]*:", re.MULTILINE)
_KIND_WORD: Final = lazy_pattern(
    rb"""kind:[ ]+(?:"([A-Za-z0-9]+)"|'([A-Za-z0-9]+)'|([A-Za-z0-9]+))
         [ ]*(?:[ ]\#[^\n]*)?(?:\r?\n(?![ \t])|\Z)""",
    re.VERBOSE,
)
#: Containers below the left margin, or a list of them there.
_PART_OF_POD: Final = lazy_pattern(rb"(?m)^(?: *containers:[ \r]*$|-[ ]+(?:name|image):)")
#: In double quotes these can spell a word without its letters standing side by side.
_WORD_ESCAPE: Final = lazy_pattern(rb"\\[xuU\r\n]")
_BLANK: Final = lazy_pattern(rb"(?:[ \t]*(?:#[^\n]*)?\r?(?:\n|\Z))*\Z")


#: The words in documents with objects of a cluster, and not in those that a person writes.
LIVE_WORDS: Final = (b"resourceVersion:", b'"resourceVersion"', b"ownerReferences:")


class Content(Enum):
    """The possible contents of a document."""

    #: Objects that say something about others.
    CONTEXT = "context"
    #: Pod templates.
    WORKLOADS = "workloads"
    #: It is not certain, or both.
    BOTH = "both"


class Prefilter:
    """Classifies documents for the kinds that some platform reads."""

    def __init__(self, kinds: Iterable[KindEntry]) -> None:
        self._wanted: dict[bytes, list[tuple[tuple[bytes, ...], ...]]] = {}
        self._valued: list[tuple[bytes, ...]] = []
        for entry in kinds:
            if entry.kind:
                self._wanted.setdefault(entry.kind.encode(), []).append(entry.words)
            else:
                self._valued += entry.words
        #: A document whose kind is not certain is parsed if one of these words is in it.
        self._any_words = tuple(
            dict.fromkeys([_PODS, *self._wanted, *(w for ws in self._valued for w in ws)])
        )

    def classify(self, chunk: bytes, words: bytes = b"") -> Content | SkipReason:
        """Return what the chunk may hold with further ``words``, or why it need not be parsed."""
        if b"\0" in chunk:  # UTF-16, or not text: the parser decides
            return Content.BOTH
        if not chunk[:1].isalpha() and _BLANK.match(chunk) and not _has_unusual_line_break(chunk):
            return EMPTY
        if words == AS_POD:
            return Content.BOTH
        kinds = _certain_kinds(chunk)
        if kinds is None:
            return Content.BOTH if self._may_hold_anything(chunk) else NO_PODS
        if not kinds:
            # One whose kind is not next to its version may be broken: the parser will say.
            unusual = _VERSION.search(chunk) and _KIND.search(chunk)
            values = any(all(word in chunk for word in words) for words in self._valued)
            if unusual or values:
                return Content.BOTH
            return POD_PART if _is_part_of_pod(chunk) else NOT_KUBERNETES
        if kinds == {_CRD_KIND}:
            return CRDS
        return self._classify_kinds(kinds, chunk + words if words else chunk)

    def _classify_kinds(self, kinds: set[bytes], chunk: bytes) -> Content | SkipReason:
        escaped = _WORD_ESCAPE.search(chunk) is not None
        lists = any(kind.endswith(b"List") for kind in kinds)
        if lists:
            return Content.BOTH if self._may_hold_anything(chunk) else NO_PODS
        context = any(self._is_wanted(kind, chunk, escaped=escaped) for kind in kinds)
        pods = (_PODS in chunk or escaped) and not kinds <= _TEXT_KINDS
        if context and not pods:
            return Content.CONTEXT
        if pods:
            # Objects of a cluster are put in order before they are checked.
            live = any(word in chunk for word in LIVE_WORDS)
            return Content.BOTH if context or live else Content.WORKLOADS
        return NO_CONTAINERS if kinds & _WORKLOADS else NO_PODS

    def _is_wanted(self, kind: bytes, chunk: bytes, *, escaped: bool) -> bool:
        """Whether a platform reads this kind, and the chunk has the words that it looks for."""
        return any(
            not groups or escaped or any(all(w in chunk for w in words) for words in groups)
            for groups in self._wanted.get(kind, ())
        )

    def _may_hold_anything(self, chunk: bytes) -> bool:
        return any(word in chunk for word in self._any_words) or (
            _WORD_ESCAPE.search(chunk) is not None
        )


def _certain_kinds(chunk: bytes) -> set[bytes] | None:
    """Every kind the chunk can be read as; None where that is not certain."""
    if _has_unusual_line_break(chunk) or _UNUSUAL_START.match(chunk) or _UNUSUAL_LINE.search(chunk):
        return None
    first = _FIRST_CONTENT.match(chunk)
    if first is None or not _PLAIN_KEY.match(chunk, first.end()):
        return None
    words: set[bytes] = set()
    at = 0 if chunk.startswith(b"kind") else chunk.find(b"\nkind") + 1
    while at or chunk.startswith(b"kind"):
        if _KIND.match(chunk, at):
            word = _KIND_WORD.match(chunk, at)
            if word is None:
                return None
            words.add(word.group(1) or word.group(2) or word.group(3))
        at = chunk.find(b"\nkind", at) + 1
        if not at:
            break
    return words


def _has_unusual_line_break(chunk: bytes) -> bool:
    """Return whether a line may end in something other than a line feed."""
    # Looking for single bytes first is many times faster than the expression.
    if b"\r" not in chunk and b"\xc2\x85" not in chunk and b"\xe2\x80" not in chunk:
        return False
    return _LONE_BREAK.search(chunk) is not None


def _is_part_of_pod(chunk: bytes) -> bool:
    """Whether a text without a kind looks like a list of containers, or a pod spec."""
    return b"image:" in chunk and _PART_OF_POD.search(chunk) is not None
