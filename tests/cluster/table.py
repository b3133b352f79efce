"""The stored results of the suites as tables, each disagreement with its seed."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import msgspec

from tests.cluster import drains, endpoints, jobs, pods, rollouts, starting
from tests.cluster.inside import RESULTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

RESULT_TYPES: dict[str, Any] = {
    "pods": list[pods.Comparison],
    "rollouts": list[rollouts.Outcome],
    "drains": list[drains.Result],
    "jobs": list[jobs.JobOutcome],
    "starting": list[pods.Comparison],
    "endpoints": list[endpoints.Measured],
    "endpoints-nftables": list[endpoints.Measured],
}


def write_table(only: str = "") -> str:
    """Return the tables of the suites that have results, for each version."""
    by_run: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for path in sorted(RESULTS.glob("*.json")):
        suite, version, _ = path.stem.rsplit("-", 2)
        if not only or suite == only:
            by_run[suite, version] += msgspec.json.decode(
                path.read_bytes(), type=RESULT_TYPES[suite]
            )
    lines: list[str] = []
    for (suite, version), found in sorted(by_run.items()):
        lines += ["", f"## {suite}, Kubernetes {version}", ""]
        lines += _WRITERS[suite](found, version)
    return "\n".join([*lines, ""])


def _pods(found: list[pods.Comparison], version: str) -> Iterable[str]:
    return _comparisons(found, lambda seed: pods.adapt(pods.generate(seed), version).kinds)


def _starting(found: list[pods.Comparison], _version: str) -> Iterable[str]:
    return _comparisons(found, lambda seed: starting.generate(seed).kinds)


def _comparisons(found: list[pods.Comparison], kinds: Callable[[int], list[str]]) -> Iterable[str]:
    counts: dict[str, Counter[bool]] = defaultdict(Counter)
    misses = []
    for pod in found:
        wrong_events, wrong_requests = pod.wrong_events, pod.wrong_requests
        for name in ("all", *kinds(pod.seed)):
            counts[f"events, {name}"].update(event not in wrong_events for event in pod.events)
            counts[f"requests, {name}"].update(r not in wrong_requests for r in pod.requests)
        for container, kind, predicted, seen in wrong_events:
            misses.append(
                f"- seed {pod.seed}: {kind} of {container} at {seen}s, predicted {predicted:g}s"
            )
        for (arrival, length, reused), outcomes, outcome in wrong_requests:
            request = f"{'kept ' if reused else ''}{length:g}s@{arrival:g}s"
            misses.append(
                f"- seed {pod.seed}: request {request}: {outcome}, "
                f"predicted {' or '.join(outcomes)}"
            )
        if pod.failure:
            misses.append(f"- seed {pod.seed}: did not run: {pod.failure}")
    ran = [pod for pod in found if not pod.failure]
    unsure = sum(pod.unsure for pod in ran)
    yield f"{len(ran)} of {len(found)} pods ran; {unsure} events and requests were not predicted."
    yield ""
    yield "| kind | as predicted | of |"
    yield "| --- | --- | --- |"
    for name, count in sorted(counts.items()):
        if count.total():
            yield f"| {name} | {count[True]} | {count.total()} |"
    yield from ["", *misses]


def _compared(found: list[rollouts.Outcome] | list[drains.Result], _version: str) -> Iterable[str]:
    agreed: Counter[str] = Counter()
    exact: Counter[str] = Counter()
    total: Counter[str] = Counter()
    misses = []
    for each in found:
        if each.failure:
            misses.append(f"- seed {each.seed} ({each.label}): did not run: {each.failure}")
            continue
        total[each.label] += 1
        agreed[each.label] += not each.misses
        exact[each.label] += each.is_exact
        misses += [f"- seed {each.seed} ({each.label}): {miss}" for miss in each.misses]
    yield f"{total.total()} of {len(found)} ran; {agreed.total()} as predicted."
    yield ""
    yield "| kind | as predicted | of | just as few pods served as predicted |"
    yield "| --- | --- | --- | --- |"
    for label in sorted(total):
        yield f"| {label} | {agreed[label]} | {total[label]} | {exact[label]} |"
    yield from ["", *misses]


def _jobs(found: list[jobs.JobOutcome], _version: str) -> Iterable[str]:
    by_label: dict[str, list[jobs.JobOutcome]] = defaultdict(list)
    misses = []
    for each in found:
        if each.failure:
            misses.append(f"- seed {each.seed} ({each.label}): did not run: {each.failure}")
            continue
        by_label[each.label].append(each)
        misses += [f"- seed {each.seed} ({each.label}): {miss}" for miss in each.misses]
    yield "| what ended the pod | Jobs | events as predicted | of | next pod after the end (s) |"
    yield "| --- | --- | --- | --- | --- |"
    for label, ran in sorted(by_label.items()):
        events = sum(len(each.compared.events) for each in ran)
        wrong = sum(len(each.compared.wrong_events) for each in ran)
        replaced = _range([each.replaced for each in ran if each.replaced is not None])
        yield f"| {label} | {len(ran)} | {events - wrong} | {events} | {replaced} |"
    yield from ["", *misses]


def _endpoints(found: list[endpoints.Measured], _version: str) -> Iterable[str]:
    yield "| what | EndpointSlice says so (s) | last new connection (s) | kept connections end (s) | lost |"
    yield "| --- | --- | --- | --- | --- |"
    for each in found:
        marked, last, kept = (_range(v) for v in (each.marked, each.last, each.kept))
        yield f"| {each.what} | {marked} | {last} | {kept} | {each.lost} of {each.sent} |"


def _range(values: list[float]) -> str:
    return f"{min(values):g} to {max(values):g}" if values else "none"


_WRITERS: dict[str, Any] = {
    "pods": _pods,
    "rollouts": _compared,
    "drains": _compared,
    "jobs": _jobs,
    "starting": _starting,
    "endpoints": _endpoints,
    "endpoints-nftables": _endpoints,
}
