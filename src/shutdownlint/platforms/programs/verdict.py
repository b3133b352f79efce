"""The behaviour of a container's program at its stop signal: certain, or decided by its code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from shutdownlint.platforms.locations import source_location
from shutdownlint.platforms.pods.images import ImageName
from shutdownlint.platforms.programs.limit_values import is_templated
from shutdownlint.platforms.programs.problems import SettingIgnored
from shutdownlint.platforms.programs.start import StartedProgram, Word, fits, value_of
from shutdownlint.platforms.versions import Version, VersionRange
from shutdownlint.programs.record import SIGTERM, AtSignal, Program, Role
from shutdownlint.shell.syntax import base_name, is_shell
from shutdownlint.shutdown.pod_plan import Assumption
from shutdownlint.shutdown.process import CLOSED, OPEN, Acceptance, Reaction
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting

if TYPE_CHECKING:
    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.manifests.resources import Container
    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.platforms.programs.detect import ProgramFacts
    from shutdownlint.programs.images import ImageConfig
    from shutdownlint.programs.known import KnownPrograms

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
    container: Container,
    ref: NodeRef,
    started: StartedProgram | None,
    found: ProgramFacts,
    context: AnalysisContext,
) -> Verdict:
    """Read the program's behaviour from the container's command line, image and settings."""
    return _Reader(container, ref, started, found, context).read()


def identify(
    started: StartedProgram | None,
    container: Container,
    ref: NodeRef,
    context: AnalysisContext,
) -> StartedProgram | None:
    """Return the program that a container starts, with its record.

    Where the manifest names none it is that of a well-known image, which also takes the args of a
    container without a command, unless these name a program of their own.
    """
    known, config = context.programs, context.image_config(container)
    image = _Image(container.image or "", known, config)
    if not container.command and (config is None or not config.starts):
        named = started is not None and _names_program(started, container, known)
        started = image.start(container, ref, args_name_program=named) or started
    if started is None:
        return None
    return _with_record(started, image, known)


def _with_record(started: StartedProgram, image: _Image, known: KnownPrograms) -> StartedProgram:
    for program in known.find(started.name, started.arguments, _module_of(started)):
        if program.at_signal and image.is_of(program):
            return replace(started, record=program)
    return started


def start_by_name(
    container: Container, ref: NodeRef, context: AnalysisContext
) -> StartedProgram | None:
    """Return the program that an image is known to start, by its name alone."""
    image = _Image(container.image or "", context.programs, None)
    started = image.start(container, ref, args_name_program=False)
    return _with_record(started, image, context.programs) if started is not None else None


def _names_program(started: StartedProgram, container: Container, known: KnownPrograms) -> bool:
    """Whether args begin with a program, which the image's entry point then runs."""
    first = container.args[0] if container.args else ""
    name = base_name(first)
    runs = started.name != name or is_shell(name) or any(known.find(name, container.args[1:]))
    return runs or first.startswith("/")


def is_client(started: StartedProgram, known: KnownPrograms) -> bool:
    """Whether a program accepts no connections."""
    found = known.find(started.name, started.arguments, _module_of(started))
    return any(program.role is Role.CLIENT for program in found)


def _module_of(started: StartedProgram) -> str | None:
    return value_of(started, ("-m",)) if started.name.startswith("python") else None


class _Image(ImageName):
    """An image, with what its name shows of the program in it."""

    def __init__(self, image: str, known: KnownPrograms, config: ImageConfig | None) -> None:
        super().__init__(config.base if config is not None and config.base else image)
        self.config = config
        found = known.of_image(self.official, self.path)
        self.known = [(image, program) for image, program in found if image.tag in self.tag]

    @property
    def version(self) -> Version | None:
        """The version that the tag names; None for tags that name none."""
        return Version.find(self.tag)

    def start(
        self, container: Container, ref: NodeRef, *, args_name_program: bool
    ) -> StartedProgram | None:
        """Return the program that it starts by itself; None where the args name another one."""
        for image, program in self.known:
            entrypoint, command, args = image.entrypoint, image.command, container.args
            if not entrypoint and not command:
                usual = tuple(program.programs[0].split(" "))
                entrypoint, command = ((), usual) if self.official else (usual, ())
                if entrypoint and args_name_program:
                    return None
            if args and not entrypoint:
                # docker-library official-images README, Consistency
                if not args[0].startswith("-"):
                    return None
                entrypoint = command
            words = [Word(name, ref / "image") for name in entrypoint]
            words += [Word(text, ref / "args" / n) for n, text in enumerate(args)]
            words += [Word(name, ref / "image") for name in command if not args]
            return StartedProgram(tuple(words), by_image=True)
        return None

    def version_of(self, program: Program) -> Version | None:
        """Return a program's version, if the image is its own."""
        return self.version if any(each is program for _, each in self.known) else None

    def is_of(self, program: Program) -> bool:
        """Whether the program is of a release that its record is about."""
        if program.versions is None:
            return True
        version = self.version_of(program)
        return version is not None and version in VersionRange.parse(program.versions)

    @property
    def stop_signal(self) -> str | None:
        """The signal that an image sets; SIGTERM for those that are known to set none."""
        if self.config is not None and (self.config.stop_signal or not self.config.base):
            return self.config.stop_signal or SIGTERM
        for image, _ in self.known:
            if image.stop_signal is not None:
                version, since = self.version, image.since
                older = since and version is not None and version < Version.parse(since)
                return SIGTERM if older else image.stop_signal
        return SIGTERM if self.official else None


class _Reader:
    def __init__(
        self,
        container: Container,
        ref: NodeRef,
        started: StartedProgram | None,
        found: ProgramFacts,
        context: AnalysisContext,
    ) -> None:
        self.container = container
        self.ref = ref
        self.started = started
        self.found = found
        config = context.image_config(container)
        self.image = _Image(container.image or "", context.programs, config)

    def read(self) -> Verdict:
        """Return the verdict."""
        verdict, started = self._read(), self.started
        if started is None or not started.entry_script or started.first is False:
            return verdict
        script = started.entry_script
        without = (f"where {script} starts the app without exec", _IGNORING)
        assumption = verdict.assumption
        if assumption is None:
            text = f"{script} is assumed to end in exec, as those of official images do"
            assumption = Assumption(text, f"end {script} with exec and the app, or {_SETTLE}")
        return replace(verdict, assumption=assumption, others=(*verdict.others, without))

    def _read(self) -> Verdict:
        started = self.started
        framework = self._framework()
        if framework is not None:
            return framework
        if started is None:
            label = self.image.path.rpartition("/")[2] or self.container.name
            return self._unknown(f"the program of image {label}")
        if started.shell_ends:
            return self._certain(_ABRUPT, f"the shell behind {started.init or 'an init'} ends")
        entry = started.record
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

    def _at_unknown_signal(self, entry: Program, started: StartedProgram) -> Verdict:
        """Return its behaviour if an image that is not official may set a signal."""
        others = ((at, what) for at, what in entry.at_signal.items() if at != SIGTERM)
        name, (other, at_other) = entry.name, next(others)
        if at_other is AtSignal.FINISHES:
            text = f"{name} is assumed to get {other}, which its official image sets"
            cases = [(f"with SIGTERM as {name}'s stop signal", _ABRUPT)]
            if self._may_lack_master(entry, started):
                cases.append((f"with SIGTERM, where {name} has no master process", _IGNORING))
        else:
            text = f"{name} is assumed to get SIGTERM"
            cases = [(f"with {other} as {name}'s stop signal", _ABRUPT)]
        assumption = Assumption(f"{text}: it finishes what it has", _SETTLE)
        return Verdict(name, assumption=assumption, others=tuple(cases))

    def _by_signal(self, entry: Program, started: StartedProgram, at_signal: AtSignal) -> Verdict:
        name = _label(entry, started)
        match at_signal:
            case AtSignal.FINISHES:
                return self._certain(_GRACEFUL, name, late=late_acceptance(entry))
            case AtSignal.CUTS if self._may_lack_master(entry, started):
                flag = entry.master_flags[0]
                text = (
                    f"{name} is assumed to have a master process ({flag}, or in its "
                    "configuration), which ends at SIGTERM"
                )
                other = (f"where {name} has no master process", _IGNORING)
                behaviour = self._setting(_ABRUPT, OriginKind.DEFAULT, f"{name} ends at SIGTERM")
                return Verdict(name, behaviour, Assumption(text, f"write {flag}"), (other,))
            case AtSignal.CUTS if entry.limit_finishes and self._may_have_limit(started):
                flag = next(iter(entry.limit.flags if entry.limit is not None else ()), "its limit")
                text = (
                    f"{name} is assumed to have a limit for its requests, which a variable or a "
                    "file may set; without one it cuts them"
                )
                remedy, other = f"write {flag} with its value", (f"without {flag}", _ABRUPT)
                late = late_acceptance(entry)
                return Verdict(name, None, Assumption(text, remedy), (other,), late)
            case AtSignal.CUTS if entry.role is Role.DATABASE:
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
            case AtSignal.NO_HANDLER if started.first is None:
                text = f"{name} has no handler for its stop signal: as the first process it is"
                return Verdict(
                    name,
                    self._setting(_IGNORING, OriginKind.DEFAULT, f"{name} has no handler for it"),
                    Assumption(f"{text} assumed to go on until SIGKILL", _SETTLE),
                    ((f"with an init or a shell in front of {name}", _ABRUPT),),
                )
            case AtSignal.NO_HANDLER if started.first:
                return self._certain(_IGNORING, f"{name} has no handler for it")
            case AtSignal.NO_HANDLER:
                return self._certain(_ABRUPT, f"{name} has no handler for its stop signal")
            case AtSignal.LOST_IN_SHELL:
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
    def _may_lack_master(entry: Program, started: StartedProgram) -> bool:
        """Whether it may ignore SIGTERM as the first process: its official image adds the flag."""
        written = set(entry.master_flags) & set(started.arguments)
        may = not written and not started.by_image and started.first is not False
        return bool(entry.master_flags) and may

    def _by_code(self, entry: Program, started: StartedProgram, at_signal: AtSignal) -> Verdict:
        label = script_name(started) or entry.name
        signal = entry.handled_signal
        goes_on = at_signal is AtSignal.NEEDS_HANDLER and started.first is not False
        without = "goes on until SIGKILL" if goes_on else "ends at once"
        text = (
            f"{label} is assumed to handle {signal}: {_STOPS}; without a handler {entry.name} "
            f"{without}"
        )
        remedy = f"look for {entry.handler} in it, and {_SETTLE}"
        others = [(f"without a {signal} handler in {label}", _IGNORING if goes_on else _ABRUPT)]
        if goes_on:
            others.append((f"with a {signal} handler in {label} that ends at once", _ABRUPT))
        late = late_acceptance(entry)
        return Verdict(entry.name, None, Assumption(text, remedy), tuple(others), late)

    def _in_package_manager(self, entry: Program) -> Verdict:
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

    def _at_signal(self, entry: Program, started: StartedProgram) -> AtSignal | None:
        """Return what the program does at the signal it gets; None if that is not known."""
        likely = entry.at_signal[SIGTERM]
        if len(entry.at_signal) > 1:
            signal = self._stop_signal()
            return entry.at_signal.get(signal, likely) if signal else None
        if entry.limit_finishes:
            self._drop_unknown_limit(entry)
            limit = self.found.finish_within
            return AtSignal.FINISHES if limit is not None and limit.value else likely
        for variant in entry.variants:
            if variant.at_signal is not None and fits(variant, started):
                return variant.at_signal
        return likely

    def _drop_unknown_limit(self, entry: Program) -> None:
        """Leave a limit out that the release in the image does not take, and report it."""
        limit, version = self.found.finish_within, self.image.version_of(entry)
        since = entry.limit.since if entry.limit is not None else None
        if limit is None or version is None or since is None or version >= Version.parse(since):
            return
        flag, _, value = self.found.finish_setting.partition(" ")
        reason = f"{entry.name} takes it from {since} on, the image has {version}"
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
        """Return the behaviour of a framework that variables and properties show."""
        for program in self.found.frameworks:
            if not program.waits_only_if_asked:
                continue
            name, setting, since = program.name, program.wait_setting, program.waits_since
            if self.found.asked_to_wait:
                return self._certain(_GRACEFUL, name, late=late_acceptance(program))
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


def late_acceptance(program: Program) -> Acceptance:
    """Return what a program does with requests after its stop signal."""
    if isinstance(program.late, int):
        return Acceptance(Reaction.ERROR, Reaction.ERROR, status=program.late)
    # A parent holds the socket: the kernel accepts, and there is no answer.
    hangs = Acceptance(Reaction.HANGS, Reaction.HANGS)
    return {"refuses": CLOSED, "hangs": hangs, "serves": OPEN}[program.late]


def _label(program: Program, started: StartedProgram) -> str:
    return started.name if program.called_as_started else program.name


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
