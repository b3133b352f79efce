"""The places where a rendered chart's entries are written: in a template, or in its values."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace
from yaml.nodes import ScalarNode

from shutdownlint import limits
from shutdownlint.manifests.decoding import mappings, value_at
from shutdownlint.manifests.discovery import CHART_FILE
from shutdownlint.manifests.document import NodeRef, Source
from shutdownlint.manifests.parser import Parser
from shutdownlint.manifests.reader import ReadStats
from shutdownlint.manifests.rendered import RenderedDocument
from shutdownlint.manifests.splitter import split
from shutdownlint.patterns import lazy_pattern
from shutdownlint.rendering.template_lines import (
    TemplateBlock,
    TemplateLine,
    ValuePath,
    read_template,
)
from shutdownlint.yaml_source.location import EntryPart, Region
from shutdownlint.yaml_source.scalars import read_scalar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.manifests.document import Document
    from shutdownlint.yaml_source.location import KeyPath

_VALUES_FILE: Final = "values.yaml"
#: An action that writes a value as it is, or a default where there is none.
_PLAIN_VALUE: Final = lazy_pattern(r"\{\{-?\s*(?:(?:int|int64|quote|toString)\s+)?\$?\.Values\.")


class Found(Struct, frozen=True):
    """The known place of an entry: the line of a template, and the value that it comes from.

    ``rest`` is the part of the entry's path that the line does not write itself. ``exact``: the
    line, or the value, is that of the entry and not of one above it.
    """

    file: str
    line: TemplateLine
    values: tuple[str, ...] = ()
    exact: bool = True
    rest: KeyPath = ()
    #: The part of the path below the line, if it is not known how it is written.
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
        """Return the document, shown where it is written."""
        return RenderedDocument.of(document, self)

    def template_file(self, document: Document) -> str:
        """Return the template that the document was made of, or the chart's own file."""
        _, _, below = (document.template or "").partition("/")
        folder, parts = self.folder, below.split("/")
        while parts[:1] == ["charts"] and len(parts) > 2:
            folder = self._dependency(folder, parts[1])
            parts = parts[2:]
        path = posixpath.normpath(posixpath.join(folder, *parts))
        inside = path.startswith(f"{self.folder}/") or self.folder in (".", "")
        return path if below and inside and Path(path).is_file() else self._chart_file

    def _dependency(self, folder: str, name: str) -> str:
        """Return the folder of a chart in a chart, by the name or alias that a rendering uses."""
        named = posixpath.join(folder, "charts", name)
        if Path(named).is_dir():
            return named
        names = {name}
        for document in read_documents(posixpath.join(folder, CHART_FILE), self._parser):
            for entry in mappings(value_at(document.tree.to_python(), "dependencies")):
                if entry.get("alias") == name:
                    names.add(str(entry.get("name")))
        for path in sorted(Path(folder, "charts").glob(f"*/{CHART_FILE}")):
            for document in read_documents(path.as_posix(), self._parser):
                if path.parent.name in names or document.tree.to_python(("name",)) in names:
                    return path.parent.as_posix()
        return named

    @property
    def _chart_file(self) -> str:
        return posixpath.join(self.folder, CHART_FILE) if self.folder != "." else CHART_FILE

    def region(self, document: Document, key_path: KeyPath, part: EntryPart) -> Region:
        """Return where an entry is written: the value that decides it, else the template's line."""
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
        """Return the value that sets an entry, in the values of the whole chart; empty if unknown.

        The value that the files show must be what was rendered.
        """
        found = self.find(document, key_path)
        if found is None or not found.values or not found.exact:
            return ()
        if any(isinstance(step, int) for step in found.rest):
            return ()
        # A value that no file has may have a default in the template.
        certain = document.tree.entry(key_path) is None or _PLAIN_VALUE.match(found.line.text)
        if self._fit(document, key_path, found) < (0 if certain else 1):
            return ()
        names = tuple(str(step) for step in found.rest)
        above = () if found.values[0] == "global" else _subchart(document)
        return (*above, *found.values, *names)

    def find(self, document: Document, key_path: KeyPath) -> Found | None:
        """Return the line of a template that writes an entry, or the nearest one above it.

        Of several lines that may write it, the one whose value is what was rendered.
        """
        file = document.template
        if file is None or file == self._chart_file:
            return None
        at = _object_path(key_path)
        kind = str(document.tree.to_python((*at, "kind")) or "")
        blocks = [block for block in self._blocks(file) if not block.name]
        same = [block for block in blocks if block.kind in (kind, "")] or blocks
        path = key_path[len(at) :]
        for length in range(len(path), 0, -1):
            ranked = [
                (self._fit(document, key_path, found), _named(block, document, at), found)
                for block in same
                for found in self._in_block(
                    file, block, path[:length], path[length:], 0, document, at
                )
            ]
            if ranked:
                return max(ranked, key=lambda each: (each[0], each[1], each[2].exact))[2]
        for block in same:
            for line in block.lines:
                if line.inserts and line.include and not line.path:
                    whole = self._in_definition(line.include, path, 1, document, at)
                    if whole:
                        return max(whole, key=lambda found: self._fit(document, key_path, found))
        lines = [line for block in same for line in block.lines]
        return Found(file, lines[0], exact=False) if lines else None

    def _fit(self, document: Document, key_path: KeyPath, found: Found) -> int:
        """Whether what a line writes is what was rendered: 1; it is not: -1; not known: 0."""
        entry = document.tree.entry(key_path)
        if entry is None or not found.exact or not isinstance(entry.value, ScalarNode):
            return 0
        rendered = str(read_scalar(entry.value))
        if found.values:
            for values in self._sources(document, found.values):
                there = _entry_at(_below(values, (*found.values, *found.rest)))
                if isinstance(there, ScalarNode):
                    return 1 if str(read_scalar(there)) == rendered else -1
                if there is not None:
                    return -1
            return 0
        text = found.line.text
        if "{{" in text or found.line.inserts or not text:
            return 0
        return 1 if text.strip("\"'") == rendered else -1

    def _in_block(
        self,
        file: str,
        block: TemplateBlock,
        path: KeyPath,
        rest: KeyPath,
        depth: int,
        document: Document,
        at: KeyPath,
    ) -> list[Found]:
        """Return the lines that may write a path, or that insert what is below it."""
        found: list[Found] = []
        for line in _lines_of(block, path, document, at):
            inserting = [
                each
                for each in block.lines
                if each.inserts
                and (each.path == path if isinstance(path[-1], int) else each.path == line.path)
            ]
            if not rest:
                own = line.values if line.text.startswith("{{") else ()
                below = [v for i in inserting if not i.include and not line.text for v in i.values]
                found += [Found(file, line, values) for values in (own or below) or ((),)]
                continue
            if line.text.startswith("{{"):  # the block is inserted on the line of the key
                inserting.append(line)
            inner: list[Found] = []
            for each in inserting:
                if each.include and depth < limits.MAX_CHART_DEFINITION_DEPTH:
                    inner += self._in_definition(each.include, rest, depth + 1, document, at)
                elif not each.include:
                    inner += [Found(file, each, values, rest=rest) for values in each.values]
            found += inner or [Found(file, line, exact=False, below=rest)]
        return found

    def _in_definition(
        self, name: str, path: KeyPath, depth: int, document: Document, at: KeyPath
    ) -> list[Found]:
        """Return the lines of a definition that may write a path."""
        known = self._known_definitions().get(name)
        if known is None or not path:
            return []
        file, block = known
        for length in range(len(path), 0, -1):
            found = self._in_block(file, block, path[:length], path[length:], depth, document, at)
            if found:
                return found
        return [  # a definition that inserts values only
            Found(file, each, values, rest=path)
            for each in block.lines
            if each.inserts and not each.path and not each.include
            for values in each.values
        ]

    def _value_region(
        self, document: Document, key_path: KeyPath, found: Found, part: EntryPart
    ) -> Region | None:
        if self._fit(document, key_path, found) < 0:
            return None
        for values in self._sources(document, found.values):
            source = _below(values, (*found.values, *found.rest))
            if _entry_at(source) is not None:
                return replace(source, part=part).region()
        return None

    def _sources(self, document: Document, path: ValuePath) -> list[Source]:
        """Return the values that a template sees, the ones that win first."""
        subchart = _subchart(document)
        if path[:1] == ("global",):  # of the chart above all others
            return [*self._all_values(()), *(self._all_values(subchart) if subchart else ())]
        return self._all_values(subchart)

    def _all_values(self, subchart: tuple[str, ...]) -> list[Source]:
        key = "/".join(subchart)
        if key not in self._values:
            found: list[Source] = []
            folder = self.folder
            for name in ("", *subchart):
                if name:
                    folder = self._dependency(folder, name)
                    found = [source / name for source in found]
                found = [*self._own_values(f"{folder}/{_VALUES_FILE}"), *found]
            given = [_below(each, subchart) for each in self._given]
            self._values[key] = [*found, *given][::-1]
        return self._values[key]

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
    """Return the template files of a chart and of the charts in it."""
    root = Path(folder)
    found = [path for end in ("yaml", "yml", "tpl") for path in root.rglob(f"templates/**/*.{end}")]
    return sorted(path.as_posix() for path in found if path.is_file())


def read_documents(file: str, parser: Parser) -> list[Document]:
    """Return the documents of a values file; none where it cannot be read."""
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
    """Return the entry at a path below another one."""
    for step in path:
        source /= step
    return source


def _entry_at(source: Source) -> object | None:
    """Return the node of a reference; None if it is missing."""
    if isinstance(source, NodeRef):
        entry = source.document.tree.entry(source.key_path)
    else:
        entry = source.inner.entry(source.key_path) if source.inner is not None else None
    return entry.value if entry is not None else None


def _object_path(key_path: KeyPath) -> KeyPath:
    """Return the path of the object that an entry is in: an item of a List, or the document."""
    return key_path[:2] if key_path[:1] == ("items",) else ()


def _subchart(document: Document) -> tuple[str, ...]:
    """Return the names of the charts that the template's chart is a dependency in."""
    source = document.source_name if isinstance(document, RenderedDocument) else ""
    parts = source.split("/")[1:]
    found: list[str] = []
    while parts[:1] == ["charts"] and len(parts) > 2:
        found.append(parts[1])
        parts = parts[2:]
    return tuple(found)


def _named(block: TemplateBlock, document: Document, at: KeyPath) -> int:
    """Whether a block writes the object of this name: 1; of another one: -1; not known: 0."""
    text = next((each.text for each in block.lines if each.path == ("metadata", "name")), "")
    if not text or "{{" in text:
        return 0
    name = document.tree.to_python((*at, "metadata", "name"))
    return 1 if text.strip("\"'") == name else -1


def _lines_of(
    block: TemplateBlock, path: KeyPath, document: Document, at: KeyPath
) -> list[TemplateLine]:
    """Return the lines that may write a path: with the same places in lists, else by name.

    The elements of a list may be made by a loop, or be elsewhere in the list: they are known by
    their names where both are known.
    """
    if path and isinstance(path[-1], int):
        inside = [line for line in block.lines if line.path[: len(path)] == path]
        return [line for line in inside if _same_element(block, line, path, document, at)][:1]
    names = tuple(step for step in path if isinstance(step, str))
    lines = [
        line
        for line in block.lines
        if not line.inserts
        and line.names == names
        and _same_element(block, line, path, document, at)
    ]
    return [line for line in lines if line.path == path] or lines


def _same_element(
    block: TemplateBlock, line: TemplateLine, path: KeyPath, document: Document, at: KeyPath
) -> bool:
    """Whether the elements of lists that a line is in may be those of a path."""
    for place, step in enumerate(path[: len(line.path)]):
        own = line.path[place]
        if not isinstance(step, int) or not isinstance(own, int):
            continue
        item = (*line.path[:place], own, "name")
        text = next((each.text for each in block.lines if each.path == item), "")
        rendered = document.tree.to_python((*at, *path[: place + 1], "name"))
        known = bool(text) and "{{" not in text and rendered is not None
        if known and text.strip("\"'") != str(rendered):
            return False
    return True


def _line_region(found: Found, part: EntryPart) -> Region:
    """Return key or value of a line, or what is nearest to it in a value written on one line."""
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
    """Return where the last key of a path, or its value, is in a value written on one line."""
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
