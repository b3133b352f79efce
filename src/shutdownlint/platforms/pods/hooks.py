"""preStop hooks: what a handler does, and how long it takes."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from shutdownlint.manifests.decoding import Placeholder, has_placeholder
from shutdownlint.platforms.pods import facts
from shutdownlint.shell.syntax import is_shell, misquoted_command, shell_script
from shutdownlint.shutdown.durations import ZERO, DurationRange, seconds
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.manifests.resources import Container, LifecycleHandler
    from shutdownlint.shell.sent_signals import SentSignal

#: Longer durations are never waited out, and the API's own arithmetic overflows.
MAX_SECONDS: Final = 10 * 365 * 86400
_SHELL_ONLY: Final = frozenset(("&&", "||", ";", "|", ">", ">>", "2>&1"))
_UNKNOWN: Final = DurationRange(ZERO, None)


class HookKind(StrEnum):
    """The kind of action of a preStop hook."""

    NONE = "none"
    EXEC = "exec"
    HTTP_GET = "httpGet"
    TCP_SOCKET = "tcpSocket"
    SLEEP = "sleep"
    #: ``preStop`` without a handler.
    EMPTY = "empty"
    SEVERAL = "several"


class HookHandler(Struct, frozen=True):
    """The handler of a hook. ``fails`` says why it cannot work, empty where it can.

    ``seconds`` is what a sleep action asks for, as written; ``host`` is where an httpGet goes,
    empty for the pod itself. ``signals`` are those that its command sends to the app.
    """

    kind: HookKind = HookKind.NONE
    handlers: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    fails: str = ""
    seconds: timedelta | None = None
    host: str = ""
    signals: tuple[SentSignal, ...] = ()

    def __str__(self) -> str:
        return " ".join(self.command) if self.command else self.kind.value


NO_HOOK: Final = HookHandler()


class HookSettings(Struct, frozen=True):
    """A hook's duration and its handler, each with its origin."""

    duration: Setting[DurationRange]
    handler: Setting[HookHandler]


def read_pre_stop(container: Container, ref: NodeRef) -> HookSettings:
    """Return the container's preStop hook; one without a handler where none is written."""
    written = container.lifecycle.preStop if container.lifecycle else None
    name = f"{container.name} preStop"
    if written is None:
        return no_hook(name, ref / "name" if container.name else ref / "image")
    hook = read_hook(written, ref / "lifecycle" / "preStop", name, environment(container))
    missing = _missing_port(written, container)
    if missing and hook.handler.value.kind is HookKind.HTTP_GET:
        reason = f"no port of {container.name} is named '{missing}'"
        fails = replace(hook.handler.value, fails=reason)
        duration = DurationRange.exact(facts.FAILING_HOOK.value)
        return HookSettings(
            replace(hook.duration, value=duration), replace(hook.handler, value=fails)
        )
    return hook


def no_hook(name: str, location: NodeRef) -> HookSettings:
    """Return the settings of a container without a hook; ``location`` is where one could be."""
    origin = Origin(OriginKind.DEFAULT, "no preStop hook", location)
    return HookSettings(
        Setting(name, DurationRange.exact(ZERO), origin), Setting(name, NO_HOOK, origin)
    )


def environment(container: Container) -> Callable[[str], str | None]:
    """Return a function that looks up the variables that the manifest itself gives a value."""
    values = {e.name: e.value for e in container.env if e.value is not None and e.valueFrom is None}

    def lookup(name: str) -> str | None:
        value = values.get(name)
        return None if value is None or "$(" in value else value

    return lookup


def read_hook(
    handler: LifecycleHandler, ref: NodeRef, name: str, lookup: Callable[[str], str | None]
) -> HookSettings:
    """Return a hook's duration, located where it is written, and its handler."""
    hook = _read_handler(handler)
    if hook.command and not hook.fails:
        from shutdownlint.shell.sent_signals import sent_signals  # noqa: PLC0415 - for a command

        hook = replace(hook, signals=sent_signals(hook.command, lookup))
    origin = Origin(OriginKind.EXPLICIT, name, _location(hook, ref))
    duration = _duration(handler, hook, lookup)
    return HookSettings(Setting(name, duration, origin), Setting(name, hook, origin))


def _missing_port(handler: LifecycleHandler, container: Container) -> str:
    """Return a named port of an httpGet hook that the container does not declare."""
    port = handler.httpGet.port if handler.httpGet else None
    named = isinstance(port, str) and not port.isdigit() and not has_placeholder(port)
    return str(port) if named and all(p.name != port for p in container.ports) else ""


def _read_handler(handler: LifecycleHandler) -> HookHandler:
    handlers = handler.handlers
    if not handlers:
        return HookHandler(HookKind.EMPTY)
    if len(handlers) > 1:
        return HookHandler(HookKind.SEVERAL, handlers)
    kind = HookKind(handlers[0])
    command = tuple(handler.exec.command) if handler.exec else ()
    wanted = handler.sleep.seconds if handler.sleep else None
    return HookHandler(
        kind,
        handlers,
        command,
        fails=_why_it_fails(command) if kind is HookKind.EXEC else "",
        seconds=seconds(wanted) if isinstance(wanted, int) and abs(wanted) < MAX_SECONDS else None,
        host=(handler.httpGet.host or "") if handler.httpGet else "",
    )


def _why_it_fails(command: tuple[str, ...]) -> str:
    if not command:
        return ""
    if len(command) == 1 and any(c.isspace() for c in command[0].strip()):
        return "the whole line is one string, so it is taken as the name of a program"
    script = shell_script(command)
    if script is not None:
        whole = misquoted_command(script)
        if whole:
            return f"inner quotes make the shell look for a program named '{whole}'"
        if script.strip() == "sleep":
            return "the script after -c is 'sleep' alone: what follows are not its arguments"
        return ""
    file = next((word for word in command[1:] if not word.startswith("-")), "")
    if is_shell(command[0]) and re.search(r"\S\s+\S", file):
        return f"without -c the shell looks for a file named '{file}'"
    operator = next((word for word in command[1:] if word in _SHELL_ONLY), None)
    if operator is not None and not is_shell(command[0]):
        return f"'{operator}' is passed to {command[0]} as an argument: no shell reads it"
    return ""


def _location(hook: HookHandler, ref: NodeRef) -> NodeRef:
    if hook.kind is HookKind.SLEEP:
        return ref / "sleep" / "seconds"
    if hook.kind is HookKind.EXEC and hook.command:
        script = shell_script(hook.command)
        index = hook.command.index(script) if script in hook.command else len(hook.command) - 1
        return ref / "exec" / "command" / index
    if hook.kind in (HookKind.HTTP_GET, HookKind.TCP_SOCKET):
        return (ref / hook.handlers[0]).key
    return ref.key


def _duration(
    handler: LifecycleHandler, hook: HookHandler, lookup: Callable[[str], str | None]
) -> DurationRange:
    match hook.kind:
        case HookKind.SLEEP:
            value = handler.sleep.seconds if handler.sleep else None
            if value is None or isinstance(value, Placeholder):
                return _UNKNOWN
            return DurationRange.exact(seconds(min(max(value, 0), MAX_SECONDS)))
        case HookKind.EXEC:
            if hook.fails:
                return DurationRange.exact(facts.FAILING_HOOK.value)
            from shutdownlint.shell.timing import command_time  # noqa: PLC0415 - only for a command

            return command_time(hook.command, lookup)
        case HookKind.TCP_SOCKET:
            return DurationRange.exact(facts.TCP_SOCKET_HOOK.value)
        case _:
            return _UNKNOWN
