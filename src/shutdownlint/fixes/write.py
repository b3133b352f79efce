"""How a setting's value is written at its place."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from yaml.nodes import ScalarNode

from shutdownlint.yamltext.edit import CannotEditError

if TYPE_CHECKING:
    from shutdownlint.fixes.fix import Change
    from shutdownlint.fixes.slot import Slot
    from shutdownlint.yamltext.edit import Edit, Scalar

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
        raise CannotEditError("there is no value to write")
    return value


def written_value(slot: Slot, change: Change) -> Edit:
    """The edit that writes a change's value. Raises ``CannotEditError``."""
    value = change.value
    if change.field == "preStop" and isinstance(value, timedelta):
        last = slot.ref.route[-1]
        if last == "seconds":
            return slot.set(as_seconds(value))
        if last == "exec":  # a cluster without the sleep action; most images have the program
            return slot.set({"command": ["sleep", str(as_seconds(value))]})
        return slot.set_number(str(as_seconds(value)))
    node = slot.value()
    scalar = scalar_of(change.field, value)
    if isinstance(node, ScalarNode) and isinstance(scalar, str) and node.value == scalar:
        raise CannotEditError("it is written so already")
    return slot.set(scalar)
