"""One file's bytes into documents, and which of them provably hold nothing of interest.

``---`` at column 0 always ends a document in libyaml, so the split needs no parser. A document
is passed over unparsed only if its root is a plain block mapping whose every column-0 line can be
read by eye: then its ``kind`` is certain. When in doubt, it is parsed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Kinds that are read for what they say of others' shutdown, pods or not: always, or if all words
#: of one of these groups stand in them.
CONTEXT_KINDS: Final[dict[bytes, tuple[tuple[bytes, ...], ...]]] = {
    **dict.fromkeys(
        (
            b"Namespace",
            b"Service",
            b"ProxyConfig",
            b"IstioOperator",
            b"Istio",
            b"Kustomization",
            b"Gateway",
            b"Ingress",
            b"BackendConfig",
            b"GCPBackendPolicy",
            b"TargetGroupConfiguration",
            b"PodDisruptionBudget",
            b"HorizontalPodAutoscaler",
            b"ScaledObject",
            b"NodePool",
        ),
        (),
    ),
    # Istio's mesh configuration and gateway overrides; files and variables of frameworks.
    b"ConfigMap": (
        (b"istio", b"mesh"),
        (b"application.", b"hutdown"),
        (b"SHUTDOWN",),
        (b"GUNICORN_CMD_ARGS",),
        (b"PM2_KILL",),
        (b"REMAP_SIGTERM",),
        (b"deployment", b"spec"),
    ),
    # Policies that limit the grace period.
    b"ClusterPolicy": ((b"terminationGracePeriodSeconds",),),
    b"Policy": ((b"terminationGracePeriodSeconds",),),
    # Installations of Istio's chart.
    b"HelmRelease": ((b"meshConfig",), (b"ENABLE_NATIVE_SIDECARS",)),
    b"Application": ((b"meshConfig",), (b"ENABLE_NATIVE_SIDECARS",)),
}
#: Helm values of Istio's control plane: no Kubernetes object, but they say how proxies drain.
_MESH_VALUES: Final = re.compile(rb"^meshConfig[ \t]*:", re.MULTILINE)
CRD_KIND: Final = b"CustomResourceDefinition"

_MARKER_REST: Final = re.compile(rb"[ \t]*(?:#[\x20-\x7e\t]*)?(?:\r\n|\n|\Z)")
# With the line break in front of it this is found by looking for line breaks only.
_ODD_LINE: Final = re.compile(rb"\n(?:[^A-Za-z# \r\n\-]|-(?![ \r\n]|\Z))")
_ODD_START: Final = re.compile(rb"[^A-Za-z# \r\n\-]|-(?![ \r\n]|\Z)")
_LONE_BREAK: Final = re.compile(rb"\r(?!\n)|\xc2\x85|\xe2\x80[\xa8\xa9]")
_FIRST_CONTENT: Final = re.compile(rb"(?:[ \t]*(?:#[^\n]*)?\r?\n)*")
_PLAIN_KEY: Final = re.compile(rb"[A-Za-z][A-Za-z0-9_.\-]* *:(?=[ \r\n]|\Z)")
_KIND: Final = re.compile(rb"kind[ \t]*:")
_VERSION: Final = re.compile(rb"^apiVersion[ \t]*:", re.MULTILINE)
_KIND_WORD: Final = re.compile(
    rb"""kind:[ ]+(?:"([A-Za-z0-9]+)"|'([A-Za-z0-9]+)'|([A-Za-z0-9]+))
         [ ]*(?:[ ]\#[^\n]*)?(?:\r?\n(?![ \t])|\Z)""",
    re.VERBOSE,
)
#: In double quotes these can spell a word without its letters standing side by side.
_HIDING_ESCAPE: Final = re.compile(rb"\\[xuU\r\n]")
_BLANK: Final = re.compile(rb"(?:[ \t]*(?:#[^\n]*)?\r?(?:\n|\Z))*\Z")


class Chunk(Struct, frozen=True):
    """The text of one document (or of several where ``...`` parts them)."""

    data: bytes
    first_line: int
    index: int
    #: Where it begins in the file, in bytes.
    start: int = 0


class SkipReason(Struct, frozen=True):
    """Why a chunk need not be parsed."""

    reason: str


CRDS: Final = SkipReason("custom resource definitions")
NO_PODS: Final = SkipReason("objects without pods")
NOT_KUBERNETES: Final = SkipReason("documents that are not Kubernetes objects")
EMPTY: Final = SkipReason("empty documents")


def split(data: bytes) -> Iterator[Chunk]:
    """The documents of a file; a file that is not ASCII-compatible text stays whole."""
    start, line, index = 0, 1, 0
    for marker in () if b"\0" in data else _markers(data):
        if marker > start:
            yield Chunk(data[start:marker], line, index, start)
            index += 1
            line += data.count(b"\n", start, marker)
        rest = _MARKER_REST.match(data, marker + 3)
        start = rest.end() if rest else marker
        line += data.count(b"\n", marker, start)
    if start < len(data):
        yield Chunk(data[start:], line, index, start)


def _markers(data: bytes) -> Iterator[int]:
    """Where lines start that are ``---`` followed by a blank or the line's end."""
    marker = 0 if data.startswith(b"---") else data.find(b"\n---") + 1
    more = marker > 0 or data.startswith(b"---")
    while more:
        if data[marker + 3 : marker + 4] in (b"", b" ", b"\t", b"\r", b"\n"):
            yield marker
        marker = data.find(b"\n---", marker + 3) + 1
        more = marker > 0


def find_skip_reason(chunk: bytes) -> SkipReason | None:
    """Why the chunk may be passed over; None when it must be parsed."""
    if b"\0" in chunk:  # UTF-16, or not text: the parser decides
        return None
    if _BLANK.match(chunk) and not _has_unusual_line_break(chunk):
        return EMPTY
    words = _certain_kinds(chunk)
    if words is None:
        return None if _may_be_relevant(chunk, any_kind=True) else NO_PODS
    if not words:
        # One whose kind does not stand beside its version may be broken: the parser will say.
        odd = _MESH_VALUES.search(chunk) or (_VERSION.search(chunk) and _KIND.search(chunk))
        return None if odd else NOT_KUBERNETES
    if words == {CRD_KIND}:
        return CRDS
    return None if any(_kind_may_be_relevant(word, chunk) for word in words) else NO_PODS


def _kind_may_be_relevant(kind: bytes, chunk: bytes) -> bool:
    wanted = CONTEXT_KINDS.get(kind)
    if wanted is None:
        return _may_be_relevant(chunk, any_kind=kind.endswith(b"List"))
    groups = wanted if kind == b"ConfigMap" else (*wanted, (b"containers",))
    said = any(all(word in chunk for word in group) for group in groups)
    return not wanted or said or _may_contain_escaped_word(chunk)


def _may_be_relevant(chunk: bytes, *, any_kind: bool) -> bool:
    words = (b"containers", b"istio", *CONTEXT_KINDS) if any_kind else (b"containers",)
    return any(word in chunk for word in words) or _may_contain_escaped_word(chunk)


def _may_contain_escaped_word(chunk: bytes) -> bool:
    """Whether an escape could spell any word."""
    return _HIDING_ESCAPE.search(chunk) is not None


def _certain_kinds(chunk: bytes) -> set[bytes] | None:
    """Every kind the chunk can be read as; None when that is not certain."""
    if _has_unusual_line_break(chunk) or _ODD_START.match(chunk) or _ODD_LINE.search(chunk):
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
    """Whether a line may end in something that is no line feed."""
    # Looking for single bytes first is many times faster than the expression.
    if b"\r" not in chunk and b"\xc2\x85" not in chunk and b"\xe2\x80" not in chunk:
        return False
    return _LONE_BREAK.search(chunk) is not None
