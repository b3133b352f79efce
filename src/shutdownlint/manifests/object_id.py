"""The identity of an object: kind, name and namespace."""

from __future__ import annotations

from msgspec import Struct


class ObjectId(Struct, frozen=True):
    """The identity of an object: kind, name and namespace."""

    kind: str
    name: str
    namespace: str | None

    def __str__(self) -> str:
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {name}"
