"""Settings of a workload's own proxy that replace those of its mesh."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from shutdownlint.shutdown.provenance import Origin
    from shutdownlint.yaml_source.location import SourceLocation


class Override(Struct, frozen=True):
    """A drain setting that replaces the mesh's. ``shorter``: it ends the proxy earlier."""

    name: str
    value: str
    mesh_value: str
    location: SourceLocation
    mesh: Origin
    shorter: bool = False


class Overrides(Struct, frozen=True):
    """The mesh of a pod, and the settings of it that the pod replaces."""

    mesh: str
    settings: tuple[Override, ...]
