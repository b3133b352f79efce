"""Parses a part of a file into documents; reports what is not YAML, and unrendered templates."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from yaml.nodes import MappingNode, ScalarNode

from shutdownlint.manifests.discovery import KUSTOMIZATION_NAMES
from shutdownlint.manifests.document import Document, DocumentText, NodeCache
from shutdownlint.manifests.go_template import replace_actions
from shutdownlint.manifests.reader import UnreadableInput, decode_text
from shutdownlint.manifests.skips import (
    GO_TEMPLATE,
    NOT_KUBERNETES,
    OTHER_TEMPLATE,
    SkipReason,
    unrendered_chart,
)
from shutdownlint.patterns import lazy_pattern
from shutdownlint.yaml_source.composer import ComposeError, compose
from shutdownlint.yaml_source.location import Region
from shutdownlint.yaml_source.tree import Tree, iterate_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yaml.nodes import Node

    from shutdownlint.manifests.reader import ReadStats
    from shutdownlint.manifests.splitter import Chunk

_YTT: Final = lazy_pattern(r"^[ \t]*#@", re.MULTILINE)
_OTHER: Final = lazy_pattern(r"\{%|%\{|\(\(|<%")
#: Actions that only a template has on a line of their own: blocks, definitions, trimmed ends.
_CONTROL: Final = lazy_pattern(
    r"^[ \t]*\{\{-?\s*(?:/\*|(?:if|range|with|define|block|end|else|include|template)\b)",
    re.MULTILINE,
)
_ONLY_ACTIONS: Final = lazy_pattern(r"[ \t]*(?:x[ \t]*)+\r?")
#: The placeholders of tools that fill in text, at the start of a value or item.
_PLACEHOLDER: Final = lazy_pattern(
    r"(?:^|[:\-,\[{\s])(\{\{[^}\n]{0,60}\}\}?|\$\{[^}\n]{1,60}\}|@[A-Za-z_][\w.-]{0,60}@"
    r"|%[A-Za-z_][\w.-]{0,60}%|<[A-Za-z_][\w .-]{0,60}>|<%[^%\n]{0,60}%>)"
)
_HELM_SOURCE: Final = lazy_pattern(r"^# Source: (\S[^\n]*)$", re.MULTILINE)


class Parser:
    """Parses chunks into documents. Never raises for bad input."""

    def __init__(self) -> None:
        self._cache = NodeCache()

    def documents(
        self,
        file: str,
        chunk: Chunk,
        stats: ReadStats,
        *,
        chart: str | None = None,
        wanted: bool = False,
    ) -> Iterator[Document]:
        """Yield the documents of a chunk; what is counted goes to ``stats``.

        ``chart``: the chart whose template it is where it does not parse. ``wanted``: it is meant
        to be read, also where it does not look like an object.
        """
        text = _decode(file, chunk, stats)
        if text is None:
            return
        if "#@" in text and _YTT.search(text):
            stats.skip(OTHER_TEMPLATE)
            return
        try:
            roots = compose(text)
        except ComposeError as error:
            stats.count_document()
            wanted = wanted or file.rpartition("/")[2] in KUSTOMIZATION_NAMES
            _note_failure(file, chunk, text, error, stats, chart=chart, wanted=wanted)
            return
        source = _HELM_SOURCE.search(text) if "# Source:" in text else None
        source_text = DocumentText(text)
        for number, root in enumerate(roots):
            stats.count_document()
            reason = _template_reason(root, text)
            if reason is GO_TEMPLATE and chart:
                reason = unrendered_chart(chart)
            if reason is not None:
                stats.skipped[reason] += 1
                continue
            document = self._document(file, chunk, source_text, number)
            document.template = source.group(1).rstrip() if source else None
            document.set_root(Tree(root))
            yield document

    def document(self, file: str, chunk: Chunk, number: int) -> Document:
        """Return a document of a chunk that was parsed before. Its nodes are created on demand.

        Raises ``ValueError``.
        """
        return self._document(file, chunk, DocumentText(decode_text(chunk.data)), number)

    def _document(self, file: str, chunk: Chunk, text: DocumentText, number: int) -> Document:
        return Document(
            file,
            text,
            chunk.first_line - 1,
            chunk.index,
            number,
            start=chunk.start,
            cache=self._cache,
        )


def _decode(file: str, chunk: Chunk, stats: ReadStats) -> str | None:
    try:
        return decode_text(chunk.data)
    except UnicodeDecodeError as error:
        stats.count_document()
        line = chunk.first_line + chunk.data.count(b"\n", 0, error.start)
        column = error.start - (chunk.data.rfind(b"\n", 0, error.start) + 1) + 1
        region = Region(file, line, column, line, column + 1)
        reason = f"byte 0x{chunk.data[error.start]:02x} is not UTF-8"
        stats.unreadable.append(UnreadableInput(region, reason))
        return None


def _note_failure(
    file: str,
    chunk: Chunk,
    text: str,
    error: ComposeError,
    stats: ReadStats,
    *,
    chart: str | None,
    wanted: bool,
) -> None:
    if "{{" in text and (chart or _CONTROL.search(text) or _parses_when_filled(text)):
        stats.skipped[unrendered_chart(chart) if chart else GO_TEMPLATE] += 1
    elif _OTHER.search(text):
        stats.skipped[OTHER_TEMPLATE] += 1
    # The NULs are those of UTF-16 without a mark, or of UTF-32.
    elif not wanted and "apiVersion" not in text.replace("\0", ""):
        stats.skipped[NOT_KUBERNETES] += 1
    else:
        line = chunk.first_line + error.line - 1
        region = Region(file, line, error.column, line, error.column + 1)
        reason = _describe(error, text.splitlines(), chunk.first_line - 1)
        stats.unreadable.append(UnreadableInput(region, reason))


def _describe(error: ComposeError, lines: list[str], before: int) -> str:
    """Why a text is not YAML, where its construct began, and whether a placeholder is the cause.

    ``before`` is the number of lines of the file before the text.
    """
    reason = error.reason
    if error.construct and error.began:
        reason += f", in {error.construct} that begins in line {before + error.began}"
    line = _line(lines, error.line)
    if line[error.column - 1 : error.column] == "\t":
        return f"{reason}; it is a tab: YAML is indented with spaces"
    # On the line where the construct began any place may be the cause.
    found = [m for m in _PLACEHOLDER.finditer(line) if m.start() < error.column <= m.end()]
    found += _PLACEHOLDER.finditer(_line(lines, error.began))
    if found:
        shown = found[0].group(1)[:40]
        advice = "check the text with its values filled in, or write it in quotes"
        return f"{reason}; {shown} looks like a placeholder of a template: {advice}"
    return reason


def _line(lines: list[str], number: int) -> str:
    return lines[number - 1] if 0 < number <= len(lines) else ""


def _parses_when_filled(text: str) -> bool:
    """Whether text is YAML once its template actions are replaced by a word.

    Lines that hold nothing else are dropped. This separates templates from broken manifests.
    """
    filled = replace_actions(text, "x")
    lines = [line for line in filled.split("\n") if not _ONLY_ACTIONS.fullmatch(line)]
    try:
        compose("\n".join(lines))
    except ComposeError:
        return False
    return True


def _template_reason(root: Node, text: str) -> SkipReason | None:
    """Return the reason to skip a template that is valid YAML: ``{{ x }}`` reads as nested maps."""
    if "{{" not in text:
        return None
    for node in iterate_nodes(root):
        if isinstance(node, MappingNode) and any(
            not isinstance(key, ScalarNode) for key, _ in node.value
        ):
            return GO_TEMPLATE
    return None
