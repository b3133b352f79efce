"""The files of a run with the renderings of the charts and kustomizations among them."""

from __future__ import annotations

import json
import os
import posixpath
from typing import TYPE_CHECKING

from msgspec.structs import replace

from shutdownlint import files
from shutdownlint.gitops.deployment import distinct_names
from shutdownlint.gitops.read import read_deployments
from shutdownlint.kustomize.repository import Repository
from shutdownlint.manifests.discovery import CHART_FILE, STDIN, InputFile
from shutdownlint.rendering.render import Renderer
from shutdownlint.rendering.targets import RenderTarget, find_targets, is_chart

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shutdownlint.gitops.deployment import Deployment
    from shutdownlint.manifests.inputs import Inputs, InputSource
    from shutdownlint.rendering.targets import RenderOptions


def add_renderings(inputs: Inputs, paths: Sequence[str], options: RenderOptions) -> Inputs:
    """Return the files with the renderings, without those of charts that were rendered."""
    sources = [source for source in inputs.sources if not source.context]
    roots = {build.root.folder for build in Repository(sources, options.exclude).tree.roots()}
    own = [s.file for s in sources if isinstance(s.file, InputFile)]
    deployed = [
        each
        for each in read_deployments(own)
        if each.folder and is_chart(each.folder) and not each.unknown
    ]
    options = replace(options, targets=(*options.targets, *_targets(deployed)))
    folders = [path for path in paths if path != STDIN]
    # Charts that are deployed from here, also those that are not below the paths.
    folders += dict.fromkeys(each.folder for each in deployed)
    targets = [
        target
        for target in find_targets(folders, options)
        if is_chart(target.path) or target.path in roots
    ]
    files.disable_caching("it runs programs")
    made = list(Renderer(options, os.environ).render(targets))
    charts = {
        posixpath.dirname(source.rendered)
        for source in made
        if posixpath.basename(source.rendered) == CHART_FILE
    }
    left = [source for source in sources if not _is_below(source, charts)]
    context = (s for s in inputs.sources if s.context)
    return replace(inputs, sources=(*left, *made, *context))


def _targets(deployments: Sequence[Deployment]) -> Iterator[RenderTarget]:
    """Yield the charts that objects of Argo CD and Flux deploy, with the values that they give."""
    by_folder: dict[str, list[Deployment]] = {}
    for each in deployments:
        by_folder.setdefault(each.folder, []).append(each)
    for folder, own in by_folder.items():
        for name, each in zip(distinct_names(own), own, strict=True):
            yield RenderTarget(
                folder,
                name,
                each.release,
                each.namespace,
                each.values,
                each.parameters,
                json.dumps(each.inline) if each.inline else "",
                each.inline_source,
            )


def _is_below(source: InputSource, folders: set[str]) -> bool:
    """Whether a file is in one of these folders, or in a folder in it."""
    folder = posixpath.normpath(source.file.display_path)
    while folder not in ("", "/", ".", ".."):
        folder = posixpath.dirname(folder)
        if folder in folders:
            return True
    return False
