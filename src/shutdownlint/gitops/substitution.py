"""Variables that Flux replaces in manifests.

Source: Flux' documentation of post build variable substitution: ``${name}``, ``${name:=default}``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from yaml.nodes import ScalarNode

from shutdownlint.manifests.document import Graft
from shutdownlint.manifests.patched import PatchedDocument
from shutdownlint.patterns import lazy_pattern
from shutdownlint.yaml_source.tree import walk_scalars

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shutdownlint.manifests.document import Document

_VARIABLE: Final = lazy_pattern(r"\$\{(\w+)(?::?[=-]([^{}]*))?\}")


def substitute(document: Document, variables: Mapping[str, str]) -> Document:
    """Return the document with its variables replaced; those without a value stay."""
    grafts = []
    for key_path, node in walk_scalars(document.tree.root):
        if "${" not in node.value:
            continue
        text = _VARIABLE.sub(
            lambda found: variables.get(found[1], found[2] if found[2] is not None else found[0]),
            node.value,
        )
        if text != node.value:
            new = ScalarNode(node.tag, text, node.start_mark, node.end_mark, node.style)
            source = document.source_of(document.ref(*key_path))
            grafts.append(Graft(key_path, new, source))
    return PatchedDocument.of(document, grafts) if grafts else document
