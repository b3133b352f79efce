"""The charts and kustomizations to render, each as it is deployed to an environment."""

from __future__ import annotations

import os
import posixpath
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from shutdownlint.manifests.discovery import (
    CHART_FILE,
    KUSTOMIZATION_NAMES,
    SKIPPED_FOLDERS,
    display_path,
    is_excluded,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shutdownlint.manifests.document import Source


class RenderTarget(Struct, frozen=True):
    """A chart or kustomization, and how it is rendered.

    ``variant`` is the environment, of several. ``values`` are files, the last one wins;
    ``settings`` are those of ``--set``. ``inline`` are further values, which win over the files,
    as they are written in ``inline_source``.
    """

    path: str
    variant: str = ""
    release: str | None = None
    namespace: str | None = None
    values: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    inline: str = ""
    inline_source: Source | None = None

    @property
    def file(self) -> str:
        """The file that makes its folder a chart or a kustomization."""
        names = (CHART_FILE, *KUSTOMIZATION_NAMES)
        paths = (posixpath.normpath(posixpath.join(self.path, name)) for name in names)
        return next(filter(os.path.isfile, paths), self.path)


class RenderOptions(Struct, frozen=True):
    """The user's options for rendering.

    ``targets`` are those of the configuration; a chart without one is rendered with the values of
    the command line. ``network``: what a kustomization names may be fetched.
    """

    enabled: bool = False
    targets: tuple[RenderTarget, ...] = ()
    values: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    release: str | None = None
    namespace: str | None = None
    kubernetes: str | None = None
    network: bool = False
    exclude: Sequence[str] = ()


def find_targets(paths: Sequence[str], options: RenderOptions) -> list[RenderTarget]:
    """Everything that is rendered below these paths."""
    known: dict[str, list[RenderTarget]] = {}
    for target in options.targets:
        known.setdefault(posixpath.normpath(target.path), []).append(target)
    found: list[RenderTarget] = []
    for path in paths:
        for folder in _folders(path, options.exclude):
            own = known.get(posixpath.normpath(folder), [RenderTarget(folder)])
            found += [_with_defaults(target, options) for target in own]
    return list({(t.path, t.variant): t for t in found}.values())


def is_chart(folder: str) -> bool:
    """Whether a folder is a chart."""
    return os.path.isfile(posixpath.join(folder, CHART_FILE))  # noqa: PTH113 - display paths


def _with_defaults(target: RenderTarget, options: RenderOptions) -> RenderTarget:
    """Return a target with what the command line says for all; that wins."""
    return replace(
        target,
        release=options.release or target.release,
        namespace=target.namespace or options.namespace,
        values=(*target.values, *options.values),
        settings=(*target.settings, *options.settings),
    )


def _folders(path: str, exclude: Sequence[str]) -> Iterator[str]:
    """Charts and kustomizations; a chart in a chart is a dependency, rendered with it."""
    for folder, folders, files in os.walk(path):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
        shown = posixpath.normpath(display_path(folder))
        if is_excluded(f"{shown}/{CHART_FILE}", exclude):
            continue
        if CHART_FILE in files:
            folders.clear()
            yield shown
        elif any(name in files for name in KUSTOMIZATION_NAMES):
            yield shown
