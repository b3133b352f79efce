"""The smallest consistent set of settings for each workload, and the edits that write it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from shutdownlint.fixes.apply import edits_for, splice
from shutdownlint.fixes.fix import Change
from shutdownlint.fixes.location import EditLocation
from shutdownlint.fixes.verify import VerificationError, check_piece, expected
from shutdownlint.manifests.reader import decode
from shutdownlint.manifests.splitter import split
from shutdownlint.platforms.edit_targets import slots_of
from shutdownlint.shutdown.solver import Aims, solve
from shutdownlint.yaml_source.composer import compose
from shutdownlint.yaml_source.editor import EditError, applied
from shutdownlint.yaml_source.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import timedelta

    from shutdownlint.platforms.planner import Pod
    from shutdownlint.shutdown.solver import Solution
    from shutdownlint.yaml_source.editor import Edit


class Suggestion(Struct):
    """What one workload should be changed to.

    ``pieces`` are the edits, by file and the part of it that they count in; ``refused`` says why
    there are none.
    """

    pod: Pod
    solution: Solution
    changes: list[Change] = field(default_factory=list)
    pieces: dict[tuple[str, int], list[Edit]] = field(default_factory=dict)
    refused: str = ""


def suggestions(
    pods: Iterable[Pod],
    p99: timedelta | None,
    propagation: timedelta | None,
    *,
    rendered: bool = False,
) -> list[Suggestion]:
    """One for each pod whose shutdown is planned; ``rendered``: of what Helm rendered, too."""
    found = []
    for pod in pods:
        if pod.plan is not None:
            aims = Aims.of(pod.plan, p99, propagation)
            suggestion = Suggestion(pod, solve(pod.plan, aims))
            try:
                _work_out(suggestion, rendered=rendered)
            except (EditError, VerificationError) as error:
                suggestion.pieces, suggestion.refused = {}, str(error)
            found.append(suggestion)
    return found


def _work_out(suggestion: Suggestion, *, rendered: bool) -> None:
    slots = slots_of(suggestion.pod)
    for wanted in suggestion.solution.changes:
        location = slots.get(wanted.container, {}).get(wanted.field)
        if location is None:
            raise EditError(f"{wanted.old.name} cannot be changed from here")
        suggestion.changes.append(Change("set", wanted.field, location, wanted.value))
    suggestion.pieces = edits_for(suggestion.changes, rendered=rendered)
    for change in suggestion.changes:
        document = EditLocation.of(change.location).ref.document
        piece = (document.file, document.start)
        new = applied(document.text, suggestion.pieces[piece])
        check_piece(document.text, new, expected(suggestion.changes))


def changed_files(found: Iterable[Suggestion], originals: Mapping[str, bytes]) -> dict[str, bytes]:
    """The new bytes of every file that the suggestions change."""
    pieces: dict[str, dict[int, list[Edit]]] = {}
    for one in found:
        for (file, start), edits in one.pieces.items():
            pieces.setdefault(file, {}).setdefault(start, []).extend(edits)
    return {file: splice(originals[file], own) for file, own in pieces.items()}


def patch(suggestion: Suggestion, texts: Mapping[str, bytes]) -> dict[str, Any] | None:
    """A strategic merge patch that makes of the workload's own object what ``texts`` have."""
    ref = suggestion.pod.workload.object_ref
    document = ref.document
    if document.file not in texts:
        return None
    chunk = next(c for c in split(texts[document.file]) if c.index == document.index)
    before = document.tree.plain(ref.key_path)
    after = Tree(compose(decode(chunk.data))[document.number]).plain(ref.key_path)
    if before == after:
        return None
    if "name" not in before["metadata"]:  # generateName: nothing that a patch could name
        return None
    names = {key: before[key] for key in ("apiVersion", "kind")}
    metadata = {k: v for k, v in before["metadata"].items() if k in ("name", "namespace")}
    # Strategic merges know the lists of the API's own kinds only.
    merges = ref.document.tree.plain((*ref.key_path, "apiVersion")) in _OWN_KINDS
    changed = _difference(before, after, merges=merges)
    return {**names, **changed, "metadata": {**changed.get("metadata", {}), **metadata}}


#: Versions whose lists kustomize merges by name; any other list is replaced whole.
_OWN_KINDS: Final = frozenset(("v1", "apps/v1", "batch/v1", "batch/v1beta1"))


def _difference(before: dict[str, Any], after: dict[str, Any], *, merges: bool) -> dict[str, Any]:
    """What a merge makes of the first to get the second."""
    found: dict[str, Any] = {key: None for key in before if key not in after}
    for key, value in after.items():
        old = before.get(key)
        if old == value:
            continue
        if isinstance(old, dict) and isinstance(value, dict):
            found[key] = _difference(old, value, merges=merges)
        elif merges and isinstance(old, list) and _named(old) and _named(value):
            own = {item["name"]: item for item in old}
            kept = {item["name"] for item in value}
            found[key] = [
                {"name": item["name"], **_difference(own.get(item["name"], {}), item, merges=True)}
                for item in value
                if own.get(item["name"]) != item
            ] + [{"name": name, "$patch": "delete"} for name in own if name not in kept]
        else:
            found[key] = value
    return found


def _named(data: Any) -> bool:
    return isinstance(data, list) and all(isinstance(i, dict) and "name" in i for i in data)
