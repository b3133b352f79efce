"""The written form of a setting's value."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from yaml.nodes import ScalarNode

from shutdownlint.platforms.edit_target import ValueFormat
from shutdownlint.yaml_source.editor import EditError

if TYPE_CHECKING:
    from shutdownlint.fixes.location import EditLocation
    from shutdownlint.yaml_source.editor import Edit, Value

_TIMES: Final = (ValueFormat.TIME_IN_TEXT, ValueFormat.MILLISECONDS_IN_TEXT)
_STRINGS: Final = (ValueFormat.STRING, ValueFormat.BOOL_TEXT)


def ceil_to_int(value: timedelta) -> int:
    """Whole seconds, rounded up."""
    return math.ceil(value.total_seconds())


def serialize(value: timedelta | bool | int | str, value_format: ValueFormat) -> Value:
    """Return a value as it is written in that format."""
    if isinstance(value, timedelta):
        seconds = ceil_to_int(value)
        if value_format is ValueFormat.SECONDS:
            return seconds
        if value_format is ValueFormat.SECONDS_TEXT:
            return str(seconds)
        if value_format is ValueFormat.EXEC_SLEEP:
            return {"command": ["sleep", str(seconds)]}
        return f"{seconds}s"
    if isinstance(value, bool) and value_format in _STRINGS:
        return "true" if value else "false"
    return value


def _with_pair(location: EditLocation, pair: str, value: Value) -> str:
    """Return the text of pairs at a location with another value of one of them."""
    node = location.value()
    parts = str(node.value).split(",") if isinstance(node, ScalarNode) else []
    changed = [
        f"{part.partition('=')[0]}={value}" if part.partition("=")[0].strip() == pair else part
        for part in parts
    ]
    if changed == parts:
        raise EditError(f"{pair} is not among the pairs that are written")
    return ",".join(changed)


def edit_value(
    location: EditLocation,
    value: timedelta | bool | int | str | None,
    value_format: ValueFormat,
    pair: str = "",
) -> Edit:
    """Return the edit that writes a value; ``pair`` as in ``EditTarget``. Raises ``EditError``."""
    if value is None:
        raise EditError("there is no value to write")
    if pair:
        return location.set(_with_pair(location, pair, serialize(value, value_format)))
    if value_format is ValueFormat.SLEEP_COMMAND and isinstance(value, timedelta):
        return location.set_number(ceil_to_int(value))
    if value_format in _TIMES and isinstance(value, timedelta):
        thousandths = value_format is ValueFormat.MILLISECONDS_IN_TEXT
        return location.set_time(ceil_to_int(value), thousandths=thousandths)
    written = serialize(value, value_format)
    node = location.value()
    if isinstance(node, ScalarNode) and isinstance(written, str) and node.value == written:
        raise EditError("the value is there already")
    return location.set(written)
