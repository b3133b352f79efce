"""The objects of clusters as files of a run: one for each namespace, as a dump of it would be."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from shutdownlint.cluster.kubeconfig import ClusterError, read_access
from shutdownlint.cluster.objects import read_objects
from shutdownlint.manifests.discovery import InputError, InputFile
from shutdownlint.manifests.inputs import InputSource
from shutdownlint.platforms.registry import kind_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: The file of objects that are in no namespace.
_CLUSTER_WIDE: Final = "cluster"
_WORKLOADS: Final = (
    *(("", kind) for kind in ("Pod", "ReplicationController")),
    *(("apps", kind) for kind in ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")),
    *(("batch", kind) for kind in ("Job", "CronJob")),
    ("argoproj.io", "Rollout"),
)


class ClusterInputs(Struct, frozen=True):
    """The files of a context's cluster."""

    sources: tuple[InputSource, ...]
    context: str


def wanted_kinds() -> set[tuple[str, str]]:
    """Return group and kind of all objects that are read from a cluster."""
    table = kind_table()
    entries = {(entry.group, entry.kind) for entry in table.entries if entry.kind}
    return {*entries, *table.pod_kinds, *_WORKLOADS}


def read_cluster(context: str, *, allow_exec: bool) -> ClusterInputs:
    """Return the objects of a context's cluster as files. Raises ``ClusterError``."""
    access = read_access(context, allow_exec=allow_exec)
    found = read_objects(access, wanted_kinds())
    by_namespace: dict[str, list[dict[str, Any]]] = {}
    for each in found.objects:
        metadata = each.get("metadata")
        namespace = metadata.get("namespace") if isinstance(metadata, dict) else None
        by_namespace.setdefault(str(namespace or _CLUSTER_WIDE), []).append(each)
    files = [
        InputFile(None, f"{access.context}/{_as_name(namespace)}.yaml", _as_text(objects))
        for namespace, objects in sorted(by_namespace.items())
    ]
    refused = [
        InputError(f"{access.context}/{_as_name(kind)}", f"not listed: {reason}")
        for kind, reason in found.refused
    ]
    sources = (*map(InputSource, files), *map(InputSource, refused))
    return ClusterInputs(sources, access.context)


def read_clusters(contexts: Sequence[str], *, allow_exec: bool) -> Iterator[ClusterInputs]:
    """Yield what each of the contexts has. Raises ``ClusterError``."""
    seen: set[str] = set()
    for context in contexts:
        found = read_cluster(context, allow_exec=allow_exec)
        if found.context in seen:
            raise ClusterError(f"context {found.context} is named twice")
        seen.add(found.context)
        yield found


def _as_name(text: str) -> str:
    return text.replace("/", "_")


def _as_text(objects: list[dict[str, Any]]) -> bytes:
    texts = (json.dumps(each, indent=1, ensure_ascii=False) for each in objects)
    return "\n---\n".join(texts).encode(errors="replace") + b"\n"
