"""Annotations that begin as those of this tool, and are none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shutdownlint.manifests.suppressions import ANNOTATION as IGNORE_ANNOTATION
from shutdownlint.platforms.kubernetes import problems
from shutdownlint.platforms.user_facts import OWN_PREFIX, USER_FACTS
from shutdownlint.platforms.workload_index import OWNER_ANNOTATION
from shutdownlint.wording import close_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.problem import Problem

_ANNOTATIONS: Final = (
    *(fact.annotation for fact in USER_FACTS if fact.annotated),
    OWNER_ANNOTATION,
    IGNORE_ANNOTATION,
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
            if not key.startswith(OWN_PREFIX) or key in _ANNOTATIONS:
                continue
            if key.startswith(f"{IGNORE_ANNOTATION}."):
                continue
            instead = close_name(key, _ANNOTATIONS, 0.8) or ""
            known = ", ".join(_ANNOTATIONS)
            reason = f"did you mean {instead}?" if instead else f"there are {known}"
            location = (ref / "metadata" / "annotations" / key).key
            yield problems.OwnAnnotationUnknown(
                location=location, key=key, instead=instead, reason=reason
            )
