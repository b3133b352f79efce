"""From a setting's origin to the location in a manifest. The model keeps origins opaque."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shutdownlint.manifests.document import EmbeddedNodeRef, NodeRef
from shutdownlint.yaml_source.location import FixedLocation

if TYPE_CHECKING:
    from shutdownlint.manifests.document import Document
    from shutdownlint.shutdown.provenance import OriginLocation, Setting
    from shutdownlint.yaml_source.location import SourceLocation


def source_location(setting: Setting[Any] | None) -> SourceLocation | None:
    """Return where a setting is written, or could be, if that is in a manifest."""
    return as_source_location(setting.origin.location) if setting is not None else None


def as_source_location(location: OriginLocation | None) -> SourceLocation | None:
    """Return the model's opaque location, if it is one in a manifest."""
    if isinstance(location, NodeRef | EmbeddedNodeRef | FixedLocation):
        return location
    return None


def node_ref(setting: Setting[Any] | None) -> NodeRef | None:
    """Return the same, where it is an entry of a document itself."""
    location = setting.origin.location if setting is not None else None
    return location if isinstance(location, NodeRef) else None


def document_of(location: SourceLocation) -> Document | None:
    """Return the document that a location is in, if it is in one."""
    if isinstance(location, NodeRef):
        location = location.source
    if isinstance(location, EmbeddedNodeRef):
        return location.source.host.document
    return location.document if isinstance(location, NodeRef) else None


def is_image_place(location: SourceLocation) -> bool:
    """Whether a location is the name of an image: no setting of it is written there."""
    return isinstance(location, NodeRef) and location.key_path[-1:] == ("image",)
