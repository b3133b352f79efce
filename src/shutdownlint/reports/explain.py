"""The timeline of each pod, drawn for people and as JSON."""

from __future__ import annotations

import json
from datetime import timedelta
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from shutdownlint.reports.report import safe, to_seconds
from shutdownlint.shutdown import Outcome, Shutdown, written

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from shutdownlint.platforms.planner import Pod
    from shutdownlint.shutdown import Answer, Plan, Request, Timeline, Traffic

_ACCEPTS, _FINISHES, _LUCK, _GONE, _NOTHING = "█", "▒", "?", "┃", "·"
_PLAIN: Final = {"█": "#", "▒": "-", "?": "?", "┃": "!", "·": "."}
_COLOURS: Final = {
    Outcome.OK: "green",
    Outcome.CUT: "red",
    Outcome.REFUSED: "red",
    Outcome.UNAVAILABLE: "red",
    Outcome.UNKNOWN: "yellow",
}
_WIDEST: Final = 64


class Phase(Enum):
    """What a container does."""

    ACCEPTS = "accepts"
    FINISHES = "finishes what it has"
    LUCK = "may be gone (luck)"


def assumed(plan: Plan) -> list[str]:
    """Everything that was taken to be so."""
    proxy = plan.proxy.assumptions if plan.proxy else ()
    found = [str(assumption) for assumption in (*plan.assumptions, *proxy)]
    besides = [c.name for c in plan.containers if c.native_sidecar]
    if besides:
        names = ", ".join(besides)
        found.append(f"native sidecars ({names}) are not drawn: they are stopped after the app")
    if plan.uncertain:
        spans = [plan.grace, *(c.pre_stop for c in plan.containers)]
        spans += [plan.proxy.pre_stop] if plan.proxy else []
        found += [
            f"{setting.name}: {setting.shown} ({setting.origin}); drawn at its shortest"
            for setting in spans
            if not setting.value.known
        ]
    return found


def explain_json(pods: Sequence[Pod], requests: Sequence[Request], traffic: Traffic) -> str:
    """Version 1 of the explanation as JSON. Durations are seconds; headroom null is unbounded."""
    workloads = [_data(pod, pod.plan, requests, traffic) for pod in pods if pod.plan is not None]
    return json.dumps({"version": 1, "workloads": workloads}, indent=2, ensure_ascii=False) + "\n"


def drawn_of(shutdown: Shutdown, requests: Sequence[Request], traffic: Traffic) -> Timeline | None:
    """The timeline that is shown: with the requests asked about, else a telling one.

    A native proxy lives as long as the app, so without a request the app is taken to be busy to the
    end. None where the grace period is not known.
    """
    plan = shutdown.plan
    if plan.grace.value.high is None:
        return None
    native = plan.proxy is not None and not plan.proxy.stops_with_pod
    if requests or (traffic.idle and not native):
        return shutdown.timeline(requests, traffic)
    return shutdown.typical if native else shutdown.quiet


def _data(pod: Pod, plan: Plan, requests: Sequence[Request], traffic: Traffic) -> dict[str, Any]:
    shutdown = Shutdown(plan)
    headroom = shutdown.headroom
    drawn = drawn_of(shutdown, requests, traffic)
    region = pod.ref.region()
    return {
        "workload": {
            "kind": pod.id.kind,
            "namespace": pod.id.namespace,
            "name": pod.id.name,
        },
        "file": region.file,
        "line": region.line,
        "assumed": assumed(plan),
        "headroom": {
            "in_flight": None if headroom.in_flight is None else to_seconds(headroom.in_flight),
            "late": None if headroom.late is None else to_seconds(headroom.late),
            "late_at": to_seconds(headroom.late_at),
            "by": str(headroom.by),
            "late_by": str(headroom.late_by),
        },
        "rollout": _rollout(shutdown) if drawn else None,
        "events": [
            {
                "at": to_seconds(event.at),
                "container": event.container,
                "what": event.what,
                "because": str(event.because),
            }
            for event in (drawn.events() if drawn else ())
        ],
        "losses": [
            {
                "what": loss.kind,
                "from": to_seconds(loss.begins),
                "to": to_seconds(loss.ends),
                "by": str(loss.by),
            }
            for loss in shutdown.losses
        ],
        "requests": [
            {
                "outbound": answer.request.outbound,
                "arrives": to_seconds(answer.request.arrives),
                "lasts": to_seconds(answer.request.lasts),
                "outcome": answer.outcome.value,
                "at": to_seconds(answer.at),
                "by": str(answer.by),
                "chance": answer.chance,
            }
            for answer in (shutdown.ask(requests, traffic) if drawn else ())
        ],
    }


def _rollout(shutdown: Shutdown) -> dict[str, Any] | None:
    """What replacing all pods costs; seconds is null where the number of pods is not known."""
    if shutdown.plan.rollout is None:
        return None
    rollout = shutdown.plan.rollout.value
    waits = rollout.takes(shutdown.over)
    return {
        "strategy": rollout.way,
        "replicas": rollout.replicas,
        "waits": None if waits is None else to_seconds(waits),
        "told": rollout.told(shutdown.over),
    }


def explain_text(
    pods: Sequence[Pod], requests: Sequence[Request], traffic: Traffic, console: Console
) -> None:
    """Each pod's timeline: lanes, headroom, losses, the requests asked of it, and the events."""
    for pod in pods:
        if pod.plan is None:
            continue
        _pod(pod, pod.plan, requests, traffic, console)


def _pod(
    pod: Pod, plan: Plan, requests: Sequence[Request], traffic: Traffic, console: Console
) -> None:
    shutdown = Shutdown(plan)
    region = pod.ref.region()
    head = Text(safe(str(pod.id)), "bold")
    head.append(f"  {safe(region.file)}:{region.line}", "dim")
    console.print(head, soft_wrap=True)
    drawn = drawn_of(shutdown, requests, traffic)
    if drawn is None:
        why = f"no timeline without the grace period, which is a placeholder: {plan.grace.origin}"
        _line(console, "unknown", why, "")
        console.print()
        return
    for lane in _lanes(shutdown, drawn, console):
        console.print(lane, soft_wrap=True)
    headroom = shutdown.headroom
    _line(console, "in flight", room(headroom.in_flight), headroom.by.told_in(region.file))
    late = f"{room(headroom.late)}, arriving at {written(headroom.late_at)}"
    _line(console, "late", late, headroom.late_by.told_in(region.file))
    for loss in shutdown.losses:
        window = f"{written(loss.begins)} to {written(loss.ends)}"
        _line(console, "lost", f"{window}: {loss.kind}", loss.by.told_in(region.file), "red")
    for answer in shutdown.ask(requests, traffic):
        _line(
            console,
            "asked",
            f"{asked(answer)}: {told(answer)}",
            answer.by.told_in(region.file),
            _COLOURS[answer.outcome],
        )
    if plan.rollout is not None:
        _line(console, "rollout", "", plan.rollout.value.told(shutdown.over))
    for event in _events(drawn, region.file):
        console.print(event, soft_wrap=True)
    for text in assumed(plan):
        _line(console, "assumed", "", text)
    console.print()


def room(duration: timedelta | None) -> str:
    if duration is None:
        return "unbounded"
    return f"requests of up to {written(duration)}" if duration else "none is sure to be served"


def asked(answer: Answer) -> str:
    """The request of an answer."""
    what = "outbound call" if answer.request.outbound else "request"
    return f"{written(answer.request.lasts)} {what} at {written(answer.request.arrives)}"


def told(answer: Answer) -> str:
    if answer.outcome is Outcome.OK:
        return f"served, done at {written(answer.at)}"
    words = {
        Outcome.CUT: "cut",
        Outcome.REFUSED: "refused",
        Outcome.UNAVAILABLE: "answered 503",
        Outcome.UNKNOWN: "depends",
    }
    odds = "" if answer.chance is None else f", served in {answer.chance:.0%} of cases"
    return f"{words[answer.outcome]} at {written(answer.at)}{odds}"


def _line(console: Console, label: str, value: str, why: str, colour: str = "") -> None:
    line = Text(f"  {label:<10}")
    line.append(safe(value), colour or "bold")
    if why:
        line.append(f"{'  ' if value else ''}{safe(why)}", "dim")
    console.print(line, soft_wrap=True)


def _events(timeline: Timeline, file: str) -> list[Text]:
    rows = [
        (written(event.at), safe(event.container or "pod"), event.what, event.because)
        for event in timeline.events()
    ]
    widths = [max(len(str(row[column])) for row in rows) for column in range(3)]
    lines = []
    for at, container, what, because in rows:
        line = Text(f"  {at:>{widths[0]}}  ")
        line.append(f"{container:<{widths[1]}}  ", "bold")
        line.append(f"{what:<{widths[2]}}  ")
        line.append(safe(because.told_in(file)), "dim")
        lines.append(line)
    return lines


def _lanes(shutdown: Shutdown, drawn: Timeline, console: Console) -> list[Text]:
    """One lane a container: accepting, finishing only, gone; and the scale."""
    horizon = horizon_of(drawn)
    proxy = shutdown.plan.proxy
    names = [life.plan.name for life in drawn.lives] + ([proxy.name] if proxy else [])
    label = max(len(safe(name)) for name in [*names, "app"]) + 2
    width = max(20, min(_WIDEST, console.width - label - 12))
    plain = _plain(console)

    def lane(name: str, marks: list[tuple[timedelta, str, str]]) -> Text:
        text = Text(f"  {safe(name):<{label}}")
        gone = False
        for column in range(width):
            at = horizon * column / width
            symbol, colour = next(
                ((mark, colour) for until, mark, colour in marks if at < until), (_NOTHING, "dim")
            )
            if symbol == _NOTHING and not gone:
                symbol, colour, gone = _GONE, "red", True
            text.append(_PLAIN[symbol] if plain else symbol, colour)
        return text

    drawn_as = {
        Phase.ACCEPTS: (_ACCEPTS, "green"),
        Phase.FINISHES: (_FINISHES, "yellow"),
        Phase.LUCK: (_LUCK, "yellow"),
    }
    lanes = [
        lane(name, [(until, *drawn_as[phase]) for until, phase in phases])
        for name, phases in phases_of(shutdown, drawn)
    ]
    lanes.append(_scale(label, width, horizon))
    return lanes


def phases_of(
    shutdown: Shutdown, drawn: Timeline
) -> list[tuple[str, list[tuple[timedelta, Phase]]]]:
    """What each container does, until when; afterwards it is gone."""
    found = [
        (
            life.plan.name,
            [(life.accepts_until.at, Phase.ACCEPTS), (life.dies.at, Phase.FINISHES)],
        )
        for life in drawn.lives
    ]
    proxy = shutdown.plan.proxy
    soonest, latest = drawn.proxy_ends, shutdown.typical.proxy_ends
    if proxy is not None and soonest is not None and latest is not None:
        closes = drawn.listener_closes
        until = min(soonest.at, closes.at) if closes else soonest.at
        phases = [(until, Phase.ACCEPTS), (soonest.at, Phase.FINISHES)]
        if proxy.stops_with_pod and latest.at > soonest.at:
            phases.append((latest.at, Phase.LUCK))
        found.append((proxy.name, phases))
    return found


def horizon_of(drawn: Timeline) -> timedelta:
    """How far a drawing reaches."""
    ends = [life.dies.at for life in drawn.lives]
    ends += [drawn.proxy_ends.at] if drawn.proxy_ends else []
    return max(*ends, drawn.grace, timedelta(seconds=1))


def _scale(label: int, width: int, horizon: timedelta) -> Text:
    text = [" "] * (width + 12)
    steps = 4
    for step in range(steps + 1):
        at = horizon * step / steps
        mark = written(timedelta(seconds=round(at.total_seconds(), 1)))
        column = width * step // steps
        text[column : column + len(mark)] = mark
    return Text(f"  {'':<{label}}{''.join(text).rstrip()}", "dim")


LEGEND: Final = (
    f"{_ACCEPTS} accepts   {_FINISHES} finishes what it has   "
    f"{_LUCK} may be gone (luck)   {_GONE} gone"
)


def legend(console: Console) -> Text:
    """What the lanes' symbols mean."""
    text = "".join(_PLAIN.get(c, c) for c in LEGEND) if _plain(console) else LEGEND
    return Text(text, "dim")


def _plain(console: Console) -> bool:
    """Whether the terminal takes ASCII only."""
    return not (console.encoding or "").lower().startswith("utf")
