"""Flux's Kustomizations and HelmReleases.

Source: Flux' API reference, kustomize.toolkit.fluxcd.io/v1 and helm.toolkit.fluxcd.io/v2.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any, Final

from shutdownlint.gitops.deployment import Deployment, find_file, find_folder
from shutdownlint.manifests.decoding import value_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.manifests.document import NodeRef

#: Settings of a HelmRelease whose effect the files need not show.
_CHANGING: Final = ("valuesFrom", "postRenderers")
#: Settings that act as those of a kustomization of the same name, but for the first.
_OVERRIDES: Final = {
    "namespace": ("spec", "targetNamespace"),
    **{
        name: ("spec", name)
        for name in ("patches", "patchesJson6902", "images", "namePrefix", "nameSuffix")
    },
}


def read_kustomization(ref: NodeRef, data: Any) -> Iterator[Deployment]:
    """Read the deployments that a Kustomization describes."""
    path = value_at(data, "spec", "path")
    name = value_at(data, "metadata", "name")
    repository = value_at(data, "spec", "sourceRef", "kind") in (None, "GitRepository")
    folder = find_folder(ref.document.file, path or "./") if _is_text(path) and repository else ""
    components, build = value_at(data, "spec", "components"), value_at(data, "spec", "postBuild")
    variables = value_at(build, "substitute") if isinstance(build, dict) else None
    yield Deployment(
        f"Kustomization {name}",
        ref,
        folder,
        overrides={key: place for key, place in _OVERRIDES.items() if value_at(data, *place)},
        components=tuple(each for each in components if _is_text(each))
        if isinstance(components, list)
        else (),
        variables={str(key): _shown(value) for key, value in variables.items()}
        if isinstance(variables, dict)
        else None,
        unknown=("substituteFrom",) if value_at(build, "substituteFrom") else (),
        with_folders_below=True,
    )


def read_release(ref: NodeRef, data: Any) -> Iterator[Deployment]:
    """Read the deployments that a HelmRelease describes."""
    chart = ("spec", "chart", "spec")
    path, kind = value_at(data, *chart, "chart"), value_at(data, *chart, "sourceRef", "kind")
    name, own = value_at(data, "metadata", "name"), value_at(data, "metadata", "namespace")
    target = value_at(data, "spec", "targetNamespace")
    file = ref.document.file
    folder = find_folder(file, path) if kind == "GitRepository" and _is_text(path) else ""
    prefix = f"{target}-" if _is_text(target) else ""
    release = value_at(data, "spec", "releaseName") or f"{prefix}{name}"
    files = value_at(data, *chart, "valuesFiles")
    values = [
        found
        for each in (files if isinstance(files, list) else ())
        if isinstance(each, str)
        and (found := find_file(file, each) or find_file(file, posixpath.join(path or "", each)))
    ]
    yield Deployment(
        f"HelmRelease {name}",
        ref,
        folder,
        target or own,
        release if _is_text(release) else None,
        tuple(values),
        inline=value_at(data, "spec", "values"),
        inline_source=ref / "spec" / "values",
        unknown=tuple(key for key in _CHANGING if value_at(data, "spec", key)),
    )


def _shown(value: Any) -> str:
    """Return a value as it is put into a text."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)
