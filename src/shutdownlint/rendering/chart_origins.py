"""Where the entries of a rendered chart are written: in a template, or in its values."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace
from yaml.nodes import ScalarNode

from shutdownlint import limits
from shutdownlint.manifests.discovery import CHART_FILE
from shutdownlint.manifests.document import NodeRef, Source
from shutdownlint.manifests.parser import Parser
from shutdownlint.manifests.reader import ReadStats
from shutdownlint.manifests.rendered import RenderedDocument
from shutdownlint.manifests.splitter import split
from shutdownlint.rendering.template_lines import TemplateBlock, TemplateLine, read_template
from shutdownlint.yaml_source.location import EntryPart, Region
from shutdownlint.yaml_source.scalars import read_scalar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.manifests.document import Document
    from shutdownlint.yaml_source.location import KeyPath

_VALUES_FILE: Final = "values.yaml"


class Found(Struct, frozen=True):
    """What is known of an entry: the line of a template, and the value that it comes from.

    ``rest`` is the part of the entry's path that the line does not write itself. ``exact``: the
    line, or the value, is that of the entry and not of one above it.
    """

    file: str
    line: TemplateLine
    values: tuple[str, ...] = ()
    exact: bool = True
    rest: KeyPath = ()
    #: What of the path is below the line, where it is not known how it is written.
    below: KeyPath = ()


class ChartOrigins:
    """The templates and values of one chart, as one rendering uses them.

    ``values`` are the values beside those of the chart itself, the last one wins.
    """

    def __init__(self, folder: str, values: list[Source]) -> None:
        self.folder = folder
        self._given = values
        self._parser = Parser()
        self._templates: dict[str, list[TemplateBlock]] = {}
        self._definitions: dict[str, tuple[str, TemplateBlock]] | None = None
        self._values: dict[str, list[Source]] = {}

    def transform(self, document: Document) -> Document:
        """The document, shown where it is written."""
        return RenderedDocument.of(document, self)

    def template_file(self, document: Document) -> str:
        """The template that the document was made of, or the chart's own file."""
        _, _, below = (document.template or "").partition("/")
        path = posixpath.normpath(posixpath.join(self.folder, below))
        inside = path.startswith(f"{self.folder}/") or self.folder in (".", "")
        return path if below and inside and Path(path).is_file() else self._chart_file

    @property
    def _chart_file(self) -> str:
        return posixpath.join(self.folder, CHART_FILE) if self.folder != "." else CHART_FILE

    def region(self, document: Document, key_path: KeyPath, part: EntryPart) -> Region:
        """Where an entry is written: the value that decides it, else the template's line."""
        found = self.find(document, key_path)
        if found is None:
            return Region(document.template or self._chart_file, 1, 1, 1, 2)
        inserted = found.line.inserts or bool(found.rest)
        if found.values and found.exact and (inserted or part is EntryPart.VALUE):
            region = self._value_region(document, key_path, found, part)
            if region is not None:
                return region
        return _line_region(found, part)

    def value_path(self, document: Document, key_path: KeyPath) -> tuple[str, ...]:
        """The value that sets an entry, in the values of the whole chart; none: there is none."""
        found = self.find(document, key_path)
        if found is None or not found.values or not found.exact:
            return ()
        if any(isinstance(step, int) for step in found.rest):
            return ()
        names = tuple(str(step) for step in found.rest)
        return (*self._subchart(document), *found.values, *names)

    def find(self, document: Document, key_path: KeyPath) -> Found | None:
        """The line of a template that writes an entry, or the nearest one above it."""
        file = document.template
        if file is None or file == self._chart_file:
            return None
        kind = str(document.tree.to_python((*_object_path(key_path), "kind")) or "")
        blocks = [block for block in self._blocks(file) if not block.name]
        same = [block for block in blocks if block.kind == kind] or blocks
        path = key_path[len(_object_path(key_path)) :]
        for length in range(len(path), 0, -1):
            candidates = [
                found
                for block in same
                if (found := self._in_block(file, block, path[:length], path[length:], 0))
            ]
            if candidates:
                return max(candidates, key=lambda found: found.exact)
        lines = [line for block in same for line in block.lines]
        return Found(file, lines[0], exact=False) if lines else None

    def _in_block(
        self, file: str, block: TemplateBlock, path: KeyPath, rest: KeyPath, depth: int
    ) -> Found | None:
        """The line that writes a path, or that inserts what is below it."""
        line = _line_of(block, path)
        if line is None:
            return None
        inserting = [
            each
            for each in block.lines
            if each.inserts
            and (each.path == path if isinstance(path[-1], int) else each.names == line.names)
        ]
        if not rest:
            values = line.values if line.text.startswith("{{") else ()
            below = [each.values for each in inserting if not each.include and not line.text]
            return Found(file, line, values or next(filter(None, below), ()))
        if line.text.startswith("{{"):  # the block is inserted on the line of the key
            inserting.append(line)
        for each in inserting:
            if each.include and depth < limits.MAX_CHART_DEFINITION_DEPTH:
                inner = self._in_definition(each.include, rest, depth + 1)
                if inner is not None:
                    return inner
        for each in inserting:
            if each.values and not each.include:
                return Found(file, each, each.values, rest=rest)
        return Found(file, line, exact=False, below=rest)

    def _in_definition(self, name: str, path: KeyPath, depth: int) -> Found | None:
        known = self._known_definitions().get(name)
        if known is None:
            return None
        file, block = known
        for length in range(len(path), 0, -1):
            found = self._in_block(file, block, path[:length], path[length:], depth)
            if found is not None:
                return found
        for each in block.lines:  # a definition that inserts values only
            if each.inserts and each.values and not each.path:
                return Found(file, each, each.values, rest=path)
        return None

    def _value_region(
        self, document: Document, key_path: KeyPath, found: Found, part: EntryPart
    ) -> Region | None:
        entry = document.tree.entry(key_path)
        for values in self._sources(document):
            source = _below(values, (*found.values, *found.rest))
            there = _entry_at(source)
            if there is None:
                continue
            same = entry is None or (
                isinstance(there, ScalarNode)
                and isinstance(entry.value, ScalarNode)
                and str(read_scalar(there)) == str(read_scalar(entry.value))
            )
            if same or not isinstance(there, ScalarNode):
                return replace(source, part=part).region()
            return None
        return None

    def _sources(self, document: Document) -> list[Source]:
        """The values that a template sees, the ones that win first."""
        subchart = self._subchart(document)
        key = "/".join(subchart)
        if key not in self._values:
            found: list[Source] = []
            folder = self.folder
            for name in ("", *subchart):
                if name:
                    folder = f"{folder}/charts/{name}"
                    found = [source / name for source in found]
                found = [*self._own_values(f"{folder}/{_VALUES_FILE}"), *found]
            given = [_below(each, subchart) for each in self._given]
            self._values[key] = [*found, *given][::-1]
        return self._values[key]

    def _subchart(self, document: Document) -> tuple[str, ...]:
        """The names of the charts that the template's chart is a dependency in."""
        file = (document.template or "").removeprefix(f"{self.folder}/")
        parts = file.split("/")
        return tuple(parts[place + 1] for place, part in enumerate(parts[:-1]) if part == "charts")

    def _own_values(self, file: str) -> Iterator[NodeRef]:
        yield from (document.ref() for document in read_documents(file, self._parser)[:1])

    def _blocks(self, file: str) -> list[TemplateBlock]:
        if file not in self._templates:
            self._templates[file] = read_template(_text(file))
        return self._templates[file]

    def _known_definitions(self) -> dict[str, tuple[str, TemplateBlock]]:
        if self._definitions is None:
            self._definitions = {}
            for file in template_files(self.folder):
                for block in self._blocks(file):
                    if block.name:
                        self._definitions.setdefault(block.name, (file, block))
        return self._definitions


def template_files(folder: str) -> list[str]:
    """The template files of a chart and of the charts in it."""
    root = Path(folder)
    found = [path for end in ("yaml", "yml", "tpl") for path in root.rglob(f"templates/**/*.{end}")]
    return sorted(path.as_posix() for path in found if path.is_file())


def read_documents(file: str, parser: Parser) -> list[Document]:
    """The documents of a values file; none where it cannot be read."""
    found: list[Document] = []
    for chunk in split(_text(file).encode(errors="surrogateescape")):
        for document in parser.documents(file, chunk, ReadStats()):
            document.cache = None
            found.append(document)
    return found


def _text(file: str) -> str:
    try:
        path = Path(file)
        if path.stat().st_size > limits.MAX_CHART_FILE_BYTES:
            return ""
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""


def _below(source: Source, path: KeyPath) -> Source:
    """The entry at a path below another one."""
    for step in path:
        source /= step
    return source


def _entry_at(source: Source) -> object | None:
    """The node of a reference; None where there is none."""
    if isinstance(source, NodeRef):
        entry = source.document.tree.entry(source.key_path)
    else:
        entry = source.inner.entry(source.key_path) if source.inner is not None else None
    return entry.value if entry is not None else None


def _object_path(key_path: KeyPath) -> KeyPath:
    """The path of the object that an entry is in: an item of a List, or the document."""
    return key_path[:2] if key_path[:1] == ("items",) else ()


def _line_of(block: TemplateBlock, path: KeyPath) -> TemplateLine | None:
    """The line that writes a path: with the same places in lists, else the only one by name."""
    names = tuple(step for step in path if isinstance(step, str))
    lines = [line for line in block.lines if not line.inserts and line.names == names]
    exact = [line for line in lines if line.path == path[: len(line.path)]]
    if path and isinstance(path[-1], int):
        # An item of a list: the first line in it.
        inside = [line for line in block.lines if line.path[: len(path)] == path]
        return inside[0] if inside else None
    if exact:
        return exact[0]
    for place, step in enumerate(path):
        if isinstance(step, int) and any(
            line.path[: place + 1] == path[: place + 1] for line in block.lines
        ):
            return None  # the element is known, and has no such line
    return lines[0] if lines else None


def _line_region(found: Found, part: EntryPart) -> Region:
    """The key or value of a line, or what is nearest to it in a value written on one line."""
    line = found.line
    start, end = line.column, line.end
    if not line.inserts and line.text[:1] in ("{", "[") and not line.text.startswith("{{"):
        at, width = _in_flow(line.text, found.below, part)
        if width:
            start, end = line.text_column + at, line.text_column + at + width
    elif part is EntryPart.VALUE and found.exact and line.text and not line.inserts:
        start, end = line.text_column, line.text_column + len(line.text)
    return Region(found.file, line.line, start, line.line, max(end, start + 1))


def _in_flow(text: str, path: KeyPath, part: EntryPart) -> tuple[int, int]:
    """Where the last key of a path, or its value, is in a value written on one line."""
    at = width = 0
    if part is EntryPart.VALUE and all(isinstance(step, int) for step in path):
        return 0, len(text)
    for step in path:
        if isinstance(step, int):
            continue
        key = re.compile(rf"[\"']?{re.escape(step)}[\"']?\s*:\s*").search(text, at)
        if key is None:
            break
        at, width = key.end(), 0
        if part is EntryPart.KEY:
            at, width = key.start(), len(key.group().rstrip().rstrip(":").rstrip())
    if part is EntryPart.VALUE and at:
        width = len(re.match(r"(?:\[[^\]]*\]|[^,}\]]*)", text[at:]).group().rstrip())  # type: ignore[union-attr]
    return at, width
