"""Servers whose flags say how they stop: ingress controllers, and proxies that apps call."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from shutdownlint.platforms.durations import go_duration, server_duration
from shutdownlint.platforms.programs import facts
from shutdownlint.platforms.programs.start import StartedProgram, Word, flag_values
from shutdownlint.platforms.programs.verdict import image_version
from shutdownlint.platforms.versions import Version
from shutdownlint.shell.syntax import bare_words, base_name, shell_script, split_steps, tokens
from shutdownlint.shell.timing import command_time
from shutdownlint.shutdown.durations import ZERO, seconds
from shutdownlint.shutdown.pod_plan import Assumption
from shutdownlint.shutdown.process import (
    CLOSED,
    OPEN,
    After,
    Ending,
    Phase,
    Process,
    Trigger,
    WhenFinished,
    WhenGone,
)
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import timedelta

    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.manifests.object_index import LoadedResource
    from shutdownlint.manifests.resources import ConfigMap, Container
    from shutdownlint.yaml_source.location import SourceLocation

INGRESS_NGINX: Final = "nginx-ingress-controller"
TRAEFIK: Final = "traefik"
PGBOUNCER: Final = "pgbouncer"
RAY: Final = "ray"
HAPROXY_INGRESS: Final = "haproxy-ingress-controller"
KEDA_INTERCEPTOR: Final = "keda-http-interceptor"


class KnownServer(Struct, frozen=True):
    """The shutdown of a server, by its flags.

    ``hook`` is what ends its preStop hook, where that is the server itself. ``helper``: the app
    calls it, and requests need it. ``model_limit``: it serves models, whose requests take minutes,
    and lets them take so long.
    """

    process: Process
    reason: str
    hook: Ending | None = None
    helper: bool = False
    assumptions: tuple[Assumption, ...] = ()
    model_limit: Setting[timedelta] | None = None


def find_known_server(
    started: StartedProgram,
    container: Container,
    ref: NodeRef,
    hook_command: Sequence[str],
    config_map: Callable[[str], LoadedResource[ConfigMap] | None],
) -> KnownServer | None:
    """Return the server that a container starts.

    ``config_map`` looks one of the pod's namespace up by its name.
    """
    program = started.name
    version = image_version(container, program)
    if program == INGRESS_NGINX:
        return _ingress_nginx(started, container.name, hook_command, config_map)
    if program == TRAEFIK:
        return _traefik(started)
    if program in facts.SQL_PROXIES.value:
        return _sql_proxy(started)
    if program == PGBOUNCER:
        return _pgbouncer(started, version)
    if program == RAY:
        return _ray(container, ref, version)
    if program == HAPROXY_INGRESS:
        return _haproxy_ingress(started)
    if program == KEDA_INTERCEPTOR:
        return _keda_interceptor(container, ref)
    return None


def _ingress_nginx(
    started: StartedProgram,
    name: str,
    hook_command: Sequence[str],
    config_map: Callable[[str], LoadedResource[ConfigMap] | None],
) -> KnownServer:
    flags = _Flags(started)
    grace = flags.read("shutdown grace", ("--shutdown-grace-period",), facts.SHUTDOWN_GRACE.value)
    post = flags.read(
        "post-shutdown grace", ("--post-shutdown-grace-period",), facts.POST_SHUTDOWN.value
    )
    workers, assumptions = _worker_shutdown(started, config_map)
    waits = facts.WAIT_SHUTDOWN in hook_command
    begins = Trigger.DELETION if waits else Trigger.SIGNAL
    phases = (
        Phase(begins, After(grace), OPEN, OPEN),
        Phase(Trigger.NEXT, WhenFinished(workers), CLOSED),
        Phase(Trigger.NEXT, After(post), CLOSED, CLOSED, cuts=True),
    )
    return KnownServer(
        Process(phases),
        "ingress-nginx",
        hook=WhenGone((name,)) if waits else None,
        assumptions=assumptions,
    )


def _worker_shutdown(
    started: StartedProgram, config_map: Callable[[str], LoadedResource[ConfigMap] | None]
) -> tuple[Setting[timedelta] | None, tuple[Assumption, ...]]:
    """Read the limit of nginx's workers in the controller's ConfigMap; None: it cannot be read."""
    name = facts.WORKER_SHUTDOWN_KEY
    origin = Origin(OriginKind.DEFAULT, "ingress-nginx's default", started.location)
    default = Setting(name, facts.WORKER_SHUTDOWN.value, origin)
    written = next((word.text for _, word in flag_values(started.words, ("--configmap",))), None)
    loaded = config_map((written or "").rpartition("/")[2])
    if loaded is None:
        text = f"ingress-nginx's {name} is assumed to be its default of 240s"
        return default, (Assumption(text, "its ConfigMap may set another"),)
    written_value = loaded.model.data.get(name)
    if written_value is None:
        return default, ()
    value = server_duration(written_value)
    if value is None:
        text = f"{name} {written_value} cannot be read: no limit is assumed"
        return None, (Assumption(text, "write a time such as 240s"),)
    where = Origin(OriginKind.EXPLICIT, name, loaded.ref / "data" / name)
    return Setting(name, value, where), ()


def _traefik(started: StartedProgram) -> KnownServer:
    flags = _Flags(started)
    prefix = r"--entrypoints\.[^.]+\.transport\.lifecycle\."
    # Each entry point stops by its own times, all at once: the slowest one counts.
    pairs = []
    for entry in flags.named(prefix) or [""]:
        own = prefix.replace(r"[^.]+", re.escape(entry)) if entry else prefix
        names = f"{own}requestacceptgracetimeout", f"{own}gracetimeout"
        accept = flags.read("requestAcceptGraceTimeout", names[:1], facts.TRAEFIK_ACCEPT.value)
        grace = flags.read("graceTimeOut", names[1:], facts.TRAEFIK_GRACE.value)
        pairs.append((accept, grace))
    accept, grace = max(pairs, key=lambda pair: pair[0].value + pair[1].value)
    phases = (
        Phase(Trigger.SIGNAL, After(accept), OPEN, OPEN),
        Phase(Trigger.NEXT, WhenFinished(grace), CLOSED),
    )
    text = "Traefik's grace timeouts are assumed to be those of its arguments, or the defaults"
    return KnownServer(
        Process(phases),
        "Traefik",
        assumptions=(Assumption(text, "a file or its variables may set others"),),
    )


def _sql_proxy(started: StartedProgram) -> KnownServer:
    flags = _Flags(started)
    least = flags.read("min-sigterm-delay", ("--min-sigterm-delay",), ZERO)
    most = flags.read(
        "max-sigterm-delay", ("--max-sigterm-delay", "-term_timeout", "--term_timeout"), ZERO
    )
    # The app's pool has connections open, so it stays for both.
    origin = most.origin if most.value > least.value else least.origin
    life = Setting("sigterm delay", least.value + most.value, origin)
    return _helper(started, life, "set --min-sigterm-delay, or make it a native sidecar")


def _pgbouncer(started: StartedProgram, version: Version | None) -> KnownServer | None:
    """PgBouncer beside an app, where it ends at once; newer ones wait for their clients."""
    if version is None or version >= Version.parse(facts.PGBOUNCER_WAITS.value):
        return None
    origin = Origin(OriginKind.DEFAULT, f"PgBouncer {version}", started.location)
    remedy = "update it to 1.23 or later with a preStop sleep, or make it a native sidecar"
    return _helper(started, Setting("immediate shutdown", ZERO, origin), remedy)


def _helper(started: StartedProgram, life: Setting[timedelta], remedy: str) -> KnownServer:
    """Return a container that the app calls, and that goes on for a time after its stop signal."""
    phases = (Phase(Trigger.SIGNAL, After(life), OPEN, OPEN),)
    text = f"requests are taken to need {started.name}, which serves until it exits"
    return KnownServer(
        Process(phases),
        started.name,
        helper=True,
        assumptions=(Assumption(text, remedy),),
    )


def drain_in_hook(command: Sequence[str], location: SourceLocation) -> tuple[Phase, Phase] | None:
    """Return the phases of a server that its own preStop hook makes drain; None for other hooks.

    ``nginx -s quit`` and ``kong quit`` stop accepting while the hook still runs; sleeps in front
    of them come first. ``nginx -s stop`` cuts what is left then.
    """
    script = shell_script(command)
    words = tokens(script) if script is not None else None
    steps = [step.words for step in split_steps(words)] if words is not None else [tuple(command)]
    waited = ZERO
    quits: timedelta | None = None
    for step in steps:
        bare = bare_words(step)
        name = base_name(bare[0]) if bare else ""
        if name == "sleep":
            slept = command_time(bare, lambda _name: None)
            if not slept.known:
                break
            waited += slept.low
        elif name in ("nginx", "openresty") and bare[1:] == ["-s", "quit"]:
            quits = waited
        elif name in ("nginx", "openresty") and bare[1:] == ["-s", "stop"] and quits is not None:
            limit = Setting(f"{name} -s stop", waited - quits, _written("hook", location))
            return _drain_phases(quits, limit, f"{name} -s quit", location)
        elif name == "kong" and bare[1:2] == ["quit"]:
            return _kong_quit(bare[2:], waited, location)
        else:
            break
    return _drain_phases(quits, None, "nginx -s quit", location) if quits is not None else None


def _kong_quit(
    arguments: Sequence[str], waited: timedelta, location: SourceLocation
) -> tuple[Phase, Phase]:
    words = (Word(text, location) for text in ("kong quit", *arguments))
    flags = _Flags(StartedProgram(tuple(words)))
    wait = flags.read("wait", ("--wait", "-w"), facts.KONG_WAIT.value)
    limit = flags.read("timeout", ("--timeout", "-t"), facts.KONG_TIMEOUT.value)
    return _drain_phases(waited + wait.value, limit, "kong quit", location)


def _written(label: str, location: SourceLocation) -> Origin:
    return Origin(OriginKind.EXPLICIT, label, location)


def _drain_phases(
    wait: timedelta, limit: Setting[timedelta] | None, label: str, location: SourceLocation
) -> tuple[Phase, Phase]:
    before = Setting(label, wait, _written(label, location))
    return (
        Phase(Trigger.DELETION, After(before), OPEN, OPEN),
        Phase(Trigger.NEXT, WhenFinished(limit), CLOSED),
    )


def _ray(container: Container, ref: NodeRef, version: Version | None) -> KnownServer | None:
    """Return a node of Ray: newer ones serve for some time after their stop signal."""
    if version is None or version < Version.parse(facts.RAY_DRAINS.value):
        return None
    drain = _variable(container, ref, "drain", facts.RAY_VARIABLE, facts.RAY_DRAIN.value)
    phases = (
        Phase(Trigger.SIGNAL, After(drain), OPEN, OPEN),
        Phase(Trigger.NEXT, WhenFinished(replace(drain, value=ZERO)), CLOSED, CLOSED, cuts=True),
    )
    return KnownServer(Process(phases), "Ray", model_limit=drain)


def _haproxy_ingress(started: StartedProgram) -> KnownServer:
    flags = _Flags(started)
    wait = flags.read("wait", ("--wait-before-shutdown",), ZERO)
    limit = flags.read("shutdown timeout", ("--shutdown-timeout",), facts.HAPROXY_STOP.value)
    grace = flags.read("haproxy grace", ("--haproxy-grace-period",), facts.HAPROXY_GRACE.value)
    phases = (
        Phase(Trigger.SIGNAL, After(wait), OPEN, OPEN),
        Phase(Trigger.NEXT, WhenFinished(min(limit, grace, key=_value)), CLOSED),
    )
    return KnownServer(Process(phases), "HAProxy Ingress")


def _keda_interceptor(container: Container, ref: NodeRef) -> KnownServer:
    delay = _variable(container, ref, "delay", facts.KEDA_DELAY_KEY, facts.KEDA_DELAY.value)
    drain = _variable(container, ref, "drain", facts.KEDA_DRAIN_KEY, facts.KEDA_DRAIN.value)
    phases = (
        Phase(Trigger.SIGNAL, After(delay), OPEN, OPEN),
        # A drain of nothing has no limit.
        Phase(Trigger.NEXT, WhenFinished(drain if drain.value else None), CLOSED),
    )
    return KnownServer(Process(phases), "KEDA's HTTP interceptor")


def _variable(
    container: Container, ref: NodeRef, name: str, variable: str, default: timedelta
) -> Setting[timedelta]:
    """Return a time that a variable sets, or its default; a bare number is seconds."""
    for number, each in enumerate(container.env):
        written = _duration(each.value or "") if each.name == variable else None
        if written is not None:
            location = ref / "env" / number / "value"
            return Setting(name, written, _written(variable, location))
    origin = Origin(OriginKind.DEFAULT, f"the default of {variable}", ref / "name")
    return Setting(name, default, origin)


class _Flags:
    """Durations among a program's arguments, by patterns without regard to case."""

    def __init__(self, started: StartedProgram) -> None:
        self._words = started.words[1:]
        label = f"the default of {started.name}"
        self._default = Origin(OriginKind.DEFAULT, label, started.location)

    def named(self, prefix: str) -> list[str]:
        """Return the names of the entry points among flags that begin like this."""
        pattern = re.compile(prefix.replace("[^.]+", "([^.]+)"), re.IGNORECASE)
        found = (pattern.match(word.text) for word in self._words)
        return sorted({each[1].lower() for each in found if each is not None})

    def read(self, name: str, patterns: tuple[str, ...], default: timedelta) -> Setting[timedelta]:
        """Return the longest value of these flags; a bare number is seconds."""
        flags = {word.text.partition("=")[0] for word in self._words}
        wanted = [f for f in flags if any(re.fullmatch(p, f, re.IGNORECASE) for p in patterns)]
        found = [
            Setting(name, duration, Origin(OriginKind.EXPLICIT, flag, word.location))
            for flag, word in flag_values(self._words, wanted)
            if (duration := _duration(word.text)) is not None
        ]
        return max(found, key=_value, default=Setting(name, default, self._default))


def _value(setting: Setting[timedelta]) -> timedelta:
    return setting.value


def _duration(text: str) -> timedelta | None:
    if text.isascii() and text.isdigit() and len(text) < 9:
        return seconds(int(text))
    try:
        return max(go_duration(text), ZERO)
    except ValueError:
        return None
