"""The changes that a Kyverno rule writes into an object, if they depend on nothing else.

Sources: Kyverno's documentation of mutate rules (patchStrategicMerge with conditional and
add-if-not-present anchors, patchesJson6902, foreach), read for 1.13.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from shutdownlint import limits
from shutdownlint.manifests.document import EmbeddedNodeRef, Graft
from shutdownlint.numbers import read_whole
from shutdownlint.patterns import lazy_pattern
from shutdownlint.platforms.kyverno.patterns import holds_for
from shutdownlint.platforms.mutations import UnreadablePatchError
from shutdownlint.platforms.pods.containers import GRACE_FIELD
from shutdownlint.platforms.pods.facts import DEFAULT_GRACE
from shutdownlint.yaml_source.composer import ComposeError, compose
from shutdownlint.yaml_source.scalars import UNTAGGED, read_scalar
from shutdownlint.yaml_source.tree import Tree, child, iterate_nodes, key_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from yaml.nodes import Node

    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.yaml_source.location import KeyPath

#: ``(key)``: a condition; ``+(key)``: written only where the object has no such key.
_ANCHOR: Final = lazy_pattern(r"([^(]?)\((.+)\)")
_ELEMENT_NAME: Final = lazy_pattern(r"\{\{\s*element\.name\s*\}\}")
#: The fields that the API server sets by default, before policies see the object.
_DEFAULTED: Final = (
    "terminationGracePeriodSeconds",
    "restartPolicy",
    "dnsPolicy",
    "schedulerName",
    "securityContext",
    "imagePullPolicy",
    "terminationMessagePath",
    "terminationMessagePolicy",
)
_DEFAULT_GRACE: Final = str(int(DEFAULT_GRACE.value.total_seconds()))
_CONTAINERS: Final = "request.object.spec.containers"


class _ConditionFailsError(Exception):
    """A condition of the patch does not hold for the object."""


def read_patch(mutate: NodeRef, target: NodeRef, injected: Sequence[str]) -> list[Graft]:
    """Return what the ``mutate`` block of a rule writes into an object.

    ``injected`` are the containers that a mesh adds before Kyverno's webhook is called.

    Raises ``UnreadablePatchError``.
    """
    block = mutate.document.tree.to_python(mutate.key_path)
    if not isinstance(block, dict):
        raise UnreadablePatchError
    if set(block) == {"foreach"} and isinstance(block["foreach"], list):
        found = []
        for index, each in enumerate(block["foreach"]):
            known = isinstance(each, dict) and set(each) == {"list", "patchStrategicMerge"}
            if not known or each["list"] != _CONTAINERS:
                raise UnreadablePatchError
            found += _merge_patch(
                mutate / "foreach" / index / "patchStrategicMerge", target, injected
            )
        return found
    if set(block) == {"patchStrategicMerge"}:
        return _merge_patch(mutate / "patchStrategicMerge", target, injected)
    if set(block) == {"patchesJson6902"}:
        return _json_patch(mutate / "patchesJson6902", target)
    raise UnreadablePatchError


def _merge_patch(patch: NodeRef, target: NodeRef, injected: Sequence[str]) -> list[Graft]:
    entry = patch.document.tree.entry(patch.key_path)
    if entry is None:
        raise UnreadablePatchError
    for node in iterate_nodes(entry.value):
        keys = [_text(key) for key, _ in node.value] if isinstance(node, MappingNode) else []
        if any(key == "<<" or key.startswith("$") for key in keys):
            raise UnreadablePatchError  # a merge key, or a directive such as $patch
        text = _ELEMENT_NAME.sub("", str(node.value)) if isinstance(node, ScalarNode) else ""
        if "{{" in text:
            raise UnreadablePatchError
    place = target.document.tree.entry(target.key_path)
    containers = (*target.key_path, "spec", "containers")
    try:
        return list(
            _Merge(containers, injected).merge(
                entry.value, place.value if place else None, target.key_path, patch
            )
        )
    except _ConditionFailsError:
        return []


class _Merge:
    """A merge into an object whose pod's containers are at a place, with further ones."""

    def __init__(self, containers: KeyPath, injected: Sequence[str]) -> None:
        self.containers = containers
        self.injected = injected
        self.left = limits.MAX_POLICY_PATCH_STEPS

    def merge(
        self, patch: Node, target: Node | None, at: KeyPath, source: NodeRef
    ) -> Iterator[Graft]:
        """Yield what a part of the patch writes at ``at``. ``target``: what is there."""
        self.left -= 1
        if len(at) > limits.MAX_POLICY_PATCH_DEPTH or self.left < 0:
            raise UnreadablePatchError
        if isinstance(patch, MappingNode):
            if target is None and not _has_anchors(patch):
                yield Graft(at, patch, source)
                return
            yield from self._merge_mapping(patch, target, at, source)
        elif isinstance(patch, SequenceNode) and any(
            isinstance(n, MappingNode) for n in patch.value
        ):
            yield from self._merge_list(patch, target, at, source)
        elif isinstance(patch, ScalarNode) and read_scalar(patch) is None:
            raise UnreadablePatchError  # it removes what is there
        else:
            yield Graft(at, patch, source)

    def _merge_mapping(
        self, patch: MappingNode, target: Node | None, at: KeyPath, source: NodeRef
    ) -> Iterator[Graft]:
        entries = [(_text(key), value) for key, value in patch.value]
        for text, value in entries:
            kind, name = _anchor(text)
            if kind == "condition":
                entry = child(target, name) if target is not None else None
                if not isinstance(value, ScalarNode):
                    raise UnreadablePatchError
                if entry is None and name == GRACE_FIELD:
                    holds = holds_for(str(value.value), _DEFAULT_GRACE)
                elif entry is None and at[-1:] not in (("labels",), ("annotations",)):
                    raise UnreadablePatchError  # the API server may have set it by default
                else:
                    holds = entry is not None and _matches(value, entry.value)
                if not holds:
                    raise _ConditionFailsError
        for text, value in entries:
            kind, name = _anchor(text)
            entry = child(target, name) if target is not None else None
            there = entry is not None or name in _DEFAULTED
            if kind == "condition" or (kind == "if absent" and there):
                continue
            yield from self.merge(value, entry.value if entry else None, (*at, name), source / text)

    def _merge_list(
        self, patch: SequenceNode, target: Node | None, at: KeyPath, source: NodeRef
    ) -> Iterator[Graft]:
        items = list(target.value) if isinstance(target, SequenceNode) else []
        places = list(range(len(items)))
        added = len(items)
        if at == self.containers:
            items += self._injected(patch, items)
        for number, element in enumerate(patch.value):
            here = source / number
            if not isinstance(element, MappingNode):
                raise UnreadablePatchError
            names = [
                (_anchor(_text(key))[0], value)
                for key, value in element.value
                if _anchor(_text(key))[1] == "name"
            ]
            if not names:
                raise UnreadablePatchError  # no way to say which element is meant
            kind, wanted = names[0]
            if not kind and _has_anchors(element):
                raise UnreadablePatchError  # Kyverno then takes it for every element
            every = isinstance(wanted, ScalarNode) and _ELEMENT_NAME.fullmatch(wanted.value.strip())
            found = [
                (index, item)
                for index, item in enumerate(items)
                if (entry := child(item, "name")) is not None
                and (every or _matches(wanted, entry.value))
            ]
            if len(found) > 1 and "+(" in _keys_of(element):
                raise UnreadablePatchError  # Kyverno decides for the first one only
            rest = MappingNode(
                element.tag,
                [(key, value) for key, value in element.value if value is not wanted],
                element.start_mark,
                element.end_mark,
            )
            for index, item in found:
                if index >= len(places):  # an injected container: now the pod names it
                    places.append(added)
                    added += 1
                    yield Graft((*at, places[index]), item, here)
                try:
                    yield from self._merge_mapping(rest, item, (*at, places[index]), here)
                except _ConditionFailsError:
                    continue
            if not found and not kind:
                yield Graft((*at, added), element, here)
                added += 1

    def _injected(self, patch: Node, items: Sequence[Node]) -> list[Node]:
        """Return the container that is added before, as far as it is known: its name."""
        own = {str(entry.value.value) for item in items if (entry := child(item, "name"))}
        mark = patch.start_mark
        return [
            MappingNode(
                UNTAGGED,
                [
                    (
                        ScalarNode(UNTAGGED, "name", mark, mark),
                        ScalarNode(UNTAGGED, name, mark, mark),
                    )
                ],
                mark,
                mark,
            )
            for name in self.injected[:1]
            if name not in own
        ]


def _json_patch(patch: NodeRef, target: NodeRef) -> list[Graft]:
    entry = patch.document.tree.entry(patch.key_path)
    if entry is None or not isinstance(entry.value, ScalarNode) or "{{" in entry.value.value:
        raise UnreadablePatchError
    try:
        roots = compose(entry.value.value)
    except ComposeError:
        raise UnreadablePatchError from None
    if len(roots) != 1 or not isinstance(roots[0], SequenceNode):
        raise UnreadablePatchError
    tree, found = Tree(roots[0]), []
    for number, step in enumerate(roots[0].value):
        operation: Any = Tree(step).to_python()
        value = child(step, "value")
        path = operation.get("path") if isinstance(operation, dict) else None
        if value is None or operation.get("op") not in ("add", "replace"):
            raise UnreadablePatchError
        key_path = tuple(_steps(path, target))
        place = target.document.tree.entry((*target.key_path, *key_path))
        if operation["op"] == "replace" and place is None and key_path[-1] not in _DEFAULTED:
            raise UnreadablePatchError
        source = EmbeddedNodeRef(patch, tree, (number, "value"), editable=False)
        found.append(Graft((*target.key_path, *key_path), value.value, source))
    return found


def _steps(path: Any, target: NodeRef) -> Iterator[str | int]:
    """Yield the keys of a JSON pointer. What is above the last one has to be there."""
    steps = path.split("/")[1:] if isinstance(path, str) and path.startswith("/") else []
    if not steps:
        raise UnreadablePatchError
    node = target
    for number, raw in enumerate(steps):
        text = raw.replace("~1", "/").replace("~0", "~")
        entry = target.document.tree.entry(node.key_path)
        if entry is None:
            raise UnreadablePatchError
        step: str | int = text
        if isinstance(entry.value, SequenceNode):
            index = read_whole(text)
            last = number == len(steps) - 1
            if last or index is None or index >= len(entry.value.value):
                raise UnreadablePatchError  # it inserts, or there is no such element
            step = index
        node /= step
        yield step


def _anchor(text: str) -> tuple[str, str]:
    """Return the kind of an anchor (none: empty), and the key that it is about."""
    found = _ANCHOR.fullmatch(text)
    if found is None:
        return "", text
    sign, name = found.groups()
    if sign not in ("", "+"):
        raise UnreadablePatchError
    return ("if absent" if sign else "condition"), name


def _has_anchors(node: Node) -> bool:
    return any(
        _ANCHOR.fullmatch(_text(key))
        for each in iterate_nodes(node)
        if isinstance(each, MappingNode)
        for key, _ in each.value
    )


def _keys_of(node: Node) -> str:
    """Return the keys of a part of a patch, one after the other."""
    return " ".join(
        _text(key)
        for each in iterate_nodes(node)
        if isinstance(each, MappingNode)
        for key, _ in each.value
    )


def _text(key: Node) -> str:
    return key_text(key) or ""


def _matches(pattern: Node, value: Node) -> bool:
    """Whether a value is what a pattern with ``*`` and ``?`` says."""
    if not isinstance(pattern, ScalarNode) or not isinstance(value, ScalarNode):
        raise UnreadablePatchError
    return holds_for(str(pattern.value), str(value.value))
