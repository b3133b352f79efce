"""Keys of a pod template that are nearly one that its shutdown depends on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct
from yaml.nodes import MappingNode, ScalarNode

from shutdownlint import limits
from shutdownlint.wording import close_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.manifests.resources import PodSpec

#: "gracePeriodSeconds" and "preStopHook" are meant, "preStart" and "postStart" are not.
_CLOSE: Final = 0.75


class MisspelledKey(Struct, frozen=True):
    """A key, where it is, and the key that is meant."""

    location: NodeRef
    key: str
    instead: str
    container: str | None


def misspelled_keys(spec: PodSpec, ref: NodeRef) -> Iterator[MisspelledKey]:
    """Unknown keys that are nearly the grace period, ``lifecycle`` or ``preStop``.

    ``ref`` is the pod's spec. It looks at nodes, so it is called while they are there.
    """
    yield from _close_to(ref, "terminationGracePeriodSeconds")
    for part, containers in (
        ("containers", spec.containers),
        ("initContainers", spec.initContainers),
    ):
        for index, container in enumerate(containers):
            here = ref / part / index
            yield from _close_to(here, "lifecycle", container.name)
            if container.lifecycle is not None:
                yield from _close_to(here / "lifecycle", "preStop", container.name)


def _close_to(ref: NodeRef, key: str, container: str | None = None) -> Iterator[MisspelledKey]:
    """Yield the keys of a mapping that are nearly this one, where the mapping does not have it."""
    entry = ref.document.tree.entry(ref.key_path)
    if entry is None or not isinstance(entry.value, MappingNode):
        return
    names = [name.value for name, _ in entry.value.value if isinstance(name, ScalarNode)]
    if key in names:
        return
    wanted = (key.lower(),)
    for name in names[: limits.MAX_COMPARED_KEYS]:
        if close_name(name.lower(), wanted, _CLOSE):
            yield MisspelledKey((ref / name).key, name, key, container)
