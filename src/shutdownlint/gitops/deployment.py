"""A folder that Argo CD or Flux deploys: where it is, and with which settings."""

from __future__ import annotations

import os
import posixpath
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from shutdownlint import files
from shutdownlint.manifests.discovery import find_repository

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from shutdownlint.manifests.document import NodeRef, Source
    from shutdownlint.yaml_source.location import KeyPath


class Deployment(Struct, eq=False):
    """One folder, as one object deploys it.

    ``title`` names the object, ``ref`` is where it is written. ``folder`` is empty where it is not
    in the repository. ``namespace`` is that of what writes none. Of charts: ``release``, values
    files, ``parameters`` (options of helm), and ``inline`` values with their place.
    ``overrides`` are the places of settings that act as those of a kustomization.
    """

    title: str
    ref: NodeRef
    folder: str = ""
    namespace: str | None = None
    release: str | None = None
    values: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    inline: Any = None
    inline_source: Source | None = None
    overrides: Mapping[str, KeyPath] = field(default_factory=dict)
    #: Kustomize components of the folder that are used as well.
    components: tuple[str, ...] = ()
    #: The values that replace ``${name}`` in the manifests.
    variables: Mapping[str, str] | None = None
    #: The other changes to the manifests, which the files do not show.
    unknown: tuple[str, ...] = ()
    #: Where the folder has no kustomization, those of the folders below it are a part of it
    #: (fluxcd/pkg kustomize/kustomize_generator.go scans the folder and adds them as resources).
    with_folders_below: bool = False

    @property
    def places(self) -> dict[str, KeyPath]:
        """The places of the overrides in the object's document."""
        return {key: (*self.ref.key_path, *place) for key, place in self.overrides.items()}


def distinct_names(deployments: Sequence[Deployment]) -> list[str]:
    """Names for the deployments of one folder; one alone needs none."""
    if len(deployments) < 2:
        return ["" for _ in deployments]
    names = [each.title.partition(" ")[2] for each in deployments]
    if len(set(names)) == len(names):
        return names
    folders = [posixpath.dirname(each.ref.document.file) for each in deployments]
    if len(set(names)) == 1 and len(set(folders)) == len(folders):
        return name_variants(folders)  # one name in the folder of each cluster
    return [
        f"{name}@{each.ref.document.file}" for name, each in zip(names, deployments, strict=True)
    ]


def name_variants(folders: Sequence[str]) -> list[str]:
    """Names for folders by the parts that differ: ``prod`` and ``test`` of ``app/over/prod``."""
    split = [folder.split("/") for folder in folders]
    start = 0
    while all(len(parts) > start + 1 for parts in split) and len({p[start] for p in split}) == 1:
        start += 1
    end = 0
    while (
        all(len(parts) > start + end + 1 for parts in split)
        and len({parts[-1 - end] for parts in split}) == 1
    ):
        end += 1
    return ["/".join(parts[start : len(parts) - end]) or "." for parts in split]


def is_inside(file: str, path: str) -> bool:
    """Whether a path is in the repository of an object's file, links resolved."""
    root = files.real_path(find_repository(_path(file)))
    real = files.real_path(path)
    return real == root or real.startswith(f"{root}{os.sep}")


def find_folder(file: str, path: str) -> str:
    """Return the folder that a path of a repository means; empty if it does not exist.

    The repository's own root comes first, then every folder above the object's file: what is
    checked may be a copy of a part of it.
    """
    found = (each for each in _candidates(file, path) if files.is_folder(each))
    return next((each for each in found if is_inside(file, each)), "")


def find_file(file: str, path: str) -> str:
    """Return the file that a path of a repository means; empty if it does not exist."""
    found = (each for each in _candidates(file, path) if files.is_file(each))
    return next((each for each in found if is_inside(file, each)), "")


def repository_roots(file: str) -> list[str]:
    """Return the folders that paths of a repository may begin at, for an object in this file."""
    folder = posixpath.dirname(posixpath.normpath(file)) or "."
    found = [_root_as_written(file)]
    while folder not in ("", ".", "/") and not folder.endswith(".."):
        found.append(folder)
        folder = posixpath.dirname(folder)
    return [*dict.fromkeys([*found, "."])]


def _root_as_written(file: str) -> str:
    """Return the repository of a file: below the path as written, if that is absolute."""
    root = files.real_path(find_repository(_path(file)))
    above = posixpath.dirname(posixpath.normpath(file))
    while posixpath.isabs(file) and above != posixpath.dirname(above):
        if files.real_path(above) == root:
            return above
        above = posixpath.dirname(above)
    return os.path.relpath(root).replace(os.sep, "/")


def _candidates(file: str, path: str) -> Iterator[str]:
    relative = posixpath.normpath(path.lstrip("/") or ".")
    if relative.startswith(".."):
        return
    for root in repository_roots(file):
        yield posixpath.normpath(posixpath.join(root, relative))


def _path(file: str) -> Path:
    from pathlib import Path  # noqa: PLC0415 - a string everywhere else

    return Path(file)
