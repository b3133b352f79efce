"""Check the values of an object as the API server does, by a schema (``schemas``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from shutdownlint.manifests.decoding import has_placeholder
from shutdownlint.yaml_source.tree import Shape

if TYPE_CHECKING:
    from shutdownlint.yaml_source.location import KeyPath

#: A check of one value: why the API server rejects it, or an empty text.
Leaf: TypeAlias = Callable[[Any], str]
#: A key path below a value, and why the API server rejects what is there.
Mistake: TypeAlias = "tuple[KeyPath, str]"


class Fields(Struct, frozen=True, eq=False):
    """A mapping: the checks of its fields, and what has to hold for all of them.

    ``required`` fields must be there. Only values of ``fields`` are read. ``known`` are the names
    of all fields that the API has here, where they are listed; any other is dropped, or rejected by
    strict validation.
    """

    fields: Mapping[str, Schema]
    required: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    also: Callable[[dict[str, Any]], Iterator[Mistake]] | None = None


class Items(Struct, frozen=True, eq=False):
    """A list: the check of its items, and the least number of them."""

    item: Schema
    least: int = 0


Schema: TypeAlias = "Leaf | Fields | Items"


class Mistakes(Struct, frozen=True):
    """What is wrong in an object: rejected values, and fields that the API does not have."""

    rejected: list[tuple[KeyPath, str]]
    unknown: list[tuple[KeyPath, tuple[str, ...]]]


def validate(schema: Schema, value: Any) -> Mistakes:
    """Return the mistakes in a value. Placeholders are left alone."""
    found = Mistakes([], [])
    _check(schema, value, (), found)
    return found


@cache
def shape_of_schema(schema: Schema) -> Shape | None:
    """Return the keys that a check looks at; None for a single value."""
    if isinstance(schema, Items):
        return shape_of_schema(schema.item)
    if not isinstance(schema, Fields):
        return None
    shape = Shape({name: shape_of_schema(each) for name, each in schema.fields.items()})
    shape.names_all = bool(schema.known)
    return shape


def _check(schema: Schema, value: Any, path: KeyPath, found: Mistakes) -> None:
    if value is None or (isinstance(value, str) and has_placeholder(value)):
        return
    if isinstance(schema, Fields):
        _check_fields(schema, value, path, found)
    elif isinstance(schema, Items):
        if not isinstance(value, list):
            found.rejected.append((path, "must be a list"))
            return
        if len(value) < schema.least:
            found.rejected.append((path, "must not be empty"))
        for number, item in enumerate(value):
            _check(schema.item, {} if item is None else item, (*path, number), found)
    elif reason := schema(value):
        found.rejected.append((path, reason))


def _check_fields(schema: Fields, value: Any, path: KeyPath, found: Mistakes) -> None:
    if not isinstance(value, dict):
        found.rejected.append((path, "must be a mapping"))
        return
    before = len(found.rejected)
    for name in schema.required:
        if value.get(name) is None:
            found.rejected.append(((*path, name), "is required"))
    for name, each in schema.fields.items():
        _check(each, value.get(name), (*path, name), found)
    if schema.also is not None and len(found.rejected) == before:
        found.rejected.extend(((*path, *below), why) for below, why in schema.also(value))
    if schema.known:
        names = (name for name in value if name not in schema.known)
        found.unknown.extend(((*path, name), schema.known) for name in names)
