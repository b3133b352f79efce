"""The changes that Gatekeeper's mutators and mutating admission policies write into an object.

Sources: Gatekeeper's documentation of mutation (locations, path tests), read for 3.17; Kubernetes'
documentation of MutatingAdmissionPolicy, read for 1.34.
"""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING, Any, Final

from yaml import SafeDumper
from yaml.nodes import MappingNode, SequenceNode

from shutdownlint import limits
from shutdownlint.manifests.decoding import mappings
from shutdownlint.manifests.document import EmbeddedNodeRef, Graft, NodeRef
from shutdownlint.patterns import lazy_pattern
from shutdownlint.platforms.admission.object_literals import read_object
from shutdownlint.platforms.mutations import UnreadablePatchError
from shutdownlint.yaml_source.tree import child

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from yaml.nodes import Node

    from shutdownlint.yaml_source.location import KeyPath

_STEP: Final = lazy_pattern(r"\"([^\"]+)\"|'([^']+)'|([\w-]+)")
_LIST_STEP: Final = lazy_pattern(r"\[\s*name\s*:\s*(?:\"([^\"]+)\"|'([^']+)'|(\*|[\w.-]+))\s*\]")
#: The keys of ``parameters`` that do not depend on other objects.
_PLAIN: Final = frozenset(("assign", "pathTests"))
#: An unquoted star: every element.
_GLOB: Final = "\0*"


def assign(
    policy: NodeRef, target: NodeRef, _injected: Sequence[str], *, only_missing: bool = False
) -> list[Graft]:
    """Return what an Assign (or AssignMetadata, which writes ``only_missing``) writes.

    Raises ``UnreadablePatchError``.
    """
    data = policy.document.tree.to_python((*policy.key_path, "spec"))
    parameters, location = data.get("parameters"), data.get("location")
    if not isinstance(parameters, dict) or not isinstance(location, str):
        raise UnreadablePatchError
    if not set(parameters) <= _PLAIN or parameters.get("pathTests"):
        raise UnreadablePatchError
    source = policy / "spec" / "parameters" / "assign" / "value"
    entry = policy.document.tree.entry(source.key_path)
    if entry is None:
        raise UnreadablePatchError
    root = target.document.tree.entry(target.key_path)
    places = _places(root.value if root else None, _steps(location), ())
    return [
        Graft((*target.key_path, *place), entry.value, source)
        for place, there in places
        if there is None or not only_missing
    ]


def _steps(location: str) -> list[tuple[str, str | None]]:
    """Return the keys of a location, each with the pattern of names where it is a list."""
    found: list[tuple[str, str | None]] = []
    at = 0
    while at < len(location):
        step = _STEP.match(location, at)
        if step is None:
            raise UnreadablePatchError
        at = step.end()
        names = _LIST_STEP.match(location, at)
        at = names.end() if names is not None else at
        pattern = None
        if names is not None:
            quoted = names[1] or names[2]
            pattern = quoted or (_GLOB if names[3] == "*" else names[3])
        found.append((next(g for g in step.groups() if g), pattern))
        if at < len(location) and location[at] != ".":
            raise UnreadablePatchError
        at += 1
    if len(found) > limits.MAX_POLICY_LOCATION_STEPS:
        raise UnreadablePatchError
    return found


def _places(
    node: Node | None, steps: Sequence[tuple[str, str | None]], at: KeyPath
) -> Iterator[tuple[KeyPath, Node | None]]:
    """Yield the places that a location means in an object, and what is there."""
    if not steps:
        yield at, node
        return
    (name, pattern), rest = steps[0], steps[1:]
    entry = child(node, name) if node is not None else None
    value = entry.value if entry is not None else None
    if pattern is None:
        yield from _places(value, rest, (*at, name))
        return
    items = value.value if isinstance(value, SequenceNode) else []
    known = [(index, item, child(item, "name")) for index, item in enumerate(items)]
    found = [
        (index, item)
        for index, item, own in known
        if own is not None and pattern in (_GLOB, str(own.value.value))
    ]
    if not found and pattern != _GLOB:
        raise UnreadablePatchError  # Gatekeeper adds an element of that name
    for index, item in found:
        yield from _places(item, rest, (*at, name, index))


def apply_configurations(policy: NodeRef, target: NodeRef, _injected: Sequence[str]) -> list[Graft]:
    """Return what the ApplyConfigurations of a policy write. Raises ``UnreadablePatchError``."""
    mutations = policy.document.tree.to_python((*policy.key_path, "spec", "mutations"))
    found: list[Graft] = []
    if not isinstance(mutations, list) or len(mappings(mutations)) != len(mutations):
        raise UnreadablePatchError
    for number, mutation in enumerate(mutations):
        configuration = mutation.get("applyConfiguration")
        expression = configuration.get("expression") if isinstance(configuration, dict) else None
        if not isinstance(expression, str):
            raise UnreadablePatchError
        try:
            data = read_object(expression)
        except ValueError:
            raise UnreadablePatchError from None
        host = policy / "spec" / "mutations" / number / "applyConfiguration" / "expression"
        source = EmbeddedNodeRef(host, None, (), editable=False)
        root = target.document.tree.entry(target.key_path)
        found += _merge(data, root.value if root else None, target.key_path, source)
    return found


def _merge(data: Any, node: Node | None, at: KeyPath, source: EmbeddedNodeRef) -> Iterator[Graft]:
    """Yield what an applied object writes: mappings are merged, lists by name or replaced."""
    if isinstance(data, dict):
        for name, value in data.items():
            entry = child(node, name) if isinstance(node, MappingNode) else None
            yield from _merge(value, entry.value if entry else None, (*at, name), source)
    elif isinstance(data, list) and isinstance(node, SequenceNode) and mappings(data):
        items = {
            str(own.value.value): (index, item)
            for index, item in enumerate(node.value)
            if (own := child(item, "name")) is not None
        }
        for value in mappings(data):
            name = str(value.get("name"))
            if name not in items:
                raise UnreadablePatchError
            index, item = items[name]
            yield from _merge(value, item, (*at, index), source)
    elif isinstance(data, list):
        raise UnreadablePatchError  # an atomic list may not be applied
    else:
        yield Graft(at, SafeDumper(StringIO()).represent_data(data), source)
