"""How a setting's value is written at its place."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from yaml.nodes import ScalarNode

from shutdownlint.yaml_source.editor import EditError

if TYPE_CHECKING:
    from shutdownlint.fixes.fix import Change
    from shutdownlint.fixes.location import EditLocation
    from shutdownlint.yaml_source.editor import Edit, Scalar

#: Settings that the Kubernetes API takes as a number of seconds.
_SECONDS: Final = frozenset(("grace", "livenessGrace", "startupGrace"))
#: Variables: always strings.
_STRINGS: Final = frozenset(("exitOnZero", "minimumDrain"))


def as_seconds(value: timedelta) -> int:
    """Whole seconds, no fewer."""
    return math.ceil(value.total_seconds())


def scalar_of(field: str, value: timedelta | bool | int | str | None) -> Scalar:
    """What is written for a setting."""
    if isinstance(value, timedelta):
        return as_seconds(value) if field in _SECONDS else f"{as_seconds(value)}s"
    if isinstance(value, bool) and field in _STRINGS:
        return "true" if value else "false"
    if value is None:
        raise EditError("there is no value to write")
    return value


def written_value(edit_location: EditLocation, change: Change) -> Edit:
    """The edit that writes a change's value. Raises ``EditError``."""
    value = change.value
    if change.field == "preStop" and isinstance(value, timedelta):
        last = edit_location.ref.key_path[-1]
        if last == "seconds":
            return edit_location.set(as_seconds(value))
        if last == "exec":  # a cluster without the sleep action; most images have the program
            return edit_location.set({"command": ["sleep", str(as_seconds(value))]})
        return edit_location.set_number(str(as_seconds(value)))
    node = edit_location.value()
    scalar = scalar_of(change.field, value)
    if isinstance(node, ScalarNode) and isinstance(scalar, str) and node.value == scalar:
        raise EditError("it is written so already")
    return edit_location.set(scalar)
