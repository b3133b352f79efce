"""A document's nodes, reached by route, as plain values or as places."""

from __future__ import annotations

from sys import intern
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from shutdownlint import limits
from shutdownlint.yaml_source.errors import BudgetExceededError
from shutdownlint.yaml_source.location import EntryPart, KeyPath, Region
from shutdownlint.yaml_source.scalars import read_scalar

if TYPE_CHECKING:
    from collections.abc import Iterator


class Shape(dict[str, "Shape | None"]):
    """The keys of a mapping that are wanted, each with what is wanted below it (None: all).

    ``names_all``: other keys are wanted as well, without their values.
    """

    names_all = False


class Entry(Struct, frozen=True):
    """An entry of a mapping (with its key) or of a sequence (without)."""

    key: Node | None
    value: Node


def key_text(node: Node) -> str | None:
    """Return the text of a mapping key; None where the key is itself a collection."""
    return str(node.value) if type(node) is ScalarNode else None


def iterate_nodes(root: Node) -> Iterator[Node]:
    """Every node of a document once, whatever aliases share; of mappings the values only."""
    stack, seen = [root], set[int]()
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        if isinstance(node, MappingNode):
            stack += [value for _, value in node.value]
        elif isinstance(node, SequenceNode):
            stack += node.value


def value_budget(root: Node) -> int:
    """Return how many values a document may have once its aliases are written out."""
    length: int = root.end_mark.index - root.start_mark.index
    return limits.MAX_EXPANDED_VALUES + limits.MAX_EXPANDED_VALUES_PER_CHARACTER * length


def walk_scalars(root: Node) -> Iterator[tuple[KeyPath, ScalarNode]]:
    """Every scalar value with its key path. Raises ``BudgetExceededError``."""
    stack: list[tuple[KeyPath, Node]] = [((), root)]
    left = value_budget(root)
    while stack:
        key_path, node = stack.pop()
        left -= 1
        if left < 0 or len(key_path) > limits.MAX_NESTING:
            raise BudgetExceededError
        if isinstance(node, ScalarNode):
            yield key_path, node
        elif isinstance(node, MappingNode):
            stack += [
                ((*key_path, name), value)
                for key, value in node.value
                if (name := key_text(key)) is not None
            ]
        elif isinstance(node, SequenceNode):
            stack += [((*key_path, index), item) for index, item in enumerate(node.value)]


class Tree:
    """One document's root node, and lookups in it."""

    __slots__ = ("root",)

    def __init__(self, root: Node) -> None:
        self.root = root

    def entry(self, key_path: KeyPath) -> Entry | None:
        """Return the entry at ``key_path``; None if it is missing."""
        entry: Entry | None = Entry(None, self.root)
        for step in key_path:
            if entry is None:
                return None
            entry = child(entry.value, step)
        return entry

    def nearest(self, key_path: KeyPath) -> tuple[Entry, KeyPath]:
        """Return the entry at ``key_path`` or at its nearest existing parent, with its route."""
        for length in range(len(key_path), -1, -1):
            entry = self.entry(key_path[:length])
            if entry is not None:
                return entry, key_path[:length]
        return Entry(None, self.root), ()

    def region(self, key_path: KeyPath, part: EntryPart, file: str, first_line: int) -> Region:
        """Return where the entry at ``key_path`` is; a missing one is shown at its parent's key.

        A collection's value is shown by its key, so that a region stays one key or one value
        and never a whole block.
        """
        entry, found = self.nearest(key_path)
        node = entry.value
        wants_key = part is EntryPart.KEY or found != key_path or not isinstance(node, ScalarNode)
        if wants_key and entry.key is not None:
            node = entry.key
        return _place(node, file, first_line)

    def to_python(self, key_path: KeyPath = (), shape: Shape | None = None) -> Any:
        """Return the value at ``key_path`` as Python data, with aliases and merge keys expanded.

        Of mappings that ``shape`` knows only the keys it names are taken. A recursive alias reads
        as None where it recurs. Raises ``BudgetExceededError``.
        """
        entry = self.entry(key_path)
        if entry is None:
            return None
        return _Converter(value_budget(self.root)).to_python(entry.value, shape)


def child(node: Node, step: str | int) -> Entry | None:
    """Return the entry of a collection by index or key (the last duplicate, as in Kubernetes)."""
    if isinstance(step, int):
        if isinstance(node, SequenceNode) and 0 <= step < len(node.value):
            return Entry(None, node.value[step])
        return None
    if not isinstance(node, MappingNode):
        return None
    for key, value in reversed(node.value):  # without merges, as nearly all are
        if isinstance(key, ScalarNode) and key.value in (step, "<<"):
            return _merged_child(node, step) if key.value == "<<" else Entry(key, value)
    return None


def _merged_child(node: MappingNode, step: str) -> Entry | None:
    seen: set[int] = set()
    stack = [iter(_last_first(node))]
    while stack:  # of an entry that is written twice, or merged, the last one counts
        found = next(stack[-1], None)
        if found is None:
            stack.pop()
        elif isinstance(found, MappingNode):  # merged in here; merges may chain, or be circular
            if id(found) not in seen:
                seen.add(id(found))
                if len(seen) > limits.MAX_MERGES:
                    raise BudgetExceededError
                stack.append(iter(_last_first(found)))
        elif found.key is not None and found.key.value == step:
            return found
    return None


def _last_first(node: MappingNode) -> Iterator[Entry | MappingNode]:
    """Yield the entries of a mapping from the last on, with merged mappings in their places."""
    for key, value in reversed(node.value):
        if _merges(key):
            yield from _merged(node, value)
        elif isinstance(key, ScalarNode):
            yield Entry(key, value)


def _merges(key: Node) -> bool:
    return isinstance(key, ScalarNode) and key.value == "<<" and key.style in (None, "")


def _merged(node: MappingNode, value: Node) -> Iterator[MappingNode]:
    """Yield the mappings that a ``<<`` key brings in, the strongest first."""
    if isinstance(value, MappingNode) and value is not node:
        yield value
    elif isinstance(value, SequenceNode):
        yield from (item for item in value.value if isinstance(item, MappingNode))


def first_leaf(node: Node) -> Node:
    """Return the first scalar (or empty collection) inside ``node``."""
    for _ in range(1000):
        if isinstance(node, MappingNode) and node.value:
            node = node.value[0][0]
        elif isinstance(node, SequenceNode) and node.value:
            node = node.value[0]
        else:
            break
    return node


def _place(node: Node, file: str, first_line: int) -> Region:
    start, end = node.start_mark, node.end_mark
    if not isinstance(node, ScalarNode):
        # A block collection's end mark reaches to the next token; show where it begins.
        leaf = first_leaf(node)
        end = leaf.end_mark
    if isinstance(node, ScalarNode) and node.style in ("|", ">"):
        # The indicator, not the whole block of text.
        return Region(
            file,
            first_line + start.line,
            start.column + 1,
            first_line + start.line,
            start.column + 2,
        )
    end_line, end_column = end.line, end.column
    if (end_line, end_column) <= (start.line, start.column):
        end_line, end_column = start.line, start.column + 1
    return Region(
        file,
        first_line + start.line,
        start.column + 1,
        first_line + end_line,
        end_column + 1,
    )


class _Converter:
    """Writes nodes out as plain values, at most so many: aliases multiply."""

    def __init__(self, most: int) -> None:
        self.left = most
        self.inside: set[int] = set()

    def to_python(self, node: Node, shape: Shape | None = None) -> Any:
        self.left -= 1
        if self.left < 0:
            raise BudgetExceededError
        if type(node) is ScalarNode:
            value = read_scalar(node)
            # Manifests say the same words over and over: each is stored once.
            return intern(value) if type(value) is str else value
        if id(node) in self.inside:
            return None
        if len(self.inside) >= limits.MAX_EXPANDED_NESTING:
            raise BudgetExceededError
        self.inside.add(id(node))
        try:
            if isinstance(node, SequenceNode):
                return [self.to_python(item, shape) for item in node.value]
            return self._mapping(node, shape) if isinstance(node, MappingNode) else None
        finally:
            self.inside.discard(id(node))

    def _mapping(self, node: MappingNode, shape: Shape | None) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in node.value:
            text = key_text(key)
            if _merges(key):
                for merged in reversed([*_merged(node, value)]):
                    if id(merged) not in self.inside:
                        result.update(self.to_python(merged, shape))
            elif text is not None and (shape is None or text in shape):
                inner = shape[text] if shape is not None else None
                result[intern(text)] = self.to_python(value, inner)
            elif text is not None and shape is not None and shape.names_all:
                result[intern(text)] = None
        return result
