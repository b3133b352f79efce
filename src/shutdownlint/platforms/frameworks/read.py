"""How a container's framework goes about its shutdown, by all that the files show.

A flag, variable or property that the framework would not take (misspelled, not a number, without
its unit) counts as not there, and is told.
"""

from __future__ import annotations

import difflib
import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from shutdownlint.manifests.resources import looks_templated
from shutdownlint.platforms.defect import Defect
from shutdownlint.platforms.frameworks import facts
from shutdownlint.platforms.frameworks.configured import Configured, Written, canonical, configured
from shutdownlint.platforms.frameworks.facts import FRAMEWORKS, Framework
from shutdownlint.platforms.kubernetes.shell import base_name, shell_script, tokens
from shutdownlint.shutdown import Behaviour, FrameworkPlan, Origin, OriginKind, Setting
from shutdownlint.shutdown.span import ZERO, seconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import timedelta

    from shutdownlint.manifests.document import Ref
    from shutdownlint.manifests.resources import Container
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.world import World


@dataclass(slots=True)
class Shown:
    """What is known of a container's framework. ``behaviour`` is set where it does not wait."""

    finish_within: Setting[timedelta] | None = None
    plan: FrameworkPlan | None = None
    behaviour: Setting[Behaviour] | None = None
    defects: list[Defect] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    where: Ref


def framework_of(container: Container, ref: Ref, workload: Workload, world: World) -> Shown:
    """The framework's limit, its default, and what is written in vain."""
    known = configured(container, ref, workload, world)
    words = list(_words(container, ref, known))
    options = _java_options(known)
    shown = Shown()
    shown.behaviour = _abrupt(words, options, known)
    for fact in FRAMEWORKS:
        framework = fact.value
        proof = _proof(framework, words, options, known, ref)
        if proof is None:
            continue
        if shown.behaviour is not None and framework.name == facts.SPRING:
            continue  # its graceful shutdown is switched off
        limits = _limits(framework, words, options, known)
        taken = [limit for limit in limits if isinstance(limit, Setting)]
        shown.defects += [limit for limit in limits if isinstance(limit, Defect)]
        if taken:
            shown.finish_within = shown.finish_within or taken[0]
        elif shown.plan is None and shown.finish_within is None:
            shown.plan = _usual(framework, words, options, known, proof)
    if shown.finish_within is not None and shown.plan is not None:
        shown.plan = None
    shown.defects += _misspelled(words, known)
    return shown


def _words(container: Container, ref: Ref, known: Configured) -> Iterator[_Word]:
    """The words of the container's command line, a shell's script taken apart."""
    script = shell_script(container.command + container.args)
    for name in ("command", "args"):
        for index, word in enumerate(getattr(container, name)):
            where = ref / name / index
            for part in (tokens(word) or ()) if word == script else (word,):
                yield _Word(part, where)
    further = known.variables.get(facts.GUNICORN_ARGUMENTS)
    if further is not None and not further.inherited:
        yield from (_Word(part, further.where) for part in _split(further.text))  # type: ignore[arg-type]


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return []


def _java_options(known: Configured) -> dict[str, Written]:
    """System properties given to the JVM, by their canonical name."""
    found = {}
    for name in facts.JAVA_OPTIONS:
        written = known.variables.get(name)
        for option in _split(written.text) if written is not None else ():
            key, equals, value = option.removeprefix("-D").partition("=")
            if option.startswith("-D") and equals and written is not None:
                found[canonical(key)] = Written(value, written.where, written.inherited)
    return found


def _proof(
    framework: Framework,
    words: Sequence[_Word],
    options: dict[str, Written],
    known: Configured,
    ref: Ref,
) -> Written | None:
    """What shows that the framework runs here."""
    for word in words:
        if base_name(word.text) in framework.programs:
            return Written(word.text, word.where)
        if not framework.programs and any(word.text.startswith(f) for f in framework.flags):
            return Written(word.text, word.where)
    if framework.programs and not framework.proofs:
        return None
    for name, written in known.variables.items():
        if name.startswith(framework.proofs) or name in framework.variables:
            return written or Written("", ref / "name")
    wanted = {canonical(name) for name in framework.properties}
    prefixes = {name.partition(".")[0] for name in wanted}
    for source in (options, known.properties):
        for name, written in source.items():
            if name.partition(".")[0] in prefixes or (
                framework.name == facts.SPRING and name == canonical(facts.SPRING_MODE.value)
            ):
                return written
    return None


def _limits(
    framework: Framework,
    words: Sequence[_Word],
    options: dict[str, Written],
    known: Configured,
) -> list[Setting[timedelta] | Defect]:
    """The limit wherever it is written, the strongest first; a defect where it is in vain."""
    found: list[Setting[timedelta] | Defect] = []
    for flag, value in _flags(framework, words):
        found.append(_limit(framework, flag, value))
    for source, names in (
        (options, framework.properties),
        (known.properties, framework.properties),
    ):
        if source is known.properties:
            found += _variables(framework, known)
        for name in names:
            written = source.get(canonical(name))
            if written is not None and not looks_templated(written.text):
                found.append(_limit(framework, name, written))
    return found


def _variables(framework: Framework, known: Configured) -> Iterator[Setting[timedelta] | Defect]:
    for name in framework.variables:
        written = known.variables.get(name)
        if written is not None and not looks_templated(written.text):
            yield _limit(framework, name, written)


def _flags(framework: Framework, words: Sequence[_Word]) -> Iterator[tuple[str, Written]]:
    for index, word in enumerate(words):
        for flag in framework.flags:
            if word.text.startswith(f"{flag}="):
                yield flag, Written(word.text.removeprefix(f"{flag}="), word.where)
            elif word.text == flag and index + 1 < len(words):
                value = words[index + 1]
                if not looks_templated(value.text):
                    yield flag, Written(value.text, value.where)


_NUMBER: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)", re.IGNORECASE)
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_ISO: Final = re.compile(r"PT(?:([0-9.]+)H)?(?:([0-9.]+)M)?(?:([0-9.]+)S)?", re.IGNORECASE)


def _limit(framework: Framework, name: str, written: Written) -> Setting[timedelta] | Defect:
    value, reason = _duration(framework, written.text.strip())
    if value is None:
        words = {"key": name, "value": written.text, "reason": reason, "config": framework.name}
        return Defect("framework-setting-ignored", written.where, words)
    kind = OriginKind.INHERITED if written.inherited else OriginKind.EXPLICIT
    origin = Origin(kind, framework.name, written.where)
    return Setting(f"{framework.name} shutdown timeout", value, origin)


def _duration(framework: Framework, text: str) -> tuple[timedelta | None, str]:
    """The duration, or why it is none."""
    second = seconds(1)
    iso = _ISO.fullmatch(text) if framework.suffixes else None
    if iso is not None and any(iso.groups()):
        hours, minutes, rest = (float(part or 0) for part in iso.groups())
        return seconds(hours * 3600 + minutes * 60 + rest), ""
    found = _NUMBER.fullmatch(text)
    whole = "whole number of milliseconds" if framework.unit < second else "number of seconds"
    if found is None:
        wanted = "a duration with a unit, such as 30s" if framework.suffixes else f"a {whole}"
        return None, f"is not {wanted}"
    number, unit = float(found.group(1)), found.group(2).lower()
    if unit and not (framework.suffixes and unit in _UNITS):
        return None, f"must be a {whole}, without a unit"
    if not unit and framework.unit < second and number < 1000:
        fix = f"write {found.group(1)}s" if framework.suffixes else "write thousands"
        return None, f"has no unit and reads as {found.group(1)} milliseconds: {fix}"
    value = seconds(number * _UNITS[unit]) if unit else framework.unit * number
    return (value, "") if value > ZERO else (None, "is no time at all")


def _abrupt(
    words: Sequence[_Word], options: dict[str, Written], known: Configured
) -> Setting[Behaviour] | None:
    """What is told not to wait for its requests."""
    mode = canonical(facts.SPRING_MODE.value)
    flag = f"--{facts.SPRING_MODE.value}="
    said = [Written(w.text.removeprefix(flag), w.where) for w in words if w.text.startswith(flag)]
    for written in (
        *said,
        options.get(mode),
        known.variables.get("SERVER_SHUTDOWN"),
        known.properties.get(mode),
    ):
        if written is None:
            continue
        if written.text.strip().lower() == "immediate":
            return _stops(facts.SPRING, written)
        break
    name, value = facts.CELERY_REMAP
    written = known.variables.get(name)
    runs = any(base_name(word.text) == "celery" for word in words)
    if runs and written is not None and written.text == value:
        return _stops(facts.CELERY, written)
    return None


def _stops(framework: str, written: Written) -> Setting[Behaviour]:
    kind = OriginKind.INHERITED if written.inherited else OriginKind.EXPLICIT
    return Setting(framework, Behaviour.ABRUPT, Origin(kind, framework, written.where))


#: Frameworks that have a limit once something is switched on.
_SWITCHED: Final = (
    (facts.SPRING, facts.SPRING_MODE.value, "graceful", facts.SPRING_PHASE.value),
    (facts.MICRONAUT, facts.MICRONAUT_SWITCH.value, "true", facts.MICRONAUT_USUAL.value),
)


def _usual(
    framework: Framework,
    words: Sequence[_Word],
    options: dict[str, Written],
    known: Configured,
    proof: Written,
) -> FrameworkPlan | None:
    """What it does where nothing is written; None where that may be set out of sight."""
    if known.open_ended or any(known.variables.get(n, proof) is None for n in framework.variables):
        return None
    usual, endless = framework.usual, framework.endless
    if framework.name == facts.SPRING and _says(
        facts.SPRING_MODE.value, "graceful", options, known
    ):
        usual = facts.SPRING_PHASE.value
    if framework.name == facts.MICRONAUT and _says(
        facts.MICRONAUT_SWITCH.value, "true", options, known
    ):
        usual = facts.MICRONAUT_USUAL.value
    texts = [word.text for word in words]
    if framework.name == facts.PUMA and any(t in ("-w", "--workers") for t in texts):
        usual, endless = facts.PUMA_WORKER.value, False
    delay = _delay(framework, options, known)
    if usual is None and not endless and delay is None:
        return None
    origin = Origin(OriginKind.DEFAULT, f"{framework.name}'s default", proof.where)
    setting = (
        Setting(f"{framework.name} shutdown timeout", usual, origin) if usual is not None else None
    )
    return FrameworkPlan(Setting("framework", framework.name, origin), setting, endless, delay)


def _says(name: str, value: str, options: dict[str, Written], known: Configured) -> bool:
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
    framework: Framework, options: dict[str, Written], known: Configured
) -> Setting[timedelta] | None:
    if framework.name != facts.QUARKUS:
        return None
    name = facts.QUARKUS_DELAY.value
    variable = known.variables.get(name.replace(".", "_").upper())
    for written in (options.get(name), variable, known.properties.get(name)):
        if written is not None:
            limit = _limit(framework, name, written)
            return limit if isinstance(limit, Setting) else None
    return None


def _misspelled(words: Sequence[_Word], known: Configured) -> Iterator[Defect]:
    """Names that are nearly those of a limit: no framework reads them."""
    variables = [name for fact in FRAMEWORKS for name in fact.value.variables]
    beginnings = tuple({name[:4] for name in variables})
    for name, written in known.variables.items():
        if written is None or not name.startswith(beginnings) or name in variables:
            continue
        close = difflib.get_close_matches(name, variables, 1, 0.9)
        if close:
            yield _meant(name, close[0], written)
    programs = {base_name(word.text) for word in words}
    for fact in FRAMEWORKS:
        framework = fact.value
        if framework.programs and not programs & set(framework.programs):
            continue
        for word in words:
            flag = word.text.partition("=")[0]
            if not flag.startswith("--") or flag in framework.flags:
                continue
            close = difflib.get_close_matches(flag, framework.flags, 1, 0.85)
            if close:
                yield _meant(flag, close[0], Written(word.text, word.where))
    properties = [canonical(name) for fact in FRAMEWORKS for name in fact.value.properties]
    for name, written in known.properties.items():
        close = difflib.get_close_matches(name, properties, 1, 0.9)
        if name not in properties and close:
            yield _meant(name, close[0], written)


def _meant(name: str, instead: str, written: Written) -> Defect:
    words = {"key": name, "value": written.text, "reason": f"is '{instead}' meant?"}
    return Defect("framework-setting-ignored", written.where, words)
