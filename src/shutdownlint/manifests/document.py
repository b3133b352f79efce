"""One parsed document, and references into it."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from shutdownlint import limits
from shutdownlint.yaml_source.composer import ComposeError, compose
from shutdownlint.yaml_source.location import EntryPart, KeyPath, Region
from shutdownlint.yaml_source.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from yaml.nodes import Node


class DocumentText(Struct, eq=False):
    """The text of a chunk, which its documents share; it can be stored compressed."""

    _text: str | None
    _compressed: bytes = b""

    @property
    def text(self) -> str:
        """The text itself."""
        if self._text is not None:
            return self._text
        import zlib  # noqa: PLC0415 - for large runs only

        return zlib.decompress(self._compressed).decode("utf-8", "surrogatepass")

    def compress(self) -> None:
        """Keep the compressed text only."""
        if self._text is not None:
            import zlib  # noqa: PLC0415 - for large runs only

            data = self._text.encode("utf-8", "surrogatepass")
            self._compressed, self._text = zlib.compress(data, 1), None


class NodeCache:
    """Documents whose nodes were parsed again, the longest ago first.

    All questions about one pod come together, so few documents need their nodes at a time: the
    pod's own, and those of the policies that change it.
    """

    def __init__(self) -> None:
        self._documents: deque[tuple[Document, int]] = deque()
        self._characters = 0

    def add(self, document: Document, characters: int) -> None:
        """Keep the nodes of a document with so much text, and release those of the oldest ones."""
        self._documents.append((document, characters))
        self._characters += characters
        while len(self._documents) > 1 and (
            self._characters > limits.MAX_CACHED_CHARACTERS
            or len(self._documents) > limits.MAX_CACHED_DOCUMENTS
        ):
            oldest, length = self._documents.popleft()
            self._characters -= length
            oldest.release_nodes()


class Document(Struct, eq=False):
    """One document of a file. Its nodes can be released; they are parsed again when needed.

    ``source_text`` is the text of its chunk; ``line_offset`` is added to its lines
    (which count from 1) to give the file's. ``index`` is the number of the chunk in the file,
    ``number`` that of the document in the chunk, ``start`` where the chunk begins, in bytes.
    ``template`` is the file that a Helm rendering names for it, ``variant`` the environment that it
    is deployed to, of several that exclude one another. ``is_context``: its file is read for
    context only, and nothing is reported in it.
    """

    file: str
    source_text: DocumentText
    line_offset: int
    index: int
    number: int = 0
    template: str | None = None
    variant: str = ""
    is_context: bool = False
    start: int = 0
    cache: NodeCache | None = None
    _tree: Tree | None = field(default=None)

    @property
    def text(self) -> str:
        """The text of its chunk."""
        return self.source_text.text

    @property
    def tree(self) -> Tree:
        """The nodes, parsed again if they had been released."""
        if self._tree is None:
            text = self.text
            self._tree = Tree(compose(text)[self.number])
            if self.cache is not None:
                self.cache.add(self, len(text))
        return self._tree

    def with_text(self, source_text: DocumentText) -> Document:
        """Return the same document with another text."""
        return replace(self, source_text=source_text, _tree=None)

    def written_fields(self) -> dict[str, Any]:
        """Return the fields of a document that is made of this one, without the nodes."""
        return {name: getattr(self, name) for name in Document.__struct_fields__ if name != "_tree"}

    def set_root(self, tree: Tree) -> None:
        """Take the nodes that its text was parsed to."""
        self._tree = tree

    def release_nodes(self) -> None:
        """Release the nodes; locations are still found, by parsing again."""
        self._tree = None

    def release(self) -> None:
        """Release the nodes, and keep the text compressed."""
        self._tree = None
        self.source_text.compress()

    def region(self, key_path: KeyPath, part: EntryPart = EntryPart.VALUE) -> Region:
        """Return the region of the entry at ``key_path``, or of its nearest existing parent."""
        return self.tree.region(key_path, part, self.file, 1 + self.line_offset)

    @property
    def has_own_lines(self) -> bool:
        """Whether its lines are lines of a file: those of rendered text are not."""
        return True

    @property
    def written(self) -> Document:
        """The document as it is written in its file, without values of others."""
        return self

    def source_of(self, ref: NodeRef) -> NodeRef | EmbeddedNodeRef:
        """Return entry in the document that it is written in, where policies change this one."""
        return ref

    def grafts_below(self, key_path: KeyPath) -> list[Graft]:
        """Return the values of other documents below an entry; there are none."""
        return []

    def ref(self, *key_path: str | int) -> NodeRef:
        """Return a reference into this document."""
        return NodeRef(self, key_path)


class NodeRef(Struct, frozen=True):
    """A key or value of a document. Its region is looked up only when needed."""

    document: Document
    key_path: KeyPath
    part: EntryPart = EntryPart.VALUE

    def __truediv__(self, step: str | int) -> NodeRef:
        return NodeRef(self.document, (*self.key_path, step), self.part)

    def below(self, *steps: str | int) -> NodeRef:
        """Return the entry that several steps lead to."""
        return NodeRef(self.document, (*self.key_path, *steps), self.part)

    @property
    def key(self) -> NodeRef:
        """The same entry, shown by its key."""
        return NodeRef(self.document, self.key_path, EntryPart.KEY)

    @property
    def parent(self) -> NodeRef:
        """The entry that contains this one, shown by its key."""
        return NodeRef(self.document, self.key_path[:-1], EntryPart.KEY)

    @property
    def source(self) -> NodeRef | EmbeddedNodeRef:
        """The same entry in the document that it is written in."""
        return self.document.source_of(self)

    @property
    def exists(self) -> bool:
        """Whether the document has an entry at this route."""
        return self.document.tree.entry(self.key_path) is not None

    @property
    def template(self) -> str | None:
        """The template that a Helm rendering names for this document."""
        source = self.source
        return source.document.template if isinstance(source, NodeRef) else source.template

    def region(self) -> Region:
        """Its region of the file."""
        return self.document.region(self.key_path, self.part)

    def describe(self, file: str | None) -> str:
        """Its region in a text about ``file``."""
        return self.region().describe(file)


class EmbeddedNodeRef(Struct, frozen=True):
    """A key or value of YAML that is itself the text of a scalar (an annotation, a ConfigMap key).

    Shown exactly where the host's text is written as it is read (a literal block, or quotes
    without escapes), and by the host's key otherwise. ``editable``: the text may be changed here.
    """

    host: NodeRef
    inner: Tree | None
    key_path: KeyPath
    part: EntryPart = EntryPart.VALUE
    editable: bool = True

    def __truediv__(self, step: str | int) -> EmbeddedNodeRef:
        return replace(self, key_path=(*self.key_path, step))

    @property
    def source(self) -> EmbeddedNodeRef:
        """The same entry in the document that it is written in."""
        host = self.host.source
        if isinstance(host, EmbeddedNodeRef):  # text inside text: shown as a whole
            return EmbeddedNodeRef(host.host, None, (), editable=False)
        return replace(self, host=host)

    @property
    def parent(self) -> EmbeddedNodeRef:
        """The entry that contains this one, shown by its key."""
        return EmbeddedNodeRef(self.host, self.inner, self.key_path[:-1], EntryPart.KEY)

    @property
    def template(self) -> str | None:
        """The template that a Helm rendering names for the host document."""
        return self.source.host.document.template

    def describe(self, file: str | None) -> str:
        """Its region in a text about ``file``."""
        return self.region().describe(file)

    def region(self) -> Region:
        """Return the region in the file."""
        source = self.source
        shift = _shift(source.host)
        if source.inner is None or shift is None:
            return source.host.key.region()
        region = source.inner.region(self.key_path, self.part, source.host.document.file, 1)
        return shift(region)


#: Where a value is written: in a document, or in YAML that is itself the text of a scalar.
Source: TypeAlias = NodeRef | EmbeddedNodeRef


class Graft(Struct, frozen=True, eq=False):
    """A value that is written into a document at ``key_path``, and where it comes from.

    None as the value removes the entry.
    """

    key_path: KeyPath
    value: Node | None
    source: Source


def embedded_error_region(host: NodeRef, error: ComposeError) -> Region:
    """Return where text inside a scalar stops being YAML."""
    source = host.source
    shift = _shift(source) if isinstance(source, NodeRef) else None
    if shift is None or isinstance(source, EmbeddedNodeRef):
        return host.key.region()
    at = Region(source.document.file, error.line, error.column, error.line, error.column + 1)
    return shift(at)


def _leading(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _shift(host: NodeRef) -> Callable[[Region], Region] | None:
    """Return the mapping from places inside the host scalar's text to places in the file."""
    entry = host.document.tree.entry(host.key_path)
    if entry is None or not host.document.has_own_lines:
        return None
    node: Any = entry.value
    lines = host.document.text.splitlines()
    start = node.start_mark
    if node.style == "|":
        # The first line with text has the indentation that was taken off.
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
