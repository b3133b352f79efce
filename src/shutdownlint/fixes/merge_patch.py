"""A strategic merge patch that makes the suggested changes to a workload."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shutdownlint.manifests.reader import decode_text
from shutdownlint.manifests.splitter import split
from shutdownlint.yaml_source.composer import compose
from shutdownlint.yaml_source.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.yaml_source.location import KeyPath


def make_patch(pod: PlannedPod, texts: Mapping[str, bytes]) -> dict[str, Any] | None:
    """Return the strategic merge patch that turns the workload's object into that of ``texts``."""
    before, after = _before_and_after(pod, texts)
    if before == after:
        return None
    written = before.get("metadata")
    if not isinstance(written, dict) or "name" not in written:
        return None  # generateName, or no name at all: nothing that a patch could name
    names = {key: before[key] for key in ("apiVersion", "kind")}
    metadata = {k: v for k, v in written.items() if k in ("name", "namespace")}
    # Strategic merges know the lists of the API's own kinds only.
    merges = before["apiVersion"] in _OWN_KINDS
    changed = _difference(before, after, merges=merges)
    return {**names, **changed, "metadata": {**changed.get("metadata", {}), **metadata}}


def changed_entries(pod: PlannedPod, texts: Mapping[str, bytes]) -> Iterator[tuple[KeyPath, Any]]:
    """Yield entries of the workload's object that differ in ``texts``, with their new values."""
    before, after = _before_and_after(pod, texts)
    for key_path, value in _changed(before, after, ()):
        yield (*pod.workload.object_ref.key_path, *key_path), value


def _before_and_after(pod: PlannedPod, texts: Mapping[str, bytes]) -> tuple[Any, Any]:
    """Return the workload's object as it is written, and as it is in ``texts``."""
    ref = pod.workload.object_ref
    document = ref.document.written
    before = document.tree.to_python(ref.key_path)
    if document.file not in texts:
        return before, before
    chunk = next(c for c in split(texts[document.file]) if c.index == document.index)
    after = Tree(compose(decode_text(chunk.data))[document.number]).to_python(ref.key_path)
    return before, after


def _changed(before: Any, after: Any, at: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys((*before, *after)):
            if key not in before or key not in after:
                yield (*at, key), after.get(key)
            else:
                yield from _changed(before[key], after[key], (*at, key))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _changed(old, new, (*at, index))
    elif before != after:
        yield at, after


#: Versions whose lists kustomize merges by name; any other list is replaced whole.
_OWN_KINDS: Final = frozenset(("v1", "apps/v1", "batch/v1", "batch/v1beta1"))


def _difference(before: dict[str, Any], after: dict[str, Any], *, merges: bool) -> dict[str, Any]:
    """Return the merge patch that turns the first into the second."""
    found: dict[str, Any] = {key: None for key in before if key not in after}
    for key, value in after.items():
        old = before.get(key)
        if old == value:
            continue
        if isinstance(old, dict) and isinstance(value, dict):
            found[key] = _difference(old, value, merges=merges)
        elif merges and isinstance(old, list) and _named(old) and _named(value):
            own = {item["name"]: item for item in old}
            remaining = {item["name"] for item in value}
            found[key] = [
                {"name": item["name"], **_difference(own.get(item["name"], {}), item, merges=True)}
                for item in value
                if own.get(item["name"]) != item
            ] + [{"name": name, "$patch": "delete"} for name in own if name not in remaining]
        else:
            found[key] = value
    return found


def _named(data: Any) -> bool:
    return isinstance(data, list) and all(
        isinstance(item, dict) and isinstance(item.get("name"), str) for item in data
    )
