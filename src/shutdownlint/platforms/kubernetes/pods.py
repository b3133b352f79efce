"""A pod template's grace period, hooks and signals as settings with their origin."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from shutdownlint.manifests.decoding import Placeholder, has_placeholder
from shutdownlint.platforms.kubernetes import facts
from shutdownlint.platforms.kubernetes.shell import (
    command_time,
    is_shell,
    misquoted,
    shell_script,
    signal_path,
)
from shutdownlint.shutdown import Hook, HookKind, Origin, OriginKind, Setting, SignalPath, Span
from shutdownlint.shutdown.durations import ZERO, seconds
from shutdownlint.shutdown.plan import NO_HOOK

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.manifests.resources import Container, LifecycleHandler, PodSpec

KUBERNETES_DEFAULT: Final = "the Kubernetes default"
GRACE: Final = "terminationGracePeriodSeconds"
#: Beyond this the API's own arithmetic overflows; shown as written, reckoned as this.
_LONGEST: Final = 10 * 365 * 86400
_SHELL_ONLY: Final = frozenset(("&&", "||", ";", "|", ">", ">>", "2>&1"))


def grace_period(
    spec: PodSpec,
    ref: NodeRef,
    *,
    unreadable: bool = False,
    usual: tuple[int, str] | None = None,
) -> Setting[Span]:
    """The pod's grace period; a placeholder (or a wrong type) leaves it open, below 0 is 1 s.

    ``usual`` is what whoever makes the pod gives it where none is written, and who that is.
    """
    here = ref / GRACE
    value = spec.terminationGracePeriodSeconds
    if value is None and not unreadable and usual is not None:
        number, told = usual
        origin = Origin(OriginKind.DEFAULT, told, here)
        return Setting(GRACE, Span.exactly(seconds(number)), origin)
    if value is None and not unreadable:
        default = Span.exactly(facts.DEFAULT_GRACE.value)
        return Setting(GRACE, default, Origin(OriginKind.DEFAULT, KUBERNETES_DEFAULT, here))
    origin = Origin(OriginKind.EXPLICIT, GRACE, here)
    if value is None or isinstance(value, Placeholder):
        return Setting(GRACE, Span(ZERO, None), origin)
    if value < 0:
        taken = f"{GRACE} {value}, taken as"
        return Setting(taken, Span.exactly(facts.NEGATIVE_GRACE.value), origin)
    return Setting(GRACE, Span.exactly(seconds(min(value, _LONGEST))), origin)


def environment(container: Container) -> Callable[[str], str | None]:
    """The variables that the manifest itself gives a value."""
    values = {e.name: e.value for e in container.env if e.value is not None and e.valueFrom is None}

    def lookup(name: str) -> str | None:
        value = values.get(name)
        return None if value is None or "$(" in value else value

    return lookup


def pre_stop(container: Container, ref: NodeRef) -> tuple[Setting[Span], Setting[Hook]]:
    """How long the container's preStop hook takes, and what it is."""
    handler = container.lifecycle.preStop if container.lifecycle else None
    name = f"{container.name} preStop"
    if handler is None:
        location = ref / "name" if container.name else ref / "image"
        origin = Origin(OriginKind.DEFAULT, "no preStop hook", location)
        return Setting(name, Span.exactly(ZERO), origin), Setting(name, NO_HOOK, origin)
    time, hook = hook_settings(handler, ref / "lifecycle" / "preStop", name, environment(container))
    missing = _missing_port(handler, container)
    if missing and hook.value.kind is HookKind.HTTP_GET:
        told = f"no port of {container.name} is named '{missing}'"
        time = replace(time, value=Span.exactly(facts.FAILING_HOOK.value))
        return time, replace(hook, value=replace(hook.value, fails=told))
    return time, hook


def _missing_port(handler: LifecycleHandler, container: Container) -> str:
    """A named port of an httpGet hook that the container does not declare."""
    port = handler.httpGet.port if handler.httpGet else None
    named = isinstance(port, str) and not port.isdigit() and not has_placeholder(port)
    return str(port) if named and all(p.name != port for p in container.ports) else ""


def stop_signal(container: Container, ref: NodeRef) -> Setting[str] | None:
    """The stop signal that the manifest asks for."""
    wanted = container.lifecycle.stopSignal if container.lifecycle else None
    if wanted is None:
        return None
    origin = Origin(OriginKind.EXPLICIT, "stopSignal", ref / "lifecycle" / "stopSignal")
    return Setting("stopSignal", wanted, origin)


def probe_grace(container: Container, ref: NodeRef, probe: str) -> Setting[timedelta] | None:
    """A probe's own grace period, which replaces the pod's when the probe kills."""
    written = getattr(container, probe)
    value = written.terminationGracePeriodSeconds if written is not None else None
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    origin = Origin(OriginKind.EXPLICIT, probe, ref / probe / GRACE)
    return Setting(f"{probe} {GRACE}", seconds(min(value, _LONGEST)), origin)


def hook_settings(
    handler: LifecycleHandler, ref: NodeRef, name: str, lookup: Callable[[str], str | None]
) -> tuple[Setting[Span], Setting[Hook]]:
    """A hook's duration, shown where it is written, and the hook itself."""
    hook = _hook(handler)
    explicit = Origin(OriginKind.EXPLICIT, name, _where(hook, ref))
    time = _hook_time(handler, hook, lookup)
    return Setting(name, time, explicit), Setting(name, hook, explicit)


def _hook(handler: LifecycleHandler) -> Hook:
    handlers = handler.handlers
    if not handlers:
        return Hook(HookKind.EMPTY)
    if len(handlers) > 1:
        return Hook(HookKind.SEVERAL, handlers)
    kind = HookKind(handlers[0])
    command = tuple(handler.exec.command) if handler.exec else ()
    wanted = handler.sleep.seconds if handler.sleep else None
    return Hook(
        kind,
        handlers,
        command,
        fails=_why_it_fails(command) if kind is HookKind.EXEC else "",
        seconds=seconds(wanted) if isinstance(wanted, int) and abs(wanted) < _LONGEST else None,
        host=(handler.httpGet.host or "") if handler.httpGet else "",
    )


def _why_it_fails(command: tuple[str, ...]) -> str:
    if not command:
        return ""
    if len(command) == 1 and any(c.isspace() for c in command[0].strip()):
        return "the whole line stands in one string, so it is taken for the name of a program"
    script = shell_script(command)
    if script is not None:
        whole = misquoted(script)
        if whole:
            return f"inner quotes make the shell look for a program named '{whole}'"
        if script.strip() == "sleep":
            return "the script after -c is 'sleep' alone: what follows are not its arguments"
        return ""
    file = next((word for word in command[1:] if not word.startswith("-")), "")
    if is_shell(command[0]) and re.search(r"\S\s+\S", file):
        return f"without -c the shell looks for a file named '{file}'"
    odd = next((word for word in command[1:] if word in _SHELL_ONLY), None)
    if odd is not None and not is_shell(command[0]):
        return f"'{odd}' is passed to {command[0]} as an argument: no shell reads it"
    return ""


def _where(hook: Hook, ref: NodeRef) -> NodeRef:
    if hook.kind is HookKind.SLEEP:
        return ref / "sleep" / "seconds"
    if hook.kind is HookKind.EXEC and hook.command:
        script = shell_script(hook.command)
        index = hook.command.index(script) if script in hook.command else len(hook.command) - 1
        return ref / "exec" / "command" / index
    if hook.kind in (HookKind.HTTP_GET, HookKind.TCP_SOCKET):
        return (ref / hook.handlers[0]).key
    return ref.key


def _hook_time(handler: LifecycleHandler, hook: Hook, lookup: Callable[[str], str | None]) -> Span:
    match hook.kind:
        case HookKind.SLEEP:
            value = handler.sleep.seconds if handler.sleep else None
            if value is None or isinstance(value, Placeholder):
                return Span(ZERO, None)
            return Span.exactly(seconds(min(max(value, 0), _LONGEST)))
        case HookKind.EXEC:
            if hook.fails:
                return Span.exactly(facts.FAILING_HOOK.value)
            return command_time(hook.command, lookup)
        case HookKind.TCP_SOCKET:
            return Span.exactly(facts.TCP_SOCKET_HOOK.value)
        case _:
            return Span(ZERO, None)


def start(container: Container, spec: PodSpec, ref: NodeRef) -> tuple[Setting[SignalPath], str]:
    """Whether the stop signal reaches the app, and the shell script that starts it."""
    field = "command" if container.command else "args"
    words = container.command + container.args if container.command else container.args
    script = shell_script(words)
    if script is None:
        return _path(SignalPath.UNKNOWN, "the image's own entry point", ref / "name"), ""
    index = words.index(script)
    if field == "command" and index >= len(container.command):
        field, index = "args", index - len(container.command)
    location = ref / field / index
    shared = (spec.shareProcessNamespace, spec.hostPID)
    if not container.command or any(shared):
        # The image's entry point may be an init, or the shell is not process 1.
        return _path(SignalPath.UNKNOWN, field, location), script
    return _path(signal_path(script), field, location), script


def _path(value: SignalPath, told: str, location: NodeRef) -> Setting[SignalPath]:
    return Setting("start command", value, Origin(OriginKind.EXPLICIT, told, location))


def drain_setting(drain: timedelta, told: str, location: NodeRef | None) -> Setting[timedelta]:
    """How long the app goes on accepting after its stop signal."""
    kind = OriginKind.MEASURED if drain > ZERO else OriginKind.DEFAULT
    return Setting("drain", drain, Origin(kind, told, location))
