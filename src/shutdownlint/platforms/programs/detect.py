"""Finds a program's shutdown settings in its flags, variables and mounted files.

A flag, variable or property that the program would not take (misspelled, not a number, without
its unit) is ignored, and reported.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from shutdownlint.patterns import lazy_pattern
from shutdownlint.platforms.durations import go_duration
from shutdownlint.platforms.programs import facts
from shutdownlint.platforms.programs.container_config import (
    ContainerConfig,
    WrittenText,
    canonical,
    read_container_config,
)
from shutdownlint.platforms.programs.facts import FRAMEWORKS, Framework
from shutdownlint.platforms.programs.limit_values import ReadLimit, is_templated, read_limit
from shutdownlint.platforms.programs.problems import SettingIgnored
from shutdownlint.platforms.programs.start import StartedProgram, Word, flag_values
from shutdownlint.shell.syntax import base_name, is_shell, shell_script, tokens
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting
from shutdownlint.wording import close_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import timedelta

    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.manifests.resources import Container
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.context import AnalysisContext


class DefaultLimit(Struct, frozen=True):
    """The behaviour of a program if no limit is written: its defaults.

    They can be changed in a file of the image, so they are assumptions. ``default`` is its limit
    (None: there is none, or it is not known), ``unbounded``: it waits without one, ``delay`` how
    long it goes on before its shutdown begins.
    """

    name: Setting[str]
    default: Setting[timedelta] | None = None
    unbounded: bool = False
    delay: Setting[timedelta] | None = None


class ProgramFacts(Struct):
    """The facts about a container's program. ``behaviour`` is set if it does not wait."""

    finish_within: Setting[timedelta] | None = None
    #: The flag, variable or property of ``finish_within`` with its value.
    finish_setting: str = ""
    #: The time that it goes on accepting after its stop signal.
    drain: Setting[timedelta] | None = None
    defaults: DefaultLimit | None = None
    behaviour: Setting[str] | None = None
    #: The frameworks that the files show, and whether one is set to finish its requests.
    frameworks: list[str] = field(default_factory=list)
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
    problems: list[SettingIgnored] = field(default_factory=list)


def detect_program(
    container: Container,
    ref: NodeRef,
    started: StartedProgram | None,
    workload: Workload,
    context: AnalysisContext,
) -> ProgramFacts:
    """Return the framework's limit, its default, and settings without effect."""
    known = read_container_config(container, ref, workload, context)
    own = started.words if started is not None else _words(container, ref)
    words = [*own, *_further_words(known)]
    options = _java_options(known, words)
    found = ProgramFacts()
    found.behaviour = _abrupt(words, options, known, found.problems)
    found.drain = _serves_on(words) or _knative_drain(container, ref)
    names = {base_name(word.text) for word in words}
    for fact in FRAMEWORKS:
        framework = fact.value
        if not framework.proofs and framework.programs and names.isdisjoint(framework.programs):
            continue  # most frameworks, of most containers
        proof = _proof(framework, words, options, known, ref)
        if proof is None:
            continue
        if found.behaviour is not None and framework.name in (facts.SPRING, facts.CELERY):
            continue  # it is configured not to wait
        found.frameworks.append(framework.name)
        limits = _limits(framework, words, options, known)
        found.asked_to_wait = found.asked_to_wait or _asked_to_wait(
            framework, options, known, limited=bool(limits)
        )
        for text, read in limits:
            if read.problem is not None:
                found.problems.append(read.problem)
            if read.limit is not None and found.finish_within is None:
                found.finish_within, found.finish_setting = read.limit, text
        if found.defaults is None:
            found.defaults = _default_limit(
                framework,
                words,
                options,
                known,
                proof,
                limited=bool(limits),
                by_image=started is not None and started.by_image,
            )
    found.problems += _misspelled(words, known)
    return found


def _asked_to_wait(
    framework: Framework,
    options: dict[str, WrittenText],
    known: ContainerConfig,
    *,
    limited: bool,
) -> bool:
    """Whether a framework that waits only where that is set is set to wait."""
    if framework.name == facts.QUARKUS:
        return limited
    return any(
        framework.name == name and _says(switch, on, options, known)
        for name, switch, on in _SWITCHED
    )


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


def _further_words(known: ContainerConfig) -> Iterator[Word]:
    """Yield the flags that Gunicorn takes from its variable."""
    further = known.variables.get(facts.GUNICORN_ARGUMENTS)
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
        for name in facts.JAVA_OPTIONS
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


def _runs(programs: tuple[str, ...], words: Sequence[Word]) -> Word | None:
    """Return where the command line runs one of these programs: first, or after its launcher."""
    if not programs:
        return None
    for index, word in enumerate(words):
        if base_name(word.text) in programs:
            before = base_name(words[index - 1].text) if index else "--"
            if before in facts.LAUNCHERS or "=" in before:
                return word
    return None


def _proof(
    framework: Framework,
    words: Sequence[Word],
    options: dict[str, WrittenText],
    known: ContainerConfig,
    ref: NodeRef,
) -> WrittenText | None:
    """Return the evidence that the framework runs here."""
    program = _runs(framework.programs, words)
    if program is not None:
        # Of Celery's commands only its worker runs tasks.
        works = framework.name != facts.CELERY or any(word.text == "worker" for word in words)
        return WrittenText(program.text, program.location) if works else None
    for word in words:
        if not framework.programs and any(word.text.startswith(f) for f in framework.flags):
            return WrittenText(word.text, word.location)
    if framework.programs and not framework.proofs:
        return None
    for name, written in known.variables.items():
        if name.upper().startswith(framework.proofs) or name.upper() in framework.variables:
            return written or WrittenText("", ref / "name")
    if not options and not known.properties:
        return None
    prefixes = {canonical(name).partition(".")[0] for name in framework.properties}
    if framework.name == facts.SPRING:
        prefixes.add(canonical(facts.SPRING_MODE.value).partition(".")[0])
    for source in (options, known.properties):
        for name, written in source.items():
            if name.partition(".")[0] in prefixes:
                return written
    return None


def _limits(
    framework: Framework,
    words: Sequence[Word],
    options: dict[str, WrittenText],
    known: ContainerConfig,
) -> list[tuple[str, ReadLimit]]:
    """Return the limit with its text wherever it is written, the strongest first.

    A problem where it has no effect.
    """
    if framework.name == facts.MICRONAUT and not _says(
        facts.MICRONAUT_SWITCH.value, "true", options, known
    ):
        return []  # its graceful shutdown is off, and the period dead
    upper = {name.upper(): written for name, written in known.variables.items()}
    hidden = known.open_ended or any(upper.get(n, "") is None for n in framework.variables)
    files = {} if hidden else known.properties  # a variable where it is not visible is stronger
    places = [
        *(
            (flag, WrittenText(word.text, word.location, word.inherited))
            for flag, word in flag_values(words, framework.flags)
        ),
        *((name, options.get(canonical(name))) for name in framework.properties),
        *((name, upper.get(name)) for name in framework.variables),
        *((name, files.get(canonical(name))) for name in framework.properties),
        *_directives(framework, words, known),
    ]
    return [
        (_as_written(name, written.text), read_limit(framework, name, written))
        for name, written in places
        if written is not None and not is_templated(written.text)
    ]


#: A comment of a configuration file.
_COMMENT: Final = lazy_pattern(r"(?m)(?<!\S)#.*$")


def _directives(
    framework: Framework, words: Sequence[Word], known: ContainerConfig
) -> Iterator[tuple[str, WrittenText]]:
    """Yield limit in a server's own configuration: on its command line, or in a mounted file."""
    name = framework.directive
    if not name:
        return
    pattern = re.compile(rf"(?:^|[\s;{{]){re.escape(name)}[ \t]+([^\s;{{}}]+)")
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


def _abrupt(
    words: Sequence[Word],
    options: dict[str, WrittenText],
    known: ContainerConfig,
    problems: list[SettingIgnored],
) -> Setting[str] | None:
    """Return the setting with which the program does not wait for its requests."""
    mode = canonical(facts.SPRING_MODE.value)
    hidden = known.open_ended or known.variables.get("SERVER_SHUTDOWN", "") is None
    files = None if hidden else known.properties.get(mode)  # a variable is stronger
    flag = f"--{facts.SPRING_MODE.value}="
    flags = [
        WrittenText(w.text.removeprefix(flag), w.location) for w in words if w.text.startswith(flag)
    ]
    for written in (
        *flags,
        options.get(mode),
        known.variables.get("SERVER_SHUTDOWN"),
        files,
    ):
        if written is None:
            continue
        value = written.text.strip().lower()
        if value == "immediate":
            return _stops(f"{facts.SPRING_MODE.value}=immediate", written)
        if value != "graceful" and not is_templated(written.text):
            problems.append(
                SettingIgnored(
                    location=written.location,
                    key=facts.SPRING_MODE.value,
                    value=written.text,
                    reason="is neither 'graceful' nor 'immediate'",
                    program=facts.SPRING,
                )
            )
        break
    name, remap = facts.CELERY_REMAP
    written = known.variables.get(name)
    if _runs(("celery",), words) is not None and written is not None and written.text == remap:
        return _stops(f"{name}={remap}", written)
    return None


def _stops(reason: str, written: WrittenText) -> Setting[str]:
    kind = OriginKind.INHERITED if written.inherited else OriginKind.EXPLICIT
    return Setting("behaviour", "abrupt", Origin(kind, reason, written.location))


#: Frameworks that wait once something is switched on: its name, and the value.
_SWITCHED: Final = (
    (facts.SPRING, facts.SPRING_MODE.value, "graceful"),
    (facts.MICRONAUT, facts.MICRONAUT_SWITCH.value, "true"),
)


def _default_limit(
    framework: Framework,
    words: Sequence[Word],
    options: dict[str, WrittenText],
    known: ContainerConfig,
    proof: WrittenText,
    *,
    limited: bool,
    by_image: bool,
) -> DefaultLimit | None:
    """Return its behaviour if nothing is written; None if it may be set invisibly elsewhere."""
    delay = _delay(framework, options, known)
    origin = Origin(OriginKind.DEFAULT, f"{framework.name}'s default", proof.location)
    name = Setting("framework", framework.name, origin)
    if limited or _hidden(framework, words, known):
        return DefaultLimit(name, None, unbounded=False, delay=delay) if delay else None
    default = framework.default
    unbounded = framework.unbounded and not by_image
    if framework.name == facts.MICRONAUT and _asked_to_wait(
        framework, options, known, limited=False
    ):
        default = facts.MICRONAUT_DEFAULT.value
    texts = [word.text for word in words]
    if framework.name == facts.PUMA and any(t in ("-w", "--workers") for t in texts):
        default, unbounded = facts.PUMA_WORKER.value, False
    if default is None and not unbounded and delay is None:
        return None
    label = f"{framework.name} shutdown timeout"
    setting = None if default is None else Setting(label, default, origin)
    return DefaultLimit(name, setting, unbounded, delay)


def _hidden(framework: Framework, words: Sequence[Word], known: ContainerConfig) -> bool:
    """Whether the limit may be set where it is not seen."""
    if known.open_ended or known.variables.get(facts.GUNICORN_ARGUMENTS, "") is None:
        return True
    upper = {name.upper(): written for name, written in known.variables.items()}
    if any(upper.get(n, "") is None for n in framework.variables):
        return True
    if not framework.programs:
        return False
    return any(
        word.text in facts.CONFIG_FLAGS or facts.CONFIG_FILES.fullmatch(word.text)
        for word in words[1:]
        if not is_shell(base_name(words[0].text))
    )


def _says(name: str, value: str, options: dict[str, WrittenText], known: ContainerConfig) -> bool:
    """Whether a property has a value, wherever it is written."""
    variable = re.sub(r"[.\-]", "_", name).upper()
    places = (
        options.get(canonical(name)),
        known.variables.get(variable),
        known.properties.get(canonical(name)),
    )
    first = next((written for written in places if written is not None), None)
    return first is not None and first.text.strip().lower() == value


def _delay(
    framework: Framework, options: dict[str, WrittenText], known: ContainerConfig
) -> Setting[timedelta] | None:
    if framework.name != facts.QUARKUS:
        return None
    name = facts.QUARKUS_DELAY.value
    variable = known.variables.get(name.replace(".", "_").upper())
    for written in (options.get(name), variable, known.properties.get(name)):
        if written is not None:
            return read_limit(framework, name, written).limit
    return None


def _misspelled(words: Sequence[Word], known: ContainerConfig) -> Iterator[SettingIgnored]:
    """Names that are nearly those of a limit: no framework reads them."""
    variables = tuple(name for fact in FRAMEWORKS for name in fact.value.variables)
    beginnings = tuple({name[:4] for name in variables})
    for name, written in known.variables.items():
        if written is None or not name.startswith(beginnings) or name in variables:
            continue
        close = close_name(name, variables, 0.9)
        if close is not None:
            yield _meant(name, close, written)
    programs = {base_name(word.text) for word in words}
    for fact in FRAMEWORKS:
        framework = fact.value
        if framework.programs and not programs & set(framework.programs):
            continue
        for word in words:
            flag = word.text.partition("=")[0]
            if not flag.startswith("--") or flag in framework.flags or is_templated(flag):
                continue
            close = close_name(flag, tuple(framework.flags), 0.85)
            if close is not None:
                yield _meant(flag, close, WrittenText(word.text, word.location))
    properties = tuple(canonical(name) for fact in FRAMEWORKS for name in fact.value.properties)
    for name, written in known.properties.items():
        close = close_name(name, properties, 0.9)
        if name not in properties and close is not None:
            yield _meant(name, close, written)


def _meant(name: str, instead: str, written: WrittenText) -> SettingIgnored:
    reason = f"is '{instead}' meant?"
    return SettingIgnored(location=written.location, key=name, value=written.text, reason=reason)
