"""One chunk of a file into documents, and what fails or is a template on the way."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from yaml.nodes import MappingNode, ScalarNode

from shutdownlint.manifests.document import Document, Text
from shutdownlint.manifests.reader import UnreadableInput, decode
from shutdownlint.manifests.splitter import NOT_KUBERNETES, Chunk, SkipReason
from shutdownlint.yaml_source.composer import ComposeError, compose
from shutdownlint.yaml_source.location import Region
from shutdownlint.yaml_source.tree import Tree, iterate_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yaml.nodes import Node

    from shutdownlint.manifests.reader import ReadStats

_GO_TEMPLATE: Final = SkipReason("unrendered Helm or Go templates")
_OTHER_TEMPLATE: Final = SkipReason("templates of other tools (ytt, Jinja, Terraform)")
_YTT: Final = re.compile(r"^\s*#@", re.MULTILINE)
_OTHER: Final = re.compile(r"\{%|%\{|\(\(|<%")
_HELM_SOURCE: Final = re.compile(r"^# Source: (\S.*?)\s*$", re.MULTILINE)


def documents(shown: str, chunk: Chunk, reading: ReadStats) -> Iterator[Document]:
    """The documents of a chunk. Never raises for bad input."""
    try:
        text = decode(chunk.data)
    except UnicodeDecodeError as error:
        reading.documents += 1
        line = chunk.first_line + chunk.data.count(b"\n", 0, error.start)
        column = error.start - (chunk.data.rfind(b"\n", 0, error.start) + 1) + 1
        region = Region(shown, line, column, line, column + 1)
        reason = f"byte 0x{chunk.data[error.start]:02x} is not UTF-8"
        reading.unreadable.append(UnreadableInput(region, reason))
        return
    if _YTT.search(text):
        reading.documents += 1
        reading.skipped[_OTHER_TEMPLATE.reason] += 1
        return
    try:
        roots = compose(text)
    except ComposeError as error:
        reading.documents += 1
        _failed(shown, chunk, text, error, reading)
        return
    source = _HELM_SOURCE.search(text)
    written = Text(text)
    for number, root in enumerate(roots):
        reading.documents += 1
        skip = _template(root, text)
        if skip is not None:
            reading.skipped[skip.reason] += 1
            continue
        document = Document(shown, written, chunk.first_line - 1, chunk.index, number)
        document.start = chunk.start
        document.source = source.group(1) if source else None
        document._tree = Tree(root)
        yield document


def _failed(shown: str, chunk: Chunk, text: str, error: ComposeError, reading: ReadStats) -> None:
    if "{{" in text:
        reading.skipped[_GO_TEMPLATE.reason] += 1
    elif _OTHER.search(text):
        reading.skipped[_OTHER_TEMPLATE.reason] += 1
    elif "apiVersion" not in text:
        reading.skipped[NOT_KUBERNETES.reason] += 1
    else:
        line = chunk.first_line + error.line - 1
        region = Region(shown, line, error.column, line, error.column + 1)
        reading.unreadable.append(UnreadableInput(region, error.reason))


def _template(root: Node, text: str) -> SkipReason | None:
    """A document that scans as YAML though it is a template: ``{{ x }}`` reads as nested maps."""
    if "{{" not in text:
        return None
    for node in iterate_nodes(root):
        if isinstance(node, MappingNode) and any(
            not isinstance(key, ScalarNode) for key, _ in node.value
        ):
            return _GO_TEMPLATE
    return None
