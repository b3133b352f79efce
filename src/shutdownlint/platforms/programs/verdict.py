"""The behaviour of a container's program at its stop signal: certain, or decided by its code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from shutdownlint.platforms.locations import source_location
from shutdownlint.platforms.pods.images import ImageName
from shutdownlint.platforms.programs import facts
from shutdownlint.platforms.programs.behaviours import (
    ANSWERS_503,
    BEHAVIOURS,
    HANGS,
    IMAGE_PROGRAMS,
    IMAGE_SIGNALS,
    AtSignal,
    Behaviour,
)
from shutdownlint.platforms.programs.limit_values import is_templated
from shutdownlint.platforms.programs.problems import SettingIgnored
from shutdownlint.platforms.programs.start import StartedProgram, Word, flag_values
from shutdownlint.platforms.versions import Version
from shutdownlint.shell.syntax import is_shell
from shutdownlint.shutdown.pod_plan import Assumption
from shutdownlint.shutdown.process import CLOSED, Acceptance
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.manifests.resources import Container
    from shutdownlint.platforms.programs.detect import ProgramFacts

_GRACEFUL, _ABRUPT, _IGNORING = "graceful", "abrupt", "ignoring"
_SETTLE: Final = "set 'app' in the configuration"
_STOPS: Final = "at its stop signal it stops accepting and finishes what it has"
#: Another possible behaviour of the code, or the image: when it applies, and the behaviour.
_Other = tuple[str, str]


class Verdict(Struct, frozen=True):
    """The behaviour of a program at its stop signal.

    ``behaviour`` is set where that is certain, ``assumption`` where it is not; ``others`` are the
    cases that fit as well. ``late`` is what it does with requests after the signal. ``restarts``:
    it cuts what it has, and goes on serving. ``lives_on``: it cuts what it has, and does not exit.
    """

    name: str
    behaviour: Setting[str] | None = None
    assumption: Assumption | None = None
    others: tuple[_Other, ...] = ()
    late: Acceptance = CLOSED
    restarts: bool = False
    lives_on: bool = False


def read_verdict(
    container: Container, ref: NodeRef, started: StartedProgram | None, found: ProgramFacts
) -> Verdict:
    """Read the program's behaviour from the container's command line, image and settings."""
    return _Reader(container, ref, started, found).read()


def image_program(container: Container, ref: NodeRef) -> StartedProgram | None:
    """Return the program that a well-known image starts where the manifest names none."""
    image = _Image(container.image or "")
    name = IMAGE_PROGRAMS.value.get(image.official or image.path)
    if name is None or container.command:
        return None
    arguments = [Word(text, ref / "args" / n) for n, text in enumerate(container.args)]
    return StartedProgram((Word(name, ref / "image"), *arguments), by_image=True)


def image_version(container: Container, program: str) -> Version | None:
    """Return a program's version by its own image's tag; None for images that others build."""
    return _Image(container.image or "").version_of(program)


class _Image(ImageName):
    """An image, with what its name shows of the program in it."""

    @property
    def version(self) -> Version | None:
        """The version that the tag names; None for tags that name none."""
        return Version.find(self.tag)

    def version_of(self, program: str) -> Version | None:
        """Return a program's version, if the image is its own, also behind a registry's mirror."""
        own = (path for path, name in IMAGE_PROGRAMS.value.items() if name == program)
        known = any(self.path == path or self.path.endswith(f"/{path}") for path in own)
        return self.version if known else None

    @property
    def stop_signal(self) -> str | None:
        """The signal that an official image sets; SIGTERM for those that set none."""
        for name, part, signal, since in IMAGE_SIGNALS.value:
            if (self.official or self.path) == name and part in self.tag:
                version = self.version
                older = since and version is not None and version < Version.parse(since)
                return "SIGTERM" if older else signal
        return "SIGTERM" if self.official else None


class _Reader:
    def __init__(
        self,
        container: Container,
        ref: NodeRef,
        started: StartedProgram | None,
        found: ProgramFacts,
    ) -> None:
        self.container = container
        self.ref = ref
        self.started = started
        self.found = found
        self.image = _Image(container.image or "")

    def read(self) -> Verdict:
        """Return the verdict."""
        started = self.started
        framework = self._framework()
        if framework is not None:
            return framework
        if started is None:
            label = self.image.path.rpartition("/")[2] or self.container.name
            return self._unknown(f"the program of image {label}")
        if started.shell_ends:
            return self._certain(_ABRUPT, f"the shell behind {started.init or 'an init'} ends")
        entry = find_behaviour(started)
        if entry is not None and entry.name == facts.VLLM and _serves_nothing(started):
            return self._unknown(started.name)
        if entry is None and (is_shell(started.name) or started.name.endswith(".sh")):
            return self._script_file(started)
        if entry is None:
            label = script_name(started) if started.name == "dotnet" else started.name
            verdict = self._unknown(label)
            others = [(f"where {label} does not finish its requests", _ABRUPT)]
            if started.first is not False:
                others.append((f"where {label} has no handler for its stop signal", _IGNORING))
            return replace(verdict, others=tuple(others))
        at_signal = self._at_signal(entry, started)
        if at_signal is None:
            return self._at_unknown_signal(entry, started)
        return self._by_signal(entry, started, at_signal)

    def _at_unknown_signal(self, entry: Behaviour, started: StartedProgram) -> Verdict:
        """Return its behaviour if an image that is not official may set a signal."""
        name, (other, at_other) = entry.name, entry.by_signal[0]
        if at_other is AtSignal.FINISHES:
            text = f"{name} is assumed to get {other}, which its official image sets"
            others = [(f"with SIGTERM as {name}'s stop signal", _ABRUPT)]
            if name == facts.HAPROXY and self._may_lack_master(started):
                others.append((f"with SIGTERM, where {name} has no master process", _IGNORING))
        else:
            text = f"{name} is assumed to get SIGTERM"
            others = [(f"with {other} as {name}'s stop signal", _ABRUPT)]
        assumption = Assumption(f"{text}: it finishes what it has", _SETTLE)
        return Verdict(name, assumption=assumption, others=tuple(others))

    def _by_signal(self, entry: Behaviour, started: StartedProgram, at_signal: AtSignal) -> Verdict:
        name = entry.name or started.name
        match at_signal:
            case AtSignal.FINISHES:
                # uWSGI serves late requests only where it restarts its workers.
                late = HANGS if entry.at_signal is AtSignal.RESTARTS else entry.late
                return self._certain(_GRACEFUL, name, late=late)
            case AtSignal.CUTS if entry.name == facts.HAPROXY and self._may_lack_master(started):
                text = (
                    "HAProxy is assumed to have a master process (-W, or master-worker in its "
                    "configuration), which ends at SIGTERM"
                )
                other = ("where HAProxy has no master process", _IGNORING)
                behaviour = self._setting(_ABRUPT, OriginKind.DEFAULT, f"{name} ends at SIGTERM")
                return Verdict(name, behaviour, Assumption(text, "write -W"), (other,))
            case AtSignal.CUTS if entry.limit_finishes and self._may_have_limit(started):
                text = (
                    f"{name} is assumed to have a limit for its requests, which a variable or a "
                    "file may set; without one it cuts them"
                )
                remedy = f"write {facts.VLLM_FLAG} with its value"
                other = (f"without {facts.VLLM_FLAG}", _ABRUPT)
                return Verdict(name, None, Assumption(text, remedy), (other,), entry.late)
            case AtSignal.CUTS if entry.reconnects:
                reason = f"{name} ends at its stop signal"
                text = f"{name} cuts open transactions at {self._stop_signal()}"
                assumption = Assumption(f"{text}; clients are assumed to connect again", _SETTLE)
                return Verdict(name, self._setting(_ABRUPT, OriginKind.DEFAULT, reason), assumption)
            case AtSignal.CUTS if entry.lives_on:
                verdict = self._certain(_ABRUPT, f"{name} ends at its stop signal")
                return replace(verdict, lives_on=True)
            case AtSignal.CUTS:
                return self._certain(_ABRUPT, f"{name} ends at its stop signal")
            case AtSignal.RESTARTS:
                reason = f"{name} cuts its requests and restarts its workers"
                return self._certain(_ABRUPT, reason, restarts=True)
            case AtSignal.HAS_NO_HANDLER if started.first is None:
                text = f"{name} has no handler for its stop signal: as the first process it is"
                return Verdict(
                    name,
                    self._setting(_IGNORING, OriginKind.DEFAULT, f"{name} has no handler for it"),
                    Assumption(f"{text} assumed to go on until SIGKILL", _SETTLE),
                    ((f"with an init or a shell in front of {name}", _ABRUPT),),
                )
            case AtSignal.HAS_NO_HANDLER if started.first:
                return self._certain(_IGNORING, f"{name} has no handler for it")
            case AtSignal.HAS_NO_HANDLER:
                return self._certain(_ABRUPT, f"{name} has no handler for its stop signal")
            case AtSignal.LOSES_IN_SHELL:
                return self._in_package_manager(entry)
            case _:
                return self._by_code(entry, started, at_signal)

    @staticmethod
    def _may_have_limit(started: StartedProgram) -> bool:
        """Whether the limit may be set where it is not read."""
        words = started.arguments
        return any(is_templated(word) for word in words) or any(
            word.partition("=")[0] == "--config" for word in words
        )

    @staticmethod
    def _may_lack_master(started: StartedProgram) -> bool:
        """Whether HAProxy may ignore SIGTERM as the first process: its official image adds -W."""
        written = {"-W", "-Ws"} & set(started.arguments)
        return not written and not started.by_image and started.first is not False

    def _by_code(self, entry: Behaviour, started: StartedProgram, at_signal: AtSignal) -> Verdict:
        label = script_name(started) or entry.name
        signal = entry.signal
        goes_on = at_signal is AtSignal.NEEDS_HANDLER and started.first is not False
        without = "goes on until SIGKILL" if goes_on else "ends at once"
        text = (
            f"{label} is assumed to handle {signal}: {_STOPS}; without a handler {entry.name} "
            f"{without}"
        )
        remedy = f"look for {entry.check} in it, and {_SETTLE}"
        others = [(f"without a {signal} handler in {label}", _IGNORING if goes_on else _ABRUPT)]
        if goes_on:
            others.append((f"with a {signal} handler in {label} that ends at once", _ABRUPT))
        return Verdict(entry.name, None, Assumption(text, remedy), tuple(others), entry.late)

    def _in_package_manager(self, entry: Behaviour) -> Verdict:
        debian = self.image.official == "node" and "alpine" not in self.image.tag
        if debian and entry.name == "npm":
            return self._certain(_ABRUPT, "npm's shell ends at the stop signal, and npm with it")
        text = (
            f"{entry.name} is assumed to pass the stop signal on to the app; where its shell is "
            "dash, as on Debian, it ends within a second and cuts what the app has"
        )
        remedy = f"start the program itself, such as node server.js, or {_SETTLE}"
        other = (f"where {entry.name}'s shell does not pass the signal on", _ABRUPT)
        return Verdict(entry.name, None, Assumption(text, remedy), (other,))

    def _at_signal(self, entry: Behaviour, started: StartedProgram) -> AtSignal | None:
        """Return what the program does at the signal it gets; None if that is not known."""
        arguments = started.arguments
        if entry.by_signal:
            signal = self._stop_signal()
            return dict(entry.by_signal).get(signal, entry.at_signal) if signal else None
        if entry.limit_finishes:
            self._drop_unknown_limit(entry)
            limit = self.found.finish_within
            return AtSignal.FINISHES if limit is not None and limit.value else entry.at_signal
        if entry.name == "uWSGI":
            if any("gracefully_kill_them_all" in text for text in arguments):
                return AtSignal.FINISHES
            return AtSignal.CUTS if "--die-on-term" in arguments else entry.at_signal
        if entry.name == "Hypercorn" and _number_of(started, ("-w", "--workers")) > 1:
            return AtSignal.CUTS  # its master waits for one worker, then ends the others
        if entry.name == facts.CELERY and started.group:
            pool = _value_of(started, ("-P", "--pool")) or "prefork"
            return AtSignal.CUTS if pool in ("prefork", "processes") else entry.at_signal
        return entry.at_signal

    def _drop_unknown_limit(self, entry: Behaviour) -> None:
        """Leave a limit out that the release in the image does not take, and report it."""
        limit, version = self.found.finish_within, self.image.version_of(entry.programs[0])
        if limit is None or version is None or version >= Version.parse(entry.limit_since):
            return
        flag, _, value = self.found.finish_setting.partition(" ")
        reason = f"{entry.name} takes it from {entry.limit_since} on, the image has {version}"
        self.found.problems.append(
            SettingIgnored(
                location=source_location(limit) or self.ref / "name",
                key=flag,
                value=value,
                reason=reason,
                program=entry.name,
            )
        )
        self.found.finish_within = None

    def _stop_signal(self) -> str | None:
        """Return the container's stop signal: the manifest's, else that of an official image."""
        lifecycle = self.container.lifecycle
        if lifecycle is not None and lifecycle.stopSignal is not None:
            return str(lifecycle.stopSignal)
        return self.image.stop_signal

    def _framework(self) -> Verdict | None:
        """Return the behaviour of a JVM framework, which variables and properties show."""
        for name, since in facts.WAITS_ONLY_IF_ASKED.value:
            if name not in self.found.frameworks:
                continue
            if self.found.asked_to_wait:
                late = ANSWERS_503 if name == facts.QUARKUS else CLOSED
                return self._certain(_GRACEFUL, name, late=late)
            setting = facts.WAIT_SETTING[name]
            assumed = (
                f"to be {since} or later, which finishes its requests"
                if since
                else f"to finish its requests, which needs {setting}"
            )
            other = f"before {since}, without {setting}" if since else f"without {setting}"
            return Verdict(
                name,
                assumption=Assumption(f"{name} is assumed {assumed}", f"set {setting} where it is"),
                others=((f"with {name} {other}", _ABRUPT),),
            )
        return None

    def _script_file(self, started: StartedProgram) -> Verdict:
        """Return a script in the image: without ``exec`` it never passes the signal on."""
        label = script_name(started) if is_shell(started.name) else started.name
        text = f"{label} is assumed to start the app with exec, and the app to be graceful"
        behaviour = _ABRUPT if started.first is False else _IGNORING
        remedy = f"end {label} with exec and the app, or {_SETTLE}"
        other = (f"where {label} starts the app without exec", behaviour)
        return Verdict(label, None, Assumption(text, remedy), (other,))

    def _unknown(self, label: str) -> Verdict:
        text = f"{label} is assumed to be graceful: {_STOPS}"
        return Verdict(label, assumption=Assumption(text, f"if it is not, {_SETTLE}"))

    def _certain(
        self, value: str, reason: str, *, late: Acceptance = CLOSED, restarts: bool = False
    ) -> Verdict:
        behaviour = self._setting(value, OriginKind.EXPLICIT, reason)
        return Verdict(reason, behaviour, late=late, restarts=restarts)

    def _setting(self, value: str, kind: OriginKind, reason: str) -> Setting[str]:
        location = self.started.location if self.started is not None else self.ref / "name"
        return Setting("behaviour", value, Origin(kind, reason, location))


def _serves_nothing(started: StartedProgram) -> bool:
    """Whether a command of vLLM is a client, or a worker without an interface of its own."""
    arguments = started.arguments
    command = started.name == "vllm" and not started.by_image
    other = command and arguments[:1] != ("serve",)
    return other or "--headless" in arguments


def find_behaviour(started: StartedProgram) -> Behaviour | None:
    """Return the known behaviour of a program, by its name or as a module of Python."""
    name, arguments = started.name, started.arguments
    module = _value_of(started, ("-m",)) if name.startswith("python") else None
    return find_by_name(name, arguments, module)


def find_by_name(
    name: str, arguments: Iterable[str] = (), module: str | None = None
) -> Behaviour | None:
    """Return the known behaviour of a program of that name, or of a module of Python."""
    for fact in BEHAVIOURS:
        entry = fact.value
        if module is not None and module in entry.modules:
            return entry
        named = name in entry.programs or (
            name.startswith("python3.") and "python3" in entry.programs
        )
        if named and (not entry.words or set(entry.words) & set(arguments)):
            return entry
    return None


#: Options of interpreters that take the next word.
_TAKES_NEXT: Final = frozenset(
    ("-r", "--require", "--import", "--loader", "-W", "-X", "-I", "-cp", "-classpath", "-d")
)


#: The endings of the files that PM2 starts; its options take values of any form.
_PM2_FILES: Final = (".js", ".mjs", ".cjs", ".ts", ".json", ".yml", ".yaml")


def script_name(started: StartedProgram) -> str:
    """Return the script, module or jar that an interpreter runs, as it is written; else empty."""
    arguments = list(started.arguments)
    if started.name.startswith("pm2"):
        return next((a.rpartition("/")[2] for a in arguments if a.endswith(_PM2_FILES)), "")
    while arguments:
        text = arguments.pop(0)
        if text in ("-m", "-jar") and arguments:
            return arguments[0].rpartition("/")[2]
        if text in _TAKES_NEXT and arguments:
            del arguments[0]
        elif not text.startswith("-") and text not in ("run", "start"):
            return text.rpartition("/")[2]
    return ""


def _value_of(started: StartedProgram, flags: tuple[str, ...]) -> str | None:
    """Return the value of the first of these flags that is written."""
    return next((word.text for _, word in flag_values(started.words[1:], flags)), None)


def _number_of(started: StartedProgram, flags: tuple[str, ...]) -> int:
    text = _value_of(started, flags) or ""
    return int(text) if text.isdecimal() and len(text) < 6 else 0
