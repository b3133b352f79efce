"""One chunk of a file into documents, and what fails or is a template on the way."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from yaml.nodes import MappingNode, ScalarNode

from shutdownlint.manifests.document import Document, Text
from shutdownlint.manifests.read import Unreadable, decode
from shutdownlint.manifests.split import NOT_KUBERNETES, Chunk, Skip
from shutdownlint.yamltext.compose import ComposeError, compose
from shutdownlint.yamltext.place import Place
from shutdownlint.yamltext.tree import Tree, each_node

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yaml.nodes import Node

    from shutdownlint.manifests.read import Reading

_GO_TEMPLATE: Final = Skip("unrendered Helm or Go templates")
_OTHER_TEMPLATE: Final = Skip("templates of other tools (ytt, Jinja, Terraform)")
_YTT: Final = re.compile(r"^\s*#@", re.MULTILINE)
_OTHER: Final = re.compile(r"\{%|%\{|\(\(|<%")
_HELM_SOURCE: Final = re.compile(r"^# Source: (\S.*?)\s*$", re.MULTILINE)


def documents(shown: str, chunk: Chunk, reading: Reading) -> Iterator[Document]:
    """The documents of a chunk. Never raises for bad input."""
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
    written = Text(text)
    for number, root in enumerate(roots):
        reading.documents += 1
        skip = _template(root, text)
        if skip is not None:
            reading.passed_over[skip.reason] += 1
            continue
        document = Document(shown, written, chunk.first_line - 1, chunk.index, number)
        document.start = chunk.start
        document.source = source.group(1) if source else None
        document._tree = Tree(root)
        yield document


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
    for node in each_node(root):
        if isinstance(node, MappingNode) and any(
            not isinstance(key, ScalarNode) for key, _ in node.value
        ):
            return _GO_TEMPLATE
    return None
