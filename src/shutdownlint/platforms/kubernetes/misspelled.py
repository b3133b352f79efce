"""Keys that are nearly one of those that a shutdown depends on, and unknown own annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from yaml.nodes import MappingNode, ScalarNode

from shutdownlint.manifests.suppressions import ANNOTATION as IGNORE_ANNOTATION
from shutdownlint.platforms.kubernetes import problems
from shutdownlint.platforms.kubernetes.containers import GRACE_FIELD
from shutdownlint.platforms.workload_index import OWNER_ANNOTATION
from shutdownlint.wording import close_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.problem import Problem

PREFIX: Final = "shutdownlint.dev/"
P99_ANNOTATION: Final = f"{PREFIX}p99"
JOB_ANNOTATION: Final = f"{PREFIX}job"
_ANNOTATIONS: Final = (P99_ANNOTATION, JOB_ANNOTATION, OWNER_ANNOTATION, IGNORE_ANNOTATION)
#: "gracePeriodSeconds" and "preStopHook" are meant, "preStart" and "postStart" are not.
_CLOSE: Final = 0.75


def misspelled_keys(workload: Workload) -> Iterator[Problem]:
    """Unknown keys that are nearly the grace period, ``lifecycle`` or ``preStop``."""
    ref, spec = workload.spec, workload.template.spec
    yield from _close_to(ref, GRACE_FIELD)
    for part, containers in (
        ("containers", spec.containers),
        ("initContainers", spec.initContainers),
    ):
        for index, container in enumerate(containers):
            here = ref / part / index
            yield from _close_to(here, "lifecycle", container.name)
            if container.lifecycle is not None:
                yield from _close_to(here / "lifecycle", "preStop", container.name)


def _close_to(ref: NodeRef, key: str, container: str | None = None) -> Iterator[Problem]:
    """The key of a mapping that is nearly this one, where the mapping does not have it."""
    entry = ref.document.tree.entry(ref.key_path)
    if entry is None or not isinstance(entry.value, MappingNode):
        return
    names = [name.value for name, _ in entry.value.value if isinstance(name, ScalarNode)]
    if key in names:
        return
    for name in names:
        if close_name(name.lower(), (key.lower(),), _CLOSE):
            location = (ref / name).key
            yield problems.KeyMisspelled(
                location=location, key=name, instead=key, container=container
            )


def unknown_annotations(workload: Workload) -> Iterator[Problem]:
    """Annotations that begin as those of this tool, and are none."""
    places = {
        ref.key_path: (metadata, ref)
        for metadata, ref in (
            (workload.owner, workload.object_ref),
            (workload.template.metadata, workload.ref),
        )
    }
    for metadata, ref in places.values():
        for key in metadata.annotations:
            if not key.startswith(PREFIX) or key in _ANNOTATIONS:
                continue
            if key.startswith(f"{IGNORE_ANNOTATION}."):
                continue
            instead = close_name(key, _ANNOTATIONS, 0.8) or ""
            known = ", ".join(_ANNOTATIONS)
            reason = f"did you mean {instead}?" if instead else f"there are {known}"
            location = (ref / "metadata" / "annotations" / key).key
            yield problems.AnnotationUnknown(
                location=location, key=key, instead=instead, reason=reason
            )
