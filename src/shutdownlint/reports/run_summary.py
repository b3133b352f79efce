"""The summary of a run: the losses of stops, and what they depend on."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from shutdownlint.linter.verdicts import NONE, NOT_JUDGED
from shutdownlint.platforms.registry import platform_title
from shutdownlint.shutdown.durations import format_duration
from shutdownlint.shutdown.loss import LossKind
from shutdownlint.wording import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shutdownlint.engine.finding import ReportedLoss
    from shutdownlint.linter.compare import Comparison
    from shutdownlint.linter.verdicts import WorkloadVerdict

#: The effects of a stop of one workload, and of several; the order of the parts.
_VERBS: Final = {
    LossKind.CUT.value: ("cuts requests in flight", "cut requests in flight"),
    LossKind.LATE.value: ("loses requests that arrive late", "lose requests that arrive late"),
    LossKind.LONG.value: ("cuts requests", "cut requests"),
    LossKind.OWN_CALLS.value: ("loses its own calls", "lose their own calls"),
    LossKind.WORK.value: ("cuts its work", "cut their work"),
    NONE: ("loses nothing", "lose nothing"),
    NOT_JUDGED: ("is not analysed", "are not analysed"),
}
#: Kinds of losses that name the settings that decide.
_WITH_SETTING: Final = (LossKind.CUT.value, LossKind.LONG.value)
#: Kinds that may concern only what takes longer than something.
_WITH_LENGTH: Final = (LossKind.LONG.value, LossKind.WORK.value)
#: Of the workloads that lose more so many are named.
_MOST_GROWN: Final = 10
#: Of the settings that decide so many are named.
_MOST: Final = 3


def describe_change(ref: str, comparison: Comparison) -> Iterator[str]:
    """Yield what a change makes worse, the workloads one by one."""
    worse, better = len(comparison.worse), comparison.better
    text = f"since {ref}: {plural(len(comparison.changed), 'file')} changed"
    parts = [f"{plural(worse, 'workload')} {'loses' if worse == 1 else 'lose'} more"]
    parts += [f"{better:,} {'loses' if better == 1 else 'lose'} less"] if better else []
    if comparison.reached:
        parts.append(f"{plural(comparison.reached, 'workload')} of other files among them")
    yield f"{text}; {', '.join(parts)}"
    for grown in comparison.worse[:_MOST_GROWN]:
        after, before = grown.after, grown.before
        was = "new" if before is None else _lost(before)
        where = " (its own file is unchanged)" if grown.elsewhere else ""
        more = "loses more" if grown.is_sure else "loses more, perhaps"
        yield f"{more}: {after.title} ({after.region}): {_lost(after)}; before: {was}{where}"
    if worse > _MOST_GROWN:
        yield f"loses more: {plural(worse - _MOST_GROWN, 'more workload')}"


def _lost(verdict: WorkloadVerdict) -> str:
    if not verdict.losses:
        return verdict.reason or "nothing"
    return ", ".join(dict.fromkeys(loss.text for loss in verdict.losses))


def loses_nothing(verdicts: Sequence[WorkloadVerdict]) -> bool:
    """Whether it is known of every workload that its stop loses nothing."""
    return all(verdict.lost == NONE for verdict in verdicts)


def describe_losses(verdicts: Sequence[WorkloadVerdict]) -> str | None:
    """Describe the losses of stops, each workload by its worst; None without workloads."""
    if not verdicts:
        return None
    by_outcome: dict[str, list[WorkloadVerdict]] = {}
    for verdict in verdicts:
        by_outcome.setdefault(verdict.lost, []).append(verdict)
    parts = [
        _describe_outcome(name, own, "" if number else f" of {plural(len(verdicts), 'workload')}")
        for number, (name, own) in enumerate(
            (name, by_outcome[name]) for name in _VERBS if name in by_outcome
        )
    ]
    return f"at a stop: {', '.join(parts)}"


def _describe_outcome(name: str, verdicts: Sequence[WorkloadVerdict], of_all: str) -> str:
    one, several = _VERBS[name]
    text = f"{len(verdicts):,}{of_all} {one if len(verdicts) == 1 else several}"
    parts = [verdict.losses[0] for verdict in verdicts if verdict.losses]
    lengths = sorted({part.longer_than for part in parts})
    limited = name in _WITH_LENGTH and bool(lengths[0])
    if limited:
        bounds = dict.fromkeys((lengths[0], lengths[-1]))
        text += f" longer than {' to '.join(map(format_duration, bounds))}"
    details = [_name_most(part.setting for part in parts)] if name in _WITH_SETTING else []
    if name == NOT_JUDGED:
        details.append(_name_most(verdict.reason for verdict in verdicts))
    unsure = sum(not (part.certain if limited else part.is_sure) for part in parts)
    if unsure:
        details.append("perhaps" if unsure == len(parts) else f"{unsure:,} of them perhaps")
    return f"{text} ({'; '.join(details)})" if details else text


def _name_most(texts: Iterable[str]) -> str:
    """Return the most frequent ones."""
    counts = Counter(texts)
    names = [name for name, _ in counts.most_common(_MOST)]
    more = len(counts) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")


def describe_assumptions(verdicts: Sequence[WorkloadVerdict]) -> str | None:
    """Describe what the verdicts depend on although no file shows it, and how to state it."""
    programs = {program for verdict in verdicts for program in verdict.programs}
    open_mesh = [verdict for verdict in verdicts if verdict.mesh_is_open]
    open_p99 = sum(verdict.p99_is_open for verdict in verdicts)
    assumed, remedies = [], []
    if programs:
        many = len(programs) > 1
        whose = f"the programs of {len(programs):,} images" if many else "the program of 1 image"
        assumed.append(f"{whose} {'finish what they have' if many else 'finishes what it has'}")
    if open_mesh:
        assumed.append(f"no mesh for {plural(len(open_mesh), 'workload')}")
        assumed[-1] += "".join(f" ({text})" for text in _describe_hints(open_mesh))
    parts = [f"assumed: {', '.join(assumed)}"] if assumed else []
    if open_p99:
        workloads = plural(open_p99, "workload")
        parts.append(f"not known: how long requests take ({workloads})")
        remedies.append("--p99")
    remedies += ["--mesh"] if open_mesh else []
    if not parts:
        return None
    say = f"say {', '.join(remedies)}" if remedies else ""
    init = "run 'shutdownlint init'; 'shutdownlint verify' tests it" if programs else ""
    return "; ".join([*parts, " or ".join(filter(None, (say, init)))])


def describe_webhooks(verdicts: Sequence[WorkloadVerdict]) -> str | None:
    """Describe the webhooks and policies that may change pods, and are not applied."""
    changed = [verdict for verdict in verdicts if verdict.webhooks]
    if not changed:
        return None
    names = _name_most(name for verdict in changed for name in verdict.webhooks)
    return f"not applied: {names}, which may change {plural(len(changed), 'workload')}"


def _describe_hints(verdicts: Sequence[WorkloadVerdict]) -> Iterator[str]:
    """Yield what would be lost in the meshes that objects nearby leave open."""
    found: dict[str, list[ReportedLoss]] = {}
    for verdict in verdicts:
        if verdict.hinted is not None and verdict.hinted.loss is not None:
            found.setdefault(verdict.hinted.mesh, []).append(verdict.hinted.loss)
    for mesh, parts in found.items():
        text = Counter(part.text for part in parts).most_common(1)[0][0]
        yield f"in {platform_title(mesh)}'s, {len(parts):,} of them lose: {text}"


def list_open_questions(verdicts: Sequence[WorkloadVerdict]) -> Iterator[str]:
    """Yield the workloads and images behind the assumptions, for those who ask for everything."""
    programs: Counter[str] = Counter(p for verdict in verdicts for p in verdict.programs)
    if programs:
        yield f"assumed to finish what it has, the program of: {', '.join(sorted(programs))}"
    for verdict in verdicts:
        if verdict.mesh_is_open and verdict.hinted is not None:
            loss = verdict.hinted.loss
            lost = loss.text if loss is not None else "nothing more is lost"
            mesh = platform_title(verdict.hinted.mesh)
            yield f"if {verdict.title} is in {mesh}'s mesh: {lost} ({verdict.region})"
