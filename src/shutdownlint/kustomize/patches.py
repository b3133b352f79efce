"""The patches of a kustomization, and the objects that they are for."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from shutdownlint import limits
from shutdownlint.kustomize.json_patch import JsonPatchError, Operation, read_operations
from shutdownlint.kustomize.strategic_merge import merge_patch
from shutdownlint.patterns import lazy_pattern
from shutdownlint.yaml_source.scalars import read_as_text
from shutdownlint.yaml_source.tree import Tree, iterate_nodes

if TYPE_CHECKING:
    from yaml.nodes import Node

    from shutdownlint.kustomize.object_state import ObjectState
    from shutdownlint.manifests.document import Source

#: The readable parts of a pattern besides letters: wildcards and alternatives, which may be in one
#: group.
_SIMPLE: Final = r"(?:[\w|/-]|\\[.-]|[.][*+]?)*"
_SIMPLE_PATTERN: Final = lazy_pattern(rf"\^?({_SIMPLE})(?:\(({_SIMPLE})\)({_SIMPLE}))?\$?")
_PLAIN_NAME: Final = lazy_pattern(r"[\w-]+")
_REQUIREMENT: Final = lazy_pattern(r"(!?)([\w./-]+)(?:\s*(==|=|!=)\s*([\w.-]*))?")
_SET_REQUIREMENT: Final = lazy_pattern(r"([\w./-]+)\s+(in|notin)\s+\(([\w.,\s-]*)\)")
#: A requirement of a selector; commas inside of brackets are part of it.
_ONE_REQUIREMENT: Final = lazy_pattern(r"(?:[^,(]++|\([^)]*+\)?+)++")


class Selector(Struct, frozen=True):
    """The objects that a patch is for. Names are Go's regular expressions for the whole name."""

    group: str | None = None
    version: str | None = None
    kind: str | None = None
    name: str | None = None
    namespace: str | None = None
    labels: str | None = None
    annotations: str | None = None

    @classmethod
    def of(cls, target: dict[str, Any]) -> Selector:
        """Return the selector that ``target`` writes."""

        def text(key: str) -> str | None:
            value = target.get(key)
            return value if isinstance(value, str) and value else None

        return cls(
            text("group"),
            text("version"),
            text("kind"),
            text("name"),
            text("namespace"),
            text("labelSelector"),
            text("annotationSelector"),
        )

    @property
    def is_readable(self) -> bool:
        """Whether its patterns are ones that we read: Python's expressions are not Go's."""
        patterns = (self.group, self.version, self.kind, self.name, self.namespace)
        written = (*patterns, self.labels, self.annotations)
        if any(len(each or "") > limits.MAX_SELECTOR_LENGTH for each in written):
            return False
        requirements = [*_requirements(self.labels), *_requirements(self.annotations)]
        return all(_SIMPLE_PATTERN.fullmatch(pattern or "") for pattern in patterns) and all(
            _REQUIREMENT.fullmatch(each) or _SET_REQUIREMENT.fullmatch(each)
            for each in requirements
        )

    def matches(self, state: ObjectState) -> bool:
        """Whether it selects an object."""
        metadata = state.metadata()
        return (
            _matches_any(self.group, [state.group])
            and _matches_any(self.version, [state.version])
            and _matches_any(self.kind, [state.kind])
            and _matches_any(self.name, state.names)
            and _matches_any(self.namespace, state.namespaces)
            and _has(self.labels, metadata.get("labels"))
            and _has(self.annotations, metadata.get("annotations"))
        )


class Patch(Struct, frozen=True, eq=False):
    """One patch: a part of an object that is merged, or a list of operations."""

    selector: Selector | None
    source: Source
    part: Node | None = None
    operations: tuple[Operation, ...] = ()

    @property
    def is_readable(self) -> bool:
        """Whether it can be worked out which objects it is for."""
        return self.selector is None or self.selector.is_readable

    @property
    def plain_name(self) -> str | None:
        """The only name that an object may have which it is for; None: there may be several."""
        if self.selector is not None:
            name = self.selector.name
            return name if name is not None and _PLAIN_NAME.fullmatch(name) else None
        found = Tree(self.part).to_python(("metadata", "name")) if self.part is not None else None
        return found if isinstance(found, str) else None

    def concerns(self, state: ObjectState) -> bool:
        """Whether it is for an object."""
        if self.selector is not None:
            return self.selector.matches(state)
        return self.part is not None and state.is_named(Tree(self.part).to_python())

    def apply(self, state: ObjectState) -> None:
        """Change the object. Raises ``ObjectRemoved``, ``JsonPatchError``, ``TransformError``
        and ``BudgetExceededError``.

        What names the object is not changed by a part that is merged.
        """
        if self.part is not None:
            grafts = merge_patch(self.part, state.document, state.at, self.source, state.group)
            identity = [
                (*state.at, *path) for path in (("kind",), ("apiVersion",), ("metadata", "name"))
            ]
            identity.append((*state.at, "metadata", "namespace"))
            state.write([graft for graft in grafts if graft.key_path not in identity])
        for operation in self.operations:
            state.write(list(operation.grafts(state.document, state.at)))


def read_patches(node: Node, source: Source, selector: Selector | None) -> list[Patch]:
    """Return the patches of a document that holds one. Raises ``JsonPatchError``."""
    read_words_as_text(node)
    if isinstance(node, SequenceNode):
        return [Patch(selector, source, operations=tuple(read_operations(node, source)))]
    if isinstance(node, MappingNode):
        return [Patch(selector, source, node)]
    raise JsonPatchError("it is neither a mapping nor a list")


def read_words_as_text(node: Node) -> None:
    """Read ``yes``, ``on`` and the like as kustomize does: as text, which it writes in quotes."""
    for each in iterate_nodes(node):
        if isinstance(each, ScalarNode):
            read_as_text(each, words_only=True)


def _matches_any(pattern: str | None, names: list[str]) -> bool:
    found = _SIMPLE_PATTERN.fullmatch(pattern) if pattern is not None else None
    if found is None:
        return True
    before, group, after = (part or "" for part in found.groups())
    texts = [f"{before}{each}{after}" for each in group.split("|")] if group else [before]
    options = [_wildcards(option) for text in texts for option in text.split("|")]
    return any(fnmatchcase(name, option) for name in names for option in options)


def _wildcards(pattern: str) -> str:
    """Return a simple expression as a pattern with ``*`` and ``?``."""
    text = pattern.replace("\\.", "\0").replace("\\-", "-")
    return text.replace(".*", "*").replace(".+", "?*").replace(".", "?").replace("\0", ".")


def _requirements(selector: str | None) -> list[str]:
    return [each.strip() for each in _ONE_REQUIREMENT.findall(selector or "") if each.strip()]


def _has(selector: str | None, found: Any) -> bool:
    """Whether labels meet a selector."""
    labels = found if isinstance(found, dict) else {}
    return all(_meets(each, labels) for each in _requirements(selector))


def _meets(requirement: str, labels: dict[str, Any]) -> bool:
    of_set = _SET_REQUIREMENT.fullmatch(requirement)
    if of_set is not None:
        key, word, values = of_set.groups()
        there = str(labels.get(key)) in [value.strip() for value in values.split(",")]
        return there is (word == "in")
    single = _REQUIREMENT.fullmatch(requirement)
    if single is None:
        return True
    absent, key, sign, value = single.groups()
    if sign is None:
        return (key in labels) is not bool(absent)
    return (str(labels.get(key)) == value) is (sign != "!=")
