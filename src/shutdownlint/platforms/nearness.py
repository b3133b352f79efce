"""The choice between several objects that contradict each other: the nearest in the folders."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from shutdownlint.manifests.object_index import LoadedResource
    from shutdownlint.manifests.resources import Resource

_Item = TypeVar("_Item")
_Model = TypeVar("_Model", bound="Resource")


def nearest(items: Sequence[_Item], file: str, file_of: Callable[[_Item], str]) -> list[_Item]:
    """Return the items whose files share most leading folders with ``file``, its own file first."""
    if len(items) < 2:
        return list(items)
    ranked = [(_closeness(file, file_of(item)), item) for item in items]
    best = max(closeness for closeness, _ in ranked)
    return [item for closeness, item in ranked if closeness == best]


def nearest_of_each(
    items: Sequence[LoadedResource[_Model]], file: str, *, agreed: bool = False
) -> list[LoadedResource[_Model]]:
    """Return the objects; of those with the same name (in several environments), only the nearest.

    ``agreed``: where several in other folders are equally near and not the same, none of them.
    """
    if len(items) < 2:
        return list(items)
    by_name: dict[str | None, list[LoadedResource[_Model]]] = {}
    for item in items:
        by_name.setdefault(item.model.metadata.name, []).append(item)
    found: list[LoadedResource[_Model]] = []
    for same in by_name.values():
        near = nearest(same, file, lambda item: item.ref.document.file)
        folders = {_folder(item.ref.document.file) for item in near}
        if not agreed or len(folders) == 1 or all(item.model == near[0].model for item in near):
            found += near
    return found


def are_deployed_together(file: str, others: Collection[str]) -> bool:
    """Whether the folders show that one of the other files is deployed with ``file``.

    They do where it is in the same folder, above or below, or in the only neighbour that has one.
    """
    one = _folders(file)
    folders = [_folders(other) for other in others]
    if any(folder[: len(one)] == one or one[: len(folder)] == folder for folder in folders):
        return True
    return all(folder == folders[0] and folder[:-1] == one[:-1] for folder in folders)


def _closeness(file: str, other: str) -> int:
    if file == other:
        return 1000
    shared = 0
    for one, two in zip(_folders(file), _folders(other), strict=False):
        if one != two:
            break
        shared += 1
    return shared


def _folder(file: str) -> str:
    return file.rpartition("/")[0]


def _folders(file: str) -> list[str]:
    return file.removeprefix("./").split("/")[:-1]
