"""What an object is called."""

from __future__ import annotations

from msgspec import Struct


class ObjectId(Struct, frozen=True):
    """What an object is called."""

    kind: str
    name: str
    namespace: str | None

    def __str__(self) -> str:
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {name}"
