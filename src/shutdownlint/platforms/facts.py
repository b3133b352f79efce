"""A fact about a platform: its value and the source it was read in."""

from __future__ import annotations

from typing import Final, Generic, TypeVar

from msgspec import Struct

T_co = TypeVar("T_co", covariant=True)


#: Of what was read and then seen on a real node (docs/conformance.md).
MEASURED_ON_NODE: Final = "measured on a Kubernetes node 1.34.4"


class SourcedValue(Struct, Generic[T_co], frozen=True):
    """A default, limit or version, with the source it was read in."""

    value: T_co
    source: str


class VersionTable(Struct, frozen=True):
    """The meaning of a setting, release by release: version ranges and meanings."""

    setting: str
    meanings: tuple[tuple[str, str], ...]
    source: str
