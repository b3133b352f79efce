"""An object on its way through the kustomizations that name it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shutdownlint.manifests.document import Document
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
