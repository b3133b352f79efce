"""The files of a run with the renderings of the charts and kustomizations among them."""

from __future__ import annotations

import os
import posixpath
from typing import TYPE_CHECKING

from shutdownlint.kustomize.repository import Repository
from shutdownlint.manifests.discovery import CHART_FILE, STDIN
from shutdownlint.rendering.render import Renderer
from shutdownlint.rendering.targets import find_targets, is_chart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shutdownlint.manifests.loader import InputSource
    from shutdownlint.rendering.targets import RenderOptions


def add_renderings(
    sources: list[InputSource], paths: Sequence[str], options: RenderOptions
) -> list[InputSource]:
    """The files, and the renderings; the files of a chart that was rendered are left out."""
    roots = {build.root.folder for build in Repository(sources, options.exclude).tree.roots()}
    targets = [
        target
        for target in find_targets([path for path in paths if path != STDIN], options)
        if is_chart(target.path) or target.path in roots
    ]
    made = list(Renderer(options, os.environ).render(targets))
    charts = {
        posixpath.dirname(source.rendered)
        for source in made
        if posixpath.basename(source.rendered) == CHART_FILE
    }
    return [*(source for source in sources if not _is_below(source, charts)), *made]


def _is_below(source: InputSource, folders: set[str]) -> bool:
    """Whether a file is in one of these folders, or in a folder in it."""
    folder = posixpath.normpath(source.file.display_path)
    while folder not in ("", "/", ".", ".."):
        folder = posixpath.dirname(folder)
        if folder in folders:
            return True
    return False
