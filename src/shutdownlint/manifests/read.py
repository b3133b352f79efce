"""From files to documents: reading, per-document failure, and what is passed over and why."""

from __future__ import annotations

import gc
import re
import sys
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from shutdownlint.manifests.document import Document
from shutdownlint.manifests.split import NOT_KUBERNETES, Chunk, Skip, relevance, split
from shutdownlint.yamltext import ComposeError, Place, Tree, compose

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from yaml.nodes import Node

    from shutdownlint.manifests.discover import Found

#: Larger files are refused: no manifest comes near it, and memory stays bounded.
MAX_BYTES: Final = 256 * 1024 * 1024

_GO_TEMPLATE: Final = Skip("unrendered Helm or Go templates")
_OTHER_TEMPLATE: Final = Skip("templates of other tools (ytt, Jinja, Terraform)")
_YTT: Final = re.compile(r"^\s*#@", re.MULTILINE)
_OTHER: Final = re.compile(r"\{%|%\{|\(\(|<%")
_HELM_SOURCE: Final = re.compile(r"^# Source: (\S.*?)\s*$", re.MULTILINE)
_KUSTOMIZATIONS: Final = frozenset(("kustomization.yaml", "kustomization.yml", "Kustomization"))


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Something that could not be read: the job is not whole."""

    place: Place
    reason: str


@dataclass(slots=True)
class Reading:
    """What was counted while reading: documents, what was passed over and what failed."""

    files: int = 0
    documents: int = 0
    passed_over: Counter[str] = field(default_factory=Counter)
    unreadable: list[Unreadable] = field(default_factory=list)
    #: What came on standard input, kept for the reports that show source lines.
    stdin: bytes = b""


@contextmanager
def collector_off() -> Iterator[None]:
    """Nodes hold no cycles worth collecting, and the collector costs more than the parse."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def read_documents(found: Found, reading: Reading, tick: Callable[[], None]) -> Iterator[Document]:
    """The documents of one file that may bear on shutdown. Never raises for bad input."""
    reading.files += 1
    tick()
    data = _bytes(found, reading)
    if data is None:
        return
    kustomization = found.shown.rpartition("/")[2] in _KUSTOMIZATIONS
    for chunk in split(data):
        skip = None if kustomization else relevance(chunk.data)
        if skip is not None:
            if skip.reason != "empty documents":
                reading.documents += 1
                reading.passed_over[skip.reason] += 1
            continue
        yield from _documents(found.shown, chunk, reading)


def _bytes(found: Found, reading: Reading) -> bytes | None:
    try:
        if found.data is not None:
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


def _whole(shown: str, reason: str) -> Unreadable:
    return Unreadable(Place(shown, 1, 1, 1, 1), reason)


def _documents(shown: str, chunk: Chunk, reading: Reading) -> Iterator[Document]:
    try:
        text = decode(chunk.data)
    except UnicodeDecodeError as error:
        reading.documents += 1
        line = chunk.first_line + chunk.data.count(b"\n", 0, error.start)
        column = error.start - (chunk.data.rfind(b"\n", 0, error.start) + 1) + 1
        place = Place(shown, line, column, line, column + 1)
        reason = f"byte 0x{chunk.data[error.start]:02x} is not UTF-8"
        reading.unreadable.append(Unreadable(place, reason))
        return
    if _YTT.search(text):
        reading.documents += 1
        reading.passed_over[_OTHER_TEMPLATE.reason] += 1
        return
    try:
        roots = compose(text)
    except ComposeError as error:
        reading.documents += 1
        _failed(shown, chunk, text, error, reading)
        return
    source = _HELM_SOURCE.search(text)
    for number, root in enumerate(roots):
        reading.documents += 1
        skip = _template(root, text)
        if skip is not None:
            reading.passed_over[skip.reason] += 1
            continue
        document = Document(shown, text, chunk.first_line - 1, chunk.index, number)
        document.start = chunk.start
        document.source = source.group(1) if source else None
        document._tree = Tree(root)
        yield document


def decode(data: bytes) -> str:
    """The text of a file or chunk. Raises ``UnicodeDecodeError``."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16")
    text = data.decode("utf-8-sig")
    # JSON allows tabs between tokens and none inside strings; YAML forbids them as indentation.
    return text.replace("\t", " ") if text.lstrip()[:1] in ("{", "[") and "\t" in text else text


def _failed(shown: str, chunk: Chunk, text: str, error: ComposeError, reading: Reading) -> None:
    if "{{" in text:
        reading.passed_over[_GO_TEMPLATE.reason] += 1
    elif _OTHER.search(text):
        reading.passed_over[_OTHER_TEMPLATE.reason] += 1
    elif "apiVersion" not in text:
        reading.passed_over[NOT_KUBERNETES.reason] += 1
    else:
        line = chunk.first_line + error.line - 1
        place = Place(shown, line, error.column, line, error.column + 1)
        reading.unreadable.append(Unreadable(place, error.reason))


def _template(root: Node, text: str) -> Skip | None:
    """A document that scans as YAML though it is a template: ``{{ x }}`` reads as nested maps."""
    if "{{" not in text:
        return None
    stack: list[Node] = [root]
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, MappingNode):
            for key, value in node.value:
                if not isinstance(key, ScalarNode):
                    return _GO_TEMPLATE
                stack.append(value)
        elif isinstance(node, SequenceNode):
            stack.extend(node.value)
    return None
