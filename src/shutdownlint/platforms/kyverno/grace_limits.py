"""Kyverno policies among the files that limit the grace period.

Read are validation patterns of rules that match Pods (or the workload's kind) by kind alone: with
more conditions it is not certain that a rule is about a pod.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shutdownlint.numbers import clip_whole
from shutdownlint.patterns import lazy_pattern
from shutdownlint.platforms.kyverno.resources import KyvernoPolicy
from shutdownlint.platforms.pods.containers import GRACE_FIELD
from shutdownlint.shutdown.durations import seconds
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import timedelta

    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.context import AnalysisContext

#: ``=(key)``: what holds if the key is there.
_ANCHOR: Final = lazy_pattern(r"=\((.+)\)")
#: ``(key)``, ``<(key)``: conditions of the rule; ``X(key)``, ``^(key)`` say something else.
_CONDITION: Final = lazy_pattern(r"[<X^]?\(")
_LIMIT: Final = lazy_pattern(r"\s*+(<=|<)?\s*+([0-9]{1,9})\s*|\s*+[0-9]{1,9}\s*-\s*([0-9]{1,9})\s*")
_MAX_SECONDS: Final = 10**9


def policy_max_grace(workload: Workload, context: AnalysisContext) -> Setting[timedelta] | None:
    """Return the longest grace period that the policies among the files allow."""
    namespace = workload.namespace
    limits = []
    for loaded in context.index.all_of(KyvernoPolicy):
        theirs = loaded.model.metadata
        if theirs.namespace is not None and theirs.namespace != namespace:
            continue
        for index, rule in loaded.model.patterns.items():
            if _covers_kind(rule, workload.id.kind):
                here = loaded.ref / "spec" / "rules" / index / "validate" / "pattern"
                label = f"policy {theirs.name}"
                limits += list(_limits(rule["validate"]["pattern"], here, label))
    return min(limits, key=lambda limit: limit.value, default=None)


def _covers_kind(rule: dict[str, Any], kind: str) -> bool:
    """Whether the rule is for all objects of a kind that the workload is or makes."""
    if rule.get("exclude") or rule.get("preconditions"):
        return False
    match = rule.get("match")
    if not isinstance(match, dict):
        return False
    if set(match) <= {"any"} and isinstance(match.get("any"), list):
        return any(_filter_covers(each, kind) for each in match["any"])
    if set(match) <= {"all"} and isinstance(match.get("all"), list):
        return all(_filter_covers(each, kind) for each in match["all"])
    return _filter_covers(match, kind)


def _filter_covers(each: Any, kind: str) -> bool:
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


def _limits(pattern: Any, ref: NodeRef, label: str, depth: int = 0) -> Iterator[Setting[timedelta]]:
    if depth > 8 or not isinstance(pattern, dict):
        return
    if any(_CONDITION.match(key) for key in pattern) or (depth == 0 and set(pattern) != {"spec"}):
        return  # the rule asks for more before it is about a pod
    for key, value in pattern.items():
        anchored = _ANCHOR.fullmatch(key)
        name = anchored.group(1) if anchored else key
        if name == GRACE_FIELD:
            found = _LIMIT.fullmatch(str(value))
            if found is not None:
                strict, number, top = found.groups()
                most = clip_whole(number or top, _MAX_SECONDS) - (1 if strict == "<" else 0)
                origin = Origin(OriginKind.INHERITED, label, ref / key)
                yield Setting("grace limit", seconds(most), origin)
        elif name in ("spec", "template"):
            yield from _limits(value, ref / key, label, depth + 1)
