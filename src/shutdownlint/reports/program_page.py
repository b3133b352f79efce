"""A program's page, from its record alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shutdownlint.programs.record import AtSignal, Role

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.programs.record import Example, Program, TimeSetting

_AT_SIGNAL: Final = {
    AtSignal.FINISHES: "stops accepting and finishes its requests",
    AtSignal.CUTS: "ends, its requests are cut",
    AtSignal.RESTARTS: "cuts its requests and goes on until SIGKILL",
    AtSignal.NO_HANDLER: "as the first process: nothing until SIGKILL; else it ends at once",
    AtSignal.NEEDS_HANDLER: "its code decides; without a handler as programs that have none",
    AtSignal.NEEDS_HANDLER_OR_ENDS: "its code decides; without a handler it ends at once",
    AtSignal.LOST_IN_SHELL: "where its shell is dash, it ends and cuts what the app has",
}
_ROLES: Final = {
    Role.SERVER: "",
    Role.MODELS: "A model server: its requests take minutes.",
    Role.WORKER: "A worker: it works off jobs or messages, and gets no requests.",
    Role.DATABASE: "Its clients hold connections; what a stop cuts is connections and open "
    "transactions, and the clients connect again.",
    Role.HELPER: "Beside an app it is a helper: requests need it until the app has ended.",
    Role.TELEMETRY: "Beside an app it takes logs, metrics or traces; requests do not need it.",
    Role.CLIENT: "It accepts no connections.",
}
_LATE: Final = {
    "refuses": "are refused",
    "hangs": "hang: the kernel accepts the connection, and there is no answer",
    "serves": "are served",
}


def describe_signal(what: AtSignal) -> str:
    """Return what a program does at a signal."""
    return _AT_SIGNAL[what]


def program_page(program: Program) -> str:
    """Return the page as Markdown: how it is recognised, what it does, examples, sources."""
    parts = [f"# {program.name}", *_recognised(program)]
    if role := _ROLES[program.role]:
        parts.append(role)
    parts += _behaviour(program)
    if program.notes:
        parts.append(program.notes.strip())
    if program.examples:
        rows = [f"| {_example(each)} | {each.verdict} |" for each in program.examples]
        parts.append("## Examples\n\n| container | verdict |\n|---|---|\n" + "\n".join(rows))
    measured = [f"measured: {program.measured}"] if program.measured else []
    sources = "\n".join(f"- {source}" for source in (*measured, *program.sources))
    parts.append(f"## Sources\n\n{sources}")
    return "\n\n".join(parts) + "\n"


def _codes(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _recognised(program: Program) -> Iterator[str]:
    ways = []
    if program.programs:
        ways.append(f"the command starts {_codes(program.programs)}")
    if program.modules:
        ways.append(f"Python runs the module {_codes(program.modules)}")
    if program.evidence:
        ways.append(f"a variable begins with {_codes(program.evidence)}")
    if program.images:
        names = (f"{each.name}:…{each.tag}…" if each.tag else each.name for each in program.images)
        ways.append(f"the image {_codes(tuple(names))} starts it")
    if ways:
        yield f"Recognised where {'; or '.join(ways)}."
    if program.versions:
        yield f"Holds for releases {program.versions}, by the tag of its own image."


def _behaviour(program: Program) -> Iterator[str]:
    if program.at_signal:
        rows = [f"- {signal}: {_AT_SIGNAL[what]}" for signal, what in program.at_signal.items()]
        late = _LATE.get(str(program.late), f"get {program.late}")
        rows.append(f"- later requests {late}")
        yield "## At its stop signal\n\n" + "\n".join(rows)
    if program.waits_only_if_asked:
        since = f"before {program.waits_since} " if program.waits_since else ""
        yield f"It finishes its requests {since}only with `{program.wait_setting}`."
    for switch in program.cuts_if:
        yield f"With `{switch.text}` it cuts them."
    if program.handler:
        yield f"To find out what it does, look for `{program.handler}` in its code."
    if program.serves_on is not None:
        yield f"It serves on for a time. {_time(program.serves_on)}"
    if program.limit is not None:
        finishes = " It finishes them only with a limit above 0." if program.limit_finishes else ""
        yield f"Its requests have a limit.{finishes} {_time(program.limit)}"


def _time(setting: TimeSetting) -> str:
    names = (*setting.flags, *setting.variables, *setting.properties)
    names = (*names, setting.directive) if setting.directive else names
    text = f"Written as {_codes(names)}" if names else "No flag of it is read from a record"
    if setting.default is not None:
        text += f"; by default {setting.default}"
    elif setting.unlimited:
        text += "; by default it waits without a limit"
    return f"{text}."


def _example(example: Example) -> str:
    parts = []
    if example.image != "shop/app:1":
        parts.append(f"image `{example.image}`")
    words = (("command", example.command), ("args", example.args))
    parts += [f"{name} `{text}`" for name, text in words if text]
    parts += [f"`{name}={value}`" for name, value in example.env.items()]
    if example.stop_signal:
        parts.append(f"stop signal {example.stop_signal}")
    return ", ".join(parts).replace("|", "\\|")
