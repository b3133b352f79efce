"""A finding: what is wrong, where exactly, how sure, and what to do."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from shutdownlint.fixes.fix import Fix
    from shutdownlint.manifests.workloads import ObjectId
    from shutdownlint.shutdown import Confidence
    from shutdownlint.yaml_source.location import Region


class Severity(StrEnum):
    """How bad, for certain. A note never fails a run."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """Greater is worse."""
        return ("note", "warning", "error").index(self.value)


class Related(Struct, frozen=True):
    """Another place that had a say."""

    label: str
    region: Region


class Finding(Struct, frozen=True):
    """One finding. ``region`` is the one key or value that decides it."""

    rule: str
    name: str
    severity: Severity
    confidence: Confidence
    region: Region
    message: str
    fix: Fix | None = None
    workload: ObjectId | None = None
    container: str | None = None
    assumed: tuple[str, ...] = ()
    #: Whether it rests on something assumed of versions.
    of_versions: bool = False
    related: tuple[Related, ...] = field(default=())
    template: str | None = None
