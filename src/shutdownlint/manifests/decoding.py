"""Typed models, and how plain data is decoded into them.

A value of the wrong type is dropped and reported (``FieldError``); the rest of the object is still
read. A ``Placeholder`` marks a value that a templating tool will insert.
"""

from __future__ import annotations

from functools import cache
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from msgspec import Struct

from shutdownlint.patterns import lazy_pattern
from shutdownlint.yaml_source.tree import Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from shutdownlint.yaml_source.location import KeyPath

_PLACEHOLDER: Final = lazy_pattern(
    r"\$\{|\$\(|\{\{|\{%|#\{|^<[^<>]+>$|^@.+@$|^\$\w+$|^\{[A-Z_]+\}|^__\w+__$"
)
#: No text without one of these is a placeholder.
_PLACEHOLDER_MARKS: Final = frozenset("${<@_")


class Placeholder(str):
    """The text of a placeholder where another type belongs: a value, but not known here."""

    __slots__ = ()


def has_placeholder(text: str) -> bool:
    """Whether some tool will replace this text before Kubernetes sees it."""
    return not _PLACEHOLDER_MARKS.isdisjoint(text) and _PLACEHOLDER.search(text) is not None


class FieldError(Struct, frozen=True):
    """A value that the API server would not take: its route within the object, and why."""

    key_path: KeyPath
    reason: str
    #: The value is a placeholder: nothing is wrong with it, but nothing is known either.
    unresolved: bool = False


class ApiModel(Struct, frozen=True):
    """A part of an object: unknown fields are left alone, names are the API's own."""


_INT64: Final = 2**63


def _integer(value: Any) -> Any:
    if isinstance(value, str) and has_placeholder(value):
        return Placeholder(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("must be a whole number")
    if isinstance(value, float) and not value.is_integer():
        raise ValueError("must be a whole number")
    if not -_INT64 <= value < _INT64:
        raise ValueError("must be a whole number of 64 bits")
    return round(value)


def _string(value: Any) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        raise ValueError("must be a string; unquoted it reads as a boolean")
    if isinstance(value, int | float):
        raise ValueError("must be a string; unquoted it reads as a number")
    raise ValueError("must be a string")


def _boolean(value: Any) -> Any:
    if isinstance(value, str) and has_placeholder(value):
        return Placeholder(value)
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


# The types that fields are written with: what a value must be, and what reads it.
Int = Annotated[Any, _integer]
Str = Annotated[str, _string]
Bool = Annotated[Any, _boolean]
StrMap = dict[str, Str]
Strings = list[Str]

_AnyModel = TypeVar("_AnyModel", bound=ApiModel)


class _WrongTypeError(Exception):
    """A value that has no place in its field."""


def value_at(data: Any, *route: str) -> Any:
    """Return the value at a route of keys; None if a part of it is not a mapping."""
    for step in route:
        data = data.get(step) if isinstance(data, dict) else None
    return data


def mappings(data: Any) -> list[dict[str, Any]]:
    """Return the mappings of a list; nothing for anything else."""
    return [item for item in data if isinstance(item, dict)] if isinstance(data, list) else []


def decode(model: type[_AnyModel], data: Any) -> tuple[_AnyModel, list[FieldError]]:
    """Return the typed object, and what of ``data`` had the wrong type and was left out."""
    rejected: list[FieldError] = []
    if not isinstance(data, dict):
        return model(), rejected
    return _read(model, data, (), rejected), rejected


def _read(
    model: type[_AnyModel], data: dict[Any, Any], key_path: KeyPath, rejected: list[FieldError]
) -> _AnyModel:
    values = {}
    for key, (name, read) in _fields(model).items():
        value = data.get(key)
        if value is None:  # the API server takes a null for a field that is not there
            continue
        try:
            values[name] = read(value, (*key_path, key), rejected)
        except _WrongTypeError as error:
            rejected.append(_rejected(value, (*key_path, key), error))
    return model(**values)


def _rejected(value: Any, key_path: KeyPath, error: _WrongTypeError) -> FieldError:
    return FieldError(key_path, str(error), isinstance(value, str) and has_placeholder(value))


@cache
def _types(model: type[ApiModel]) -> dict[str, Any]:
    """Return the types of a model's fields."""
    return get_type_hints(model, include_extras=True)


@cache
def _fields(model: type[ApiModel]) -> dict[str, tuple[str, Any]]:
    """Return a model's fields by the names in the API, with what reads each."""
    types = _types(model)
    names = zip(model.__struct_encode_fields__, model.__struct_fields__, strict=True)
    return {key: (name, _reader(types[name])) for key, name in names}


def _reader(kind: Any) -> Any:
    """Return the reader of a non-null value of this type. It raises ``_WrongTypeError``."""
    kind = _not_none(kind)
    if isinstance(kind, type) and issubclass(kind, ApiModel):
        return _of_model(kind)
    origin = get_origin(kind)
    if origin is list:
        return _of_list(get_args(kind)[0])
    if origin is dict:
        return _of_map(_reader(get_args(kind)[1]))
    if origin is Annotated:
        return _of_scalar(get_args(kind)[1])
    return _as_written


def _not_none(kind: Any) -> Any:
    if get_origin(kind) is Union or type(kind).__name__ == "UnionType":
        return next(part for part in get_args(kind) if part is not type(None))
    return kind


def _as_written(value: Any, _route: KeyPath, _rejected: list[FieldError]) -> Any:
    return value


def _of_scalar(check: Callable[[Any], Any]) -> Any:
    def read(value: Any, _route: KeyPath, _rejected: list[FieldError]) -> Any:
        try:
            return check(value)
        except ValueError as error:
            raise _WrongTypeError(str(error)) from None

    return read


def _of_model(model: type[ApiModel]) -> Any:
    def read(value: Any, key_path: KeyPath, rejected: list[FieldError]) -> Any:
        if not isinstance(value, dict):
            raise _WrongTypeError("must be a mapping")
        return _read(model, value, key_path, rejected)

    return read


def _of_list(kind: Any) -> Any:
    """Return a list; a wrong item is replaced by an empty one, so that others keep their index.

    The API server reads a null item as an empty one.
    """
    read_item = _reader(kind)
    empty = kind if isinstance(kind, type) and issubclass(kind, ApiModel) else str

    def read(value: Any, key_path: KeyPath, rejected: list[FieldError]) -> Any:
        if not isinstance(value, list):
            raise _WrongTypeError("must be a list")
        found = []
        for number, item in enumerate(value):
            if item is None:
                found.append(empty())
                continue
            try:
                found.append(read_item(item, (*key_path, number), rejected))
            except _WrongTypeError as error:
                rejected.append(_rejected(item, (*key_path, number), error))
                found.append(empty())
        return found

    return read


def _of_map(read_value: Any) -> Any:
    """Return a mapping of texts; null is empty text, as in labels and variables."""

    def read(value: Any, key_path: KeyPath, rejected: list[FieldError]) -> Any:
        if not isinstance(value, dict):
            raise _WrongTypeError("must be a mapping")
        found = {}
        for key, item in value.items():
            try:
                found[key] = "" if item is None else read_value(item, (*key_path, key), rejected)
            except _WrongTypeError as error:
                rejected.append(_rejected(item, (*key_path, key), error))
        return found

    return read


@cache
def shape_of(model: type[ApiModel]) -> Shape:
    """Return the keys that a model reads; a value of another type than expected is taken whole."""
    types = _types(model)
    found = Shape()
    names = zip(model.__struct_encode_fields__, model.__struct_fields__, strict=True)
    for key, name in names:
        below = next(_models(types[name]), None)
        found[key] = shape_of(below) if below is not None else None
    return found


def _models(kind: Any) -> Iterator[type[ApiModel]]:
    """Yield the models in a field's type: itself, of a list, or optional."""
    if isinstance(kind, type) and issubclass(kind, ApiModel):
        yield kind
    for part in get_args(kind):
        yield from _models(part)
