"""A strategic merge patch that makes the suggested changes to a workload."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shutdownlint.manifests.reader import decode_text
from shutdownlint.manifests.splitter import split
from shutdownlint.yaml_source.composer import compose
from shutdownlint.yaml_source.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shutdownlint.platforms.planned_pod import PlannedPod


def make_patch(pod: PlannedPod, texts: Mapping[str, bytes]) -> dict[str, Any] | None:
    """A strategic merge patch that turns the workload's own object into that of ``texts``."""
    ref = pod.workload.object_ref
    document = ref.document.written
    if document.file not in texts:
        return None
    chunk = next(c for c in split(texts[document.file]) if c.index == document.index)
    before = document.tree.to_python(ref.key_path)
    after = Tree(compose(decode_text(chunk.data))[document.number]).to_python(ref.key_path)
    if before == after:
        return None
    if "name" not in before["metadata"]:  # generateName: nothing that a patch could name
        return None
    names = {key: before[key] for key in ("apiVersion", "kind")}
    metadata = {k: v for k, v in before["metadata"].items() if k in ("name", "namespace")}
    # Strategic merges know the lists of the API's own kinds only.
    merges = document.tree.to_python((*ref.key_path, "apiVersion")) in _OWN_KINDS
    changed = _difference(before, after, merges=merges)
    return {**names, **changed, "metadata": {**changed.get("metadata", {}), **metadata}}


#: Versions whose lists kustomize merges by name; any other list is replaced whole.
_OWN_KINDS: Final = frozenset(("v1", "apps/v1", "batch/v1", "batch/v1beta1"))


def _difference(before: dict[str, Any], after: dict[str, Any], *, merges: bool) -> dict[str, Any]:
    """The merge patch that turns the first into the second."""
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
    return isinstance(data, list) and all(isinstance(i, dict) and "name" in i for i in data)
