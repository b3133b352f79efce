"""Settings of a workload's own proxy that replace those of its mesh."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from shutdownlint.platforms.edit_target import EditTarget
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
    """The mesh of a pod, and the settings of it that the pod replaces.

    ``names`` are the fields that the mesh sets for all pods, as they are written; ``targets`` is
    where, empty where its configuration is not among the files.
    """

    mesh: str
    settings: tuple[Override, ...] = ()
    names: dict[str, str] = field(default_factory=dict)
    targets: dict[str, EditTarget] = field(default_factory=dict)

    def is_mesh_wide(self, name: str) -> bool:
        """Whether a field of the pod follows the mesh."""
        return name in self.names and self.names[name] not in {o.name for o in self.settings}
