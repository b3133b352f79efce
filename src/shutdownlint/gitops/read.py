"""Finds the objects of Argo CD and Flux among the files of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shutdownlint.gitops import argo_cd, flux
from shutdownlint.gitops.words import has_word, text_with_deployments
from shutdownlint.manifests.objects import object_places
from shutdownlint.manifests.parser import Parser
from shutdownlint.manifests.reader import ReadStats
from shutdownlint.manifests.splitter import split
from shutdownlint.yaml_source.errors import BudgetExceededError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shutdownlint.gitops.deployment import Deployment
    from shutdownlint.manifests.discovery import InputFile
    from shutdownlint.manifests.document import Document

_READERS: Final = {
    ("argoproj.io", "Application"): argo_cd.read_application,
    ("argoproj.io", "ApplicationSet"): argo_cd.read_set,
    ("kustomize.toolkit.fluxcd.io", "Kustomization"): flux.read_kustomization,
    ("helm.toolkit.fluxcd.io", "HelmRelease"): flux.read_release,
}


def read_deployments(files: Iterable[InputFile]) -> list[Deployment]:
    """Everything that objects of Argo CD and Flux in these files deploy."""
    parser, ignored = Parser(), ReadStats()
    found: list[Deployment] = []
    for file in files:
        for chunk in split(text_with_deployments(file)):
            if has_word(chunk.data):
                for document in parser.documents(file.display_path, chunk, ignored):
                    document.cache = None
                    found += _of_document(document)
    return found


def _of_document(document: Document) -> Iterator[Deployment]:
    try:
        for at in object_places(document):
            data = document.tree.to_python(at)
            group = str(data.get("apiVersion", "")).partition("/")[0]
            read = _READERS.get((group, str(data.get("kind"))))
            if read is not None:
                yield from read(document.ref(*at), data)
    except BudgetExceededError:
        return  # reading the manifests reports it
