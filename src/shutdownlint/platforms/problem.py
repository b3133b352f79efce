"""Kinds of configuration problems that are found without simulating the shutdown.

A platform declares its problems as subclasses; their fields are what messages can name. A rule of
``for: problem`` names the kind, so a kind that no platform declares is an error in the rule file.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct

from shutdownlint.platforms.edit_target import ValueFormat

if TYPE_CHECKING:
    from shutdownlint.manifests.object_id import ObjectId
    from shutdownlint.platforms.versions import Version
    from shutdownlint.shutdown.pod_plan import Assumption
    from shutdownlint.yaml_source.location import SourceLocation

#: Fields that every problem has, and that messages do not name.
_COMMON = (
    *("location", "workload", "container", "assumptions"),
    *("version", "value_format", "successor"),
)


class Problem(Struct, frozen=True, kw_only=True):
    """Something wrong at a location.

    ``workload`` is the one that it is about, where it is found among all workloads. ``version`` is
    that of its platform, if known; ``value_format`` how its value is to be written. ``successor``
    is the place of the setting that replaces it.
    """

    platform: ClassVar[str] = ""

    location: SourceLocation
    workload: ObjectId | None = None
    container: str | None = None
    assumptions: tuple[Assumption, ...] = ()
    version: Version | None = None
    value_format: ValueFormat = ValueFormat.PLAIN
    successor: SourceLocation | None = None

    @classmethod
    def kind(cls) -> str:
        """Return the name that rule files use: the class's name in words joined by hyphens."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", cls.__name__).lower()

    @classmethod
    def parameters(cls) -> tuple[str, ...]:
        """Return the names that messages of its rules may use."""
        return tuple(name for name in cls.__struct_fields__ if name not in _COMMON)
