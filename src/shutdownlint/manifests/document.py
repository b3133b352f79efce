"""One parsed document, and references into it."""

from __future__ import annotations

import zlib
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from shutdownlint.yaml_source.composer import ComposeError, compose
from shutdownlint.yaml_source.location import EntryPart, KeyPath, Region
from shutdownlint.yaml_source.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Callable


#: Documents whose nodes came back, the longest ago first: what is asked of a pod is asked at once,
#: and the nodes of all pods together would be most of a large run's memory.
_MAX_REPARSED: Final = 16
_reparsed: Final[deque[Document]] = deque()


class Text(Struct, eq=False):
    """The text of a chunk, which its documents share.

    Small once it has been through a pickle (to another process, or out of memory): what most
    documents of a large run are kept for is an id and a few numbers.
    """

    _whole: str | None
    _packed: bytes = b""

    @property
    def whole(self) -> str:
        """The text itself."""
        if self._whole is None:
            self._whole = zlib.decompress(self._packed).decode("utf-8", "surrogatepass")
        return self._whole

    def compress(self) -> None:
        """Keep the small form only, where there is one."""
        if self._packed:
            self._whole = None

    def __reduce__(self) -> tuple[type[Text], tuple[None, bytes]]:
        packed = self._packed or zlib.compress(self.whole.encode("utf-8", "surrogatepass"), 1)
        return Text, (None, packed)


class Document(Struct, eq=False):
    """One document of a file; its nodes can be dropped and come back when a place is asked for.

    ``written`` is what it stands in; ``line_offset`` is added to the lines of its text (which count
    from 1) to give the file's.
    """

    file: str
    written: Text
    line_offset: int
    index: int
    number: int = 0
    source: str | None = None
    #: Where the chunk that ``text`` is begins in the file, in bytes.
    start: int = 0
    _tree: Tree | None = field(default=None)

    @property
    def text(self) -> str:
        """The text of its chunk."""
        return self.written.whole

    @property
    def tree(self) -> Tree:
        """The nodes, parsed again if they had been dropped."""
        if self._tree is None:
            self._tree = Tree(compose(self.text)[self.number])
            _reparsed.append(self)
            if len(_reparsed) > _MAX_REPARSED:
                _reparsed.popleft().release_nodes()
        return self._tree

    def release_nodes(self) -> None:
        """Give the nodes' memory back; places are still found, by parsing again."""
        self._tree = None
        self.written.compress()

    def __reduce__(self) -> tuple[type[Document], tuple[object, ...]]:
        # Nodes do not travel: they are many, and come back when they are asked for.
        told = (self.file, self.written, self.line_offset, self.index, self.number)
        return Document, (*told, self.source, self.start)

    def region(self, key_path: KeyPath, part: EntryPart = EntryPart.VALUE) -> Region:
        """The place of the entry at ``key_path``, or of its nearest existing parent."""
        return self.tree.region(key_path, part, self.file, 1 + self.line_offset)

    def ref(self, *key_path: str | int) -> NodeRef:
        """A reference into this document."""
        return NodeRef(self, key_path)


class NodeRef(Struct, frozen=True):
    """A key or value of a document. Its place is looked up only when asked for."""

    document: Document
    key_path: KeyPath
    part: EntryPart = EntryPart.VALUE

    def __truediv__(self, step: str | int) -> NodeRef:
        return NodeRef(self.document, (*self.key_path, step), self.part)

    @property
    def key(self) -> NodeRef:
        """The same entry, shown by its key."""
        return NodeRef(self.document, self.key_path, EntryPart.KEY)

    @property
    def parent(self) -> NodeRef:
        """The entry this one stands in, shown by its key."""
        return NodeRef(self.document, self.key_path[:-1], EntryPart.KEY)

    @property
    def exists(self) -> bool:
        """Whether the document has an entry at this route."""
        return self.document.tree.entry(self.key_path) is not None

    @property
    def source(self) -> str | None:
        """The template that a Helm rendering names for this document."""
        return self.document.source

    def region(self) -> Region:
        """Where it stands."""
        return self.document.region(self.key_path, self.part)


class EmbeddedNodeRef(Struct, frozen=True):
    """A key or value of YAML that is itself the text of a scalar (an annotation, a ConfigMap key).

    Shown exactly where the host's text is written as it is read (a literal block, or quotes
    without escapes), and by the host's key otherwise.
    """

    host: NodeRef
    inner: Tree | None
    key_path: KeyPath
    part: EntryPart = EntryPart.VALUE

    @property
    def parent(self) -> EmbeddedNodeRef:
        """The entry this one stands in, shown by its key."""
        return EmbeddedNodeRef(self.host, self.inner, self.key_path[:-1], EntryPart.KEY)

    @property
    def source(self) -> str | None:
        """The template that a Helm rendering names for the host document."""
        return self.host.source

    def region(self) -> Region:
        """Where it stands in the file."""
        shift = _shift(self.host)
        if self.inner is None or shift is None:
            return self.host.key.region()
        region = self.inner.region(self.key_path, self.part, self.host.document.file, 1)
        return shift(region)


def embedded_error_region(host: NodeRef, error: ComposeError) -> Region:
    """Where text inside a scalar stops being YAML."""
    shift = _shift(host)
    if shift is None:
        return host.key.region()
    at = Region(host.document.file, error.line, error.column, error.line, error.column + 1)
    return shift(at)


def _leading(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _shift(host: NodeRef) -> Callable[[Region], Region] | None:
    """How places inside the host scalar's text become places of the file."""
    entry = host.document.tree.entry(host.key_path)
    if entry is None:
        return None
    node: Any = entry.value
    lines = host.document.text.splitlines()
    start = node.start_mark
    if node.style == "|":
        # The first line with text tells the indentation that was taken off.
        written = next((line for line in lines[start.line + 1 :] if line.strip()), "")
        value = next((line for line in node.value.splitlines() if line.strip()), "")
        indent = _leading(written) - _leading(value)
        first = 2 + start.line + host.document.line_offset

        def block(region: Region) -> Region:
            return Region(
                region.file,
                first + region.line - 1,
                indent + region.column,
                first + region.end_line - 1,
                indent + region.end_column,
            )

        return block
    if node.start_mark.line != node.end_mark.line or "\n" in node.value:
        return None
    quoted = 1 if node.style in ("'", '"') else 0
    written = lines[start.line][start.column + quoted : node.end_mark.column - quoted]
    if written != node.value:
        return None
    line = 1 + start.line + host.document.line_offset

    def inline(region: Region) -> Region:
        shift = start.column + quoted
        return Region(region.file, line, shift + region.column, line, shift + region.end_column)

    return inline
