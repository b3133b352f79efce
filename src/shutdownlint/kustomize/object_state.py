"""An object on its way through the kustomizations that name it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shutdownlint import limits
from shutdownlint.manifests.patched import PatchedDocument
from shutdownlint.manifests.reader import TransformError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shutdownlint.manifests.document import Document, Graft
    from shutdownlint.yaml_source.location import KeyPath


class ObjectState:
    """The object at a place of a document, and every name and namespace that it has had."""

    def __init__(self, document: Document, at: KeyPath) -> None:
        self.document = document
        self.at = at
        data = self.value("apiVersion")
        self.group, _, self.version = str(data or "").rpartition("/")
        self.kind = str(self.value("kind") or "")
        self.names = [str(self.value("metadata", "name") or "")]
        self.namespaces = [str(self.value("metadata", "namespace") or "")]

    def __str__(self) -> str:
        return f"{self.kind} {self.names[-1]}"

    def write(self, grafts: Sequence[Graft]) -> None:
        """Put further values into the object. Raises ``TransformError`` where they are too many."""
        changed = PatchedDocument.of(self.document, grafts)
        if grafts and len(changed.grafts) > limits.MAX_OBJECT_CHANGES:
            reason = f"more than {limits.MAX_OBJECT_CHANGES:,} values of {self} are changed"
            raise TransformError(grafts[-1].source.region(), reason)
        self.document = changed

    def value(self, *steps: str) -> Any:
        """Return a value of the object as it is now."""
        return self.document.tree.to_python((*self.at, *steps))

    def metadata(self) -> dict[str, Any]:
        """Its metadata as they are now."""
        found = self.value("metadata")
        return found if isinstance(found, dict) else {}

    def is_named(self, other: Any) -> bool:
        """Whether another object names this one, by any name that it has had.

        A namespace that is not written is the default one, and where it is written nowhere any.
        """
        if not isinstance(other, dict) or not isinstance(other.get("metadata"), dict):
            return False
        group, _, _ = str(other.get("apiVersion", "")).rpartition("/")
        if group != self.group or other.get("kind") != self.kind:
            return False
        namespace = other["metadata"].get("namespace") or ""
        here = {each or "default" for each in self.namespaces}
        return other["metadata"].get("name") in self.names and (
            (namespace or "default") in here or namespace in self.namespaces
        )
