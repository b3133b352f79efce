"""Read the workloads of files, one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from shutdownlint.manifests.reader import read_bytes
from shutdownlint.manifests.snippets import why_skipped
from shutdownlint.manifests.workloads import as_it_runs, find_workloads

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shutdownlint.manifests.document import Document
    from shutdownlint.manifests.document_reader import DocumentReader
    from shutdownlint.manifests.kinds import KindTable
    from shutdownlint.manifests.object_index import ObjectIndex
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.manifests.world import WorkloadFile


def read_workloads(
    found: Iterable[WorkloadFile], kinds: KindTable, index: ObjectIndex, reader: DocumentReader
) -> Iterator[Workload]:
    """Yield the workloads, file by file; the nodes of a document live until the next one.

    Objects as a cluster gives them are one workload, with the pod as it runs.
    """
    for file in found:
        data = read_bytes(file.file, reader.stats)
        if data is None:
            continue
        if len(data) != file.size:
            reader.stats.fail(file.file.display_path, "changed while it was read")
            continue
        for part in file.chunks:
            counted = not part.seen and not file.again
            documents = reader.documents(
                file.source, file.file, part.of(data), counted=counted, first=counted
            )
            for document in documents:
                for workload in _read_document(document, kinds, reader, counted=counted):
                    live = as_it_runs(_in_namespace(workload, index), index.live)
                    if live is not None:
                        yield live
                document.release_nodes()


def _read_document(
    document: Document, kinds: KindTable, reader: DocumentReader, *, counted: bool
) -> Iterator[Workload]:
    count = 0
    try:
        for workload in find_workloads(document, kinds):
            count += 1
            yield workload
    except Exception as error:
        reader.note_failure(document, error)
        count += 1
    if not count and counted:
        reader.stats.skipped[why_skipped(document)] += 1


def _in_namespace(workload: Workload, index: ObjectIndex) -> Workload:
    """Return a workload with the namespace that it is deployed to."""
    namespace = index.namespaces.of(workload.namespace, workload.ref.document.file)
    own = workload.id
    if not own.namespace and namespace:
        own = replace(own, namespace=namespace)
    return replace(workload, id=own, assigned_namespace=namespace)
