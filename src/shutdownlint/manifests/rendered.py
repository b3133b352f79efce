"""Documents that a tool has made: their values are final, their lines are those of the source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from shutdownlint.manifests.document import Document

if TYPE_CHECKING:
    from shutdownlint.yaml_source.location import EntryPart, KeyPath, Region


class Origins(Protocol):
    """The places where the entries of rendered documents are written."""

    def region(self, document: Document, key_path: KeyPath, part: EntryPart) -> Region:
        """Return the region of a file that exists which decides the entry, as near as is known."""

    def template_file(self, document: Document) -> str:
        """Return the file that the document was made of."""

    def value_path(self, document: Document, key_path: KeyPath) -> tuple[str, ...]:
        """Return the value of a chart that sets an entry; none: no value does."""


class RenderedDocument(Document):
    """A rendered document. Its entries are shown where they are written."""

    origins: Origins | None = None
    #: The template as the rendering names it; charts in a chart are part of its path.
    source_name: str = ""

    @classmethod
    def of(cls, document: Document, origins: Origins) -> RenderedDocument:
        """Return the document, with what knows where its entries are written."""
        fields = {name: getattr(document, name) for name in Document.__struct_fields__}
        fields["template"] = origins.template_file(document)
        return cls(**fields, origins=origins, source_name=document.template or "")

    @property
    def has_own_lines(self) -> bool:
        """Whether its lines are lines of a file."""
        return False

    def region(self, key_path: KeyPath, part: EntryPart) -> Region:  # type: ignore[override]
        """Return the region of the entry, in the file that it is written in."""
        assert self.origins is not None
        return self.origins.region(self, key_path, part)
