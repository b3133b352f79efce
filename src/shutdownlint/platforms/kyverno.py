"""Kyverno policies among the files that limit the grace period.

Read are validation patterns of rules that match Pods (or the workload's kind) by kind alone: with
more conditions it is not certain that a rule is about a pod.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from shutdownlint.manifests.resources import KyvernoPolicy
from shutdownlint.platforms.homes import namespace_of
from shutdownlint.platforms.kubernetes.pods import GRACE
from shutdownlint.shutdown import Origin, OriginKind, Setting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.context import AnalysisContext

#: ``=(key)``: what holds if the key is there.
_ANCHOR: Final = re.compile(r"=\((.+)\)")
#: ``(key)``, ``<(key)``: conditions of the rule; ``X(key)``, ``^(key)`` say something else.
_CONDITION: Final = re.compile(r"[<X^]?\(")
_LIMIT: Final = re.compile(r"\s*(<=|<)?\s*([0-9]{1,9})\s*|\s*[0-9]{1,9}\s*-\s*([0-9]{1,9})\s*")
_LONGEST: Final = 10**9


def grace_cap(workload: Workload, world: AnalysisContext) -> Setting[timedelta] | None:
    """The longest grace period that the policies among the files allow."""
    namespace = namespace_of(workload)
    caps = []
    for located in world.objects.of(KyvernoPolicy):
        theirs = located.model.metadata
        if theirs.namespace is not None and theirs.namespace != namespace:
            continue
        for index, rule in located.model.patterns.items():
            if _about(rule, workload.id.kind):
                here = located.ref / "spec" / "rules" / index / "validate" / "pattern"
                told = f"policy {theirs.name}"
                caps += list(_caps(rule["validate"]["pattern"], here, told))
    return min(caps, key=lambda cap: cap.value, default=None)


def _about(rule: dict[str, Any], kind: str) -> bool:
    """Whether the rule is for all objects of a kind that the workload is or makes."""
    if rule.get("exclude") or rule.get("preconditions"):
        return False
    match = rule.get("match")
    if not isinstance(match, dict):
        return False
    if set(match) <= {"any"} and isinstance(match.get("any"), list):
        return any(_by_kind(each, kind) for each in match["any"])
    if set(match) <= {"all"} and isinstance(match.get("all"), list):
        return all(_by_kind(each, kind) for each in match["all"])
    return _by_kind(match, kind)


def _by_kind(each: Any, kind: str) -> bool:
    """Whether a filter is about all objects of that kind, or of the Pods that they make."""
    if not isinstance(each, dict) or set(each) != {"resources"}:
        return False
    resources = each["resources"]
    if not isinstance(resources, dict) or set(resources) != {"kinds"}:
        return False
    kinds = resources["kinds"]
    names = {str(name).rpartition("/")[2] for name in kinds} if isinstance(kinds, list) else set()
    # A rule for Pods is written out for the controllers that make them.
    return bool({"Pod", kind} & names)


def _caps(pattern: Any, ref: NodeRef, told: str, depth: int = 0) -> Iterator[Setting[timedelta]]:
    if depth > 8 or not isinstance(pattern, dict):
        return
    if any(_CONDITION.match(key) for key in pattern) or (depth == 0 and set(pattern) != {"spec"}):
        return  # the rule asks for more before it is about a pod
    for key, value in pattern.items():
        anchored = _ANCHOR.fullmatch(key)
        name = anchored.group(1) if anchored else key
        if name == GRACE:
            found = _LIMIT.fullmatch(str(value))
            if found is not None:
                strict, number, top = found.groups()
                most = min(int(number or top), _LONGEST) - (1 if strict == "<" else 0)
                origin = Origin(OriginKind.INHERITED, told, ref / key)
                yield Setting("grace limit", timedelta(seconds=most), origin)
        elif name in ("spec", "template"):
            yield from _caps(value, ref / key, told, depth + 1)
