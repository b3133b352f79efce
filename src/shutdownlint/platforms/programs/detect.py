"""Finds a program's shutdown settings in its flags, variables and mounted files.

A flag, variable or property that the program would not take (misspelled, not a number, without
its unit) is ignored, and reported.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from shutdownlint.patterns import lazy_pattern
from shutdownlint.platforms.durations import go_duration
from shutdownlint.platforms.edit_target import ValueFormat
from shutdownlint.platforms.locations import source_location
from shutdownlint.platforms.programs import facts
from shutdownlint.platforms.programs.container_config import (
    ContainerConfig,
    WrittenText,
    canonical,
    read_container_config,
)
from shutdownlint.platforms.programs.limit_values import ReadLimit, is_templated, read_limit
from shutdownlint.platforms.programs.problems import SettingIgnored, WaitsSince
from shutdownlint.platforms.programs.start import StartedProgram, Word, fits, flag_values
from shutdownlint.programs.known import JAVA_OPTIONS
from shutdownlint.programs.record import parse_time
from shutdownlint.shell.syntax import base_name, is_shell, shell_script, tokens
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting
from shutdownlint.wording import close_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import timedelta

    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.manifests.resources import Container
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.platforms.problem import Problem
    from shutdownlint.programs.record import Program, Switch, TimeSetting


class DefaultLimit(Struct, frozen=True):
    """The behaviour of a program if no limit is written: its defaults.

    They can be changed in a file of the image, so they are assumptions. ``default`` is its limit
    (None: there is none, or it is not known), ``unbounded``: it waits without one, ``delay`` how
    long it goes on before its shutdown begins. ``how`` is what would set another limit.
    """

    name: Setting[str]
    default: Setting[timedelta] | None = None
    unbounded: bool = False
    delay: Setting[timedelta] | None = None
    how: str = ""


class ProgramFacts(Struct):
    """The facts about a container's program. ``behaviour`` is set if it does not wait."""

    finish_within: Setting[timedelta] | None = None
    #: The flag, variable or property of ``finish_within`` with its value.
    finish_setting: str = ""
    #: How ``finish_within`` is written.
    finish_format: ValueFormat = ValueFormat.TIME_IN_TEXT
    #: The time that it goes on accepting after its stop signal.
    drain: Setting[timedelta] | None = None
    defaults: DefaultLimit | None = None
    behaviour: Setting[str] | None = None
    #: The setting that makes it wait instead, and where; empty where there is none.
    how_to_wait: str = ""
    #: The frameworks that the files show, and whether one is set to finish its requests.
    frameworks: list[Program] = field(default_factory=list)
    asked_to_wait: bool = False
    #: Other cases that fit: when each is, how to settle it, and the behaviour then.
    others: tuple[tuple[str, str, str], ...] = ()
    #: The program that the container starts, if it is a known one, and how long it lives on after
    #: its last request.
    known_program: str = ""
    telemetry_helper: bool = False
    exit_tail: Setting[timedelta] | None = None
    #: The status that it answers requests with after its stop signal, also on kept connections.
    late_status: int | None = None
    problems: list[Problem] = field(default_factory=list)


def detect_program(
    container: Container,
    ref: NodeRef,
    started: StartedProgram | None,
    workload: Workload,
    context: AnalysisContext,
) -> ProgramFacts:
    """Return the framework's limit, its default, and settings without effect."""
    programs = context.programs.with_settings
    known = read_container_config(container, ref, workload, context)
    own = started.words if started is not None else _words(container, ref)
    words = [*own, *_further_words(programs, known)]
    options = _java_options(known, words)
    found = ProgramFacts()
    found.drain = _serves_on(words) or _knative_drain(container, ref)
    names = {base_name(word.text) for word in words}
    for program in programs:
        if not program.evidence and program.programs and _starts_none(program, names):
            continue  # most programs, of most containers
        proof = _proof(program, words, options, known, ref)
        if proof is None:
            continue
        settings = _Settings(program, words, options, known)
        found.problems += settings.misplaced()
        stop = settings.abrupt(found.problems)
        if stop is not None:
            if found.behaviour is None:
                found.behaviour, found.how_to_wait = stop, settings.how_to_wait(stop)
            continue  # it is configured not to wait
        _take_program(found, settings, proof, started)
    found.problems += _misspelled(programs, words, known)
    return found


def _starts_none(program: Program, names: set[str]) -> bool:
    return names.isdisjoint(name.partition(" ")[0] for name in program.programs + program.modules)


def _take_program(
    found: ProgramFacts, settings: _Settings, proof: WrittenText, started: StartedProgram | None
) -> None:
    """Note what the settings of a program say that runs here."""
    program = settings.program
    if found.drain is None and started is not None and started.record is program:
        found.drain = settings.serves_on(proof)
    if program.limit is None and not program.waits_only_if_asked:
        return
    found.frameworks.append(program)
    limits = settings.limits()
    if program.waits_if_limited or program.waits_if is not None:
        asked = bool(limits) if program.waits_if_limited else settings.is_asked_to_wait()
        found.asked_to_wait = found.asked_to_wait or asked
        if program.waits_since is not None and not asked:
            found.problems.append(
                WaitsSince(
                    location=proof.location,
                    program=program.name,
                    setting=program.wait_setting,
                    since=program.waits_since,
                )
            )
    for text, read in limits:
        if read.problem is not None:
            found.problems.append(read.problem)
        unlimited = program.limit is not None and program.limit.zero_is_unlimited
        if read.limit is not None and not read.limit.value and unlimited:
            continue
        if read.limit is not None and found.finish_within is None:
            found.finish_within, found.finish_setting = read.limit, text
            if program.limit is not None and program.limit.unit == "ms":
                found.finish_format = ValueFormat.MILLISECONDS_IN_TEXT
    if found.defaults is None:
        found.defaults = settings.default_limit(proof, started, limited=bool(limits))


def _knative_drain(container: Container, ref: NodeRef) -> Setting[timedelta] | None:
    """Return how long a server of Knative goes on, as the header of its probe shows."""
    probe = container.readinessProbe
    asked = probe.httpGet if probe is not None else None
    headers = asked.get("httpHeaders") if isinstance(asked, dict) else None
    for header in headers if isinstance(headers, list) else ():
        name = header.get("name") if isinstance(header, dict) else None
        if isinstance(name, str) and name.lower() == facts.KNATIVE_PROBE.value:
            origin = Origin(OriginKind.DEFAULT, "Knative's default", ref / "readinessProbe")
            return Setting("quiet period", facts.KNATIVE_QUIET.value, origin)
    return None


def _serves_on(words: Sequence[Word]) -> Setting[timedelta] | None:
    """Return a flag with which a server goes on accepting after its stop signal."""
    for flag, written in flag_values(words, (facts.SERVE_ON_FLAG.value,)):
        try:
            duration = go_duration(written.text)
        except ValueError:
            return None
        return Setting("drain", duration, Origin(OriginKind.EXPLICIT, flag, written.location))
    return None


def _words(container: Container, ref: NodeRef) -> Iterator[Word]:
    """Yield words of a command line whose program is not clear, a shell's script taken apart."""
    script = shell_script(container.command + container.args)
    for name in ("command", "args"):
        for index, word in enumerate(getattr(container, name)):
            location = ref / name / index
            for part in (tokens(word) or ()) if word == script else (word,):
                yield Word(part, location)


def _further_words(programs: Iterable[Program], known: ContainerConfig) -> Iterator[Word]:
    """Yield the flags that programs take from a variable of theirs."""
    for name in {program.arguments_from for program in programs}:
        further = known.variables.get(name) if name else None
        if further is not None:
            for part in _split(further.text):
                yield Word(part, further.location, further.inherited)


def _split(text: str) -> list[str]:
    import shlex  # noqa: PLC0415 - seldom needed

    try:
        return shlex.split(text)
    except ValueError:
        return []


def _java_options(known: ContainerConfig, words: Sequence[Word]) -> dict[str, WrittenText]:
    """System properties given to the JVM, by their canonical name."""
    found_options = [
        WrittenText(option, written.location, written.inherited)
        for name in JAVA_OPTIONS
        if (written := known.variables.get(name)) is not None
        for option in _split(written.text)
    ]
    found_options += [WrittenText(word.text, word.location, word.inherited) for word in words]
    found = {}
    for option in found_options:
        key, equals, value = option.text.removeprefix("-D").partition("=")
        if option.text.startswith("-D") and equals:
            found[canonical(key)] = WrittenText(value, option.location, option.inherited)
    return found


def _runs(program: Program, words: Sequence[Word]) -> Word | None:
    """Return where the command line runs a program: first, or after its launcher."""
    wanted: dict[str, set[str]] = {}
    for each in program.programs + program.modules:
        name, _, needed_word = each.partition(" ")
        wanted.setdefault(name, set()).add(needed_word)
    texts = {word.text for word in words} | {base_name(word.text) for word in words}
    if not texts.isdisjoint(program.without):
        return None
    for index, word in enumerate(words):
        needed = wanted.get(base_name(word.text))
        if needed is None or not ("" in needed or needed & texts or word.text in program.modules):
            continue
        before = base_name(words[index - 1].text) if index else "--"
        if before in facts.LAUNCHERS or "=" in before:
            return word
    return None


def _proof(
    program: Program,
    words: Sequence[Word],
    options: dict[str, WrittenText],
    known: ContainerConfig,
    ref: NodeRef,
) -> WrittenText | None:
    """Return the evidence that the program runs here."""
    runs = _runs(program, words)
    if runs is not None:
        return WrittenText(runs.text, runs.location)
    started_by_name = bool(program.programs or program.modules)
    flags = [flag for each in program.settings for flag in each.flags]
    switches = [s.setting for s in program.switches if not s.is_variable]
    flags += [f"--{name}=" for name in switches]
    for word in words:
        if not started_by_name and any(word.text.startswith(flag) for flag in flags):
            return WrittenText(word.text, word.location)
    if started_by_name and not program.evidence:
        return None
    variables = {name for each in program.settings for name in each.variables}
    for name, written in known.variables.items():
        if name.upper().startswith(program.evidence) or name.upper() in variables:
            return written or WrittenText("", ref / "name")
    if not options and not known.properties:
        return None
    properties = [*switches, *(name for each in program.settings for name in each.properties)]
    prefixes = {canonical(name).partition(".")[0] for name in properties}
    for source in (options, known.properties):
        for name, written in source.items():
            if name.partition(".")[0] in prefixes:
                return written
    return None


class _Settings(NamedTuple):
    """The settings of a program that runs here, wherever they are written."""

    program: Program
    words: Sequence[Word]
    options: dict[str, WrittenText]
    known: ContainerConfig

    def limits(self) -> list[tuple[str, ReadLimit]]:
        """Return the limit with its text wherever it is written, the strongest first.

        A problem where it has no effect.
        """
        program = self.program
        # A limit is dead where the shutdown that it belongs to is off.
        off = program.waits_if is not None and program.waits_since is None
        if program.limit is None or (off and not self.is_asked_to_wait()):
            return []
        return self._written(program.limit)

    def _written(self, setting: TimeSetting) -> list[tuple[str, ReadLimit]]:
        known = self.known
        upper = {name.upper(): written for name, written in known.variables.items()}
        hidden = known.open_ended or any(upper.get(n, "") is None for n in setting.variables)
        files = {} if hidden else known.properties  # a variable that is not visible is stronger
        places = [
            *(
                (flag, WrittenText(word.text, word.location, word.inherited))
                for flag, word in flag_values(self.words, setting.flags)
            ),
            *((name, self.options.get(canonical(name))) for name in setting.properties),
            *((name, upper.get(name)) for name in setting.variables),
            *((name, files.get(canonical(name))) for name in setting.properties),
            *_directives(setting, self.words, known),
        ]
        return [
            (_as_written(name, written.text), read_limit(self.program, setting, name, written))
            for name, written in places
            if written is not None and not is_templated(written.text)
        ]

    def serves_on(self, proof: WrittenText) -> Setting[timedelta] | None:
        """Return how long it goes on accepting after its stop signal; None: not at all."""
        setting = self.program.serves_on
        if setting is None or setting.assumed_off:
            return None
        for _, read in self._written(setting):
            if read.limit is not None:
                return replace(read.limit, name="drain")
        if setting.default_time is None:
            return None
        origin = Origin(OriginKind.DEFAULT, f"{self.program.name}'s default", proof.location)
        return Setting("drain", setting.default_time, origin)

    def _find(self, switch: Switch) -> WrittenText | None:
        """Return where a switch is written: the strongest place."""
        name = switch.setting
        if switch.is_variable:
            places = [self.known.variables.get(name)]
        else:
            variable = switch.variable
            hidden = self.known.open_ended or self.known.variables.get(variable, "") is None
            flag = f"--{name}="
            places = [
                *(
                    WrittenText(word.text.removeprefix(flag), word.location)
                    for word in self.words
                    if word.text.startswith(flag)
                ),
                self.options.get(canonical(name)),
                self.known.variables.get(variable),
                None if hidden else self.known.properties.get(canonical(name)),
            ]
        return next((written for written in places if written is not None), None)

    def is_asked_to_wait(self) -> bool:
        """Whether it is set to finish its requests."""
        switch = self.program.waits_if
        if switch is None:
            return False
        written = self._find(switch)
        return written is not None and _plain(written) == switch.value.lower()

    def abrupt(self, problems: list[Problem]) -> Setting[str] | None:
        """Return the setting with which the program does not wait for its requests."""
        waits = self.program.waits_if
        for switch in self.program.cuts_if:
            written = self._find(switch)
            if written is None:
                continue
            value = _plain(written)
            if value == switch.value.lower():
                return _stops(switch.text, written)
            same = waits is not None and waits.setting == switch.setting
            if same and waits is not None and value != waits.value.lower():
                if is_templated(written.text):
                    continue
                problems.append(
                    SettingIgnored(
                        location=written.location,
                        key=switch.setting,
                        value=written.text,
                        reason=f"is neither '{waits.value}' nor '{switch.value}'",
                        program=self.program.name,
                    )
                )
        return None

    def how_to_wait(self, stop: Setting[str]) -> str:
        """Return what to write instead of a setting that makes the program cut its requests."""
        switch, location = self.program.waits_if, source_location(stop)
        if switch is None or location is None or switch.setting not in stop.origin.label:
            return ""
        return f"set {switch.setting} to {switch.value} ({location.region()})"

    def misplaced(self) -> Iterator[SettingIgnored]:
        """Yield properties that have the name of a setting, but below another key, or above it."""
        program, properties = self.program, self.known.properties
        switches = {s.setting: s for s in program.switches if not s.is_variable}
        times = [name for each in program.settings for name in each.properties]
        for setting in dict.fromkeys([*switches, *times]):
            right = canonical(setting)
            values = {s.value for s in program.switches if s.setting == setting}
            for name, written in properties.items():
                below, above = name.endswith(f".{right}"), right.endswith(f".{name}")
                if not (below or above) or (values and _plain(written) not in values):
                    continue
                reason = f"{program.name} reads '{setting}' from the top of the file"
                yield SettingIgnored(
                    location=written.location,
                    key=name,
                    value=written.text,
                    reason=reason,
                    program=program.name,
                )

    def default_limit(
        self, proof: WrittenText, started: StartedProgram | None, *, limited: bool
    ) -> DefaultLimit | None:
        """Return its behaviour if nothing is written; None if it may be set invisibly elsewhere."""
        program, setting = self.program, self.program.limit
        delay = self._delay()
        origin = Origin(OriginKind.DEFAULT, f"{program.name}'s default", proof.location)
        name = Setting("framework", program.name, origin)
        if limited or setting is None or self._hidden(setting):
            return DefaultLimit(name, None, unbounded=False, delay=delay) if delay else None
        default = setting.default_time
        unbounded = setting.unlimited and not (started is not None and started.by_image)
        if program.waits_if is not None and program.waits_since is None:
            default = default if self.is_asked_to_wait() else None
        for variant in program.variants:
            texts = StartedProgram(tuple(self.words))
            if variant.limit is not None and fits(variant, texts):
                default, unbounded = parse_time(variant.limit), False
        if default is None and not unbounded and delay is None:
            return None
        label = f"{program.name} shutdown timeout"
        limit = None if default is None else Setting(label, default, origin)
        spellings = (*setting.flags[-1:], *setting.variables, *setting.properties)
        return DefaultLimit(name, limit, unbounded, delay, next(iter(spellings), ""))

    def _hidden(self, setting: TimeSetting) -> bool:
        """Whether the limit may be set where it is not seen."""
        program, known, words = self.program, self.known, self.words
        upper = {name.upper(): written for name, written in known.variables.items()}
        names = [*setting.variables, program.arguments_from]
        if known.open_ended or any(upper.get(name, "") is None for name in names):
            return True
        if not program.programs:
            return False
        return any(
            word.text in facts.CONFIG_FLAGS or facts.CONFIG_FILES.fullmatch(word.text)
            for word in words[1:]
            if not is_shell(base_name(words[0].text))
        )

    def _delay(self) -> Setting[timedelta] | None:
        """Return a delay that has an effect in some builds only."""
        setting = self.program.serves_on
        if setting is None or not setting.assumed_off:
            return None
        found = self._written(setting)
        name = setting.properties[0]
        return next((replace(r.limit, name=name) for _, r in found if r.limit is not None), None)


#: A comment of a configuration file.
_COMMENT: Final = lazy_pattern(r"(?m)(?<!\S)#.*$")


def _plain(written: WrittenText) -> str:
    return written.text.strip().lower()


def _directives(
    setting: TimeSetting, words: Sequence[Word], known: ContainerConfig
) -> Iterator[tuple[str, WrittenText]]:
    """Yield limit in a server's own configuration: on its command line, or in a mounted file."""
    name = setting.directive
    if not name:
        return
    pattern = re.compile(rf"(?:^|[\s;{{]){re.escape(name)}(?:[ \t]*=[ \t]*|[ \t]+)([^\s;{{}}]+)")
    texts = (WrittenText(word.text, word.location, word.inherited) for word in words)
    for written in (*texts, *known.files):
        if name not in written.text:
            continue
        found = pattern.search(_COMMENT.sub("", written.text))
        if found is not None:
            yield name, WrittenText(found[1], written.location, written.inherited)


def _as_written(name: str, value: str) -> str:
    """Return a flag, variable or property with its value, as people write it."""
    return f"{name} {value}" if name.startswith("-") else f"{name}={value}"


def _stops(reason: str, written: WrittenText) -> Setting[str]:
    kind = OriginKind.INHERITED if written.inherited else OriginKind.EXPLICIT
    return Setting("behaviour", "abrupt", Origin(kind, reason, written.location))


def _misspelled(
    known_programs: Sequence[Program], words: Sequence[Word], known: ContainerConfig
) -> Iterator[SettingIgnored]:
    """Names that are nearly those of a limit: no program reads them."""
    settings = [(program, each) for program in known_programs for each in program.settings]
    variables = tuple(name for _, each in settings for name in each.variables)
    beginnings = tuple({name[:4] for name in variables})
    for name, written in known.variables.items():
        if written is None or not name.startswith(beginnings) or name in variables:
            continue
        close = close_name(name, variables, 0.9)
        if close is not None:
            yield _meant(name, close, written)
    programs = {base_name(word.text) for word in words}
    for program, setting in settings:
        if not setting.flags or (program.programs and _starts_none(program, programs)):
            continue
        for word in words:
            flag = word.text.partition("=")[0]
            if not flag.startswith("--") or flag in setting.flags or is_templated(flag):
                continue
            close = close_name(flag, setting.flags, 0.85)
            if close is not None:
                yield _meant(flag, close, WrittenText(word.text, word.location))
    properties = tuple(canonical(name) for _, each in settings for name in each.properties)
    for name, written in known.properties.items():
        close = close_name(name, properties, 0.9)
        if name not in properties and close is not None:
            yield _meant(name, close, written)


def _meant(name: str, instead: str, written: WrittenText) -> SettingIgnored:
    reason = f"is '{instead}' meant?"
    return SettingIgnored(location=written.location, key=name, value=written.text, reason=reason)
