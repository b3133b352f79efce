"""Reads a Dockerfile: its stages, and what the last one says of the start of a container.

Sources: moby/buildkit frontend/dockerfile/parser (lines, heredocs, escape), dockerfile2llb
(``dispatchEntrypoint`` drops a command that an earlier stage set; shell forms).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from shutdownlint import limits
from shutdownlint.patterns import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

_ESCAPE: Final = lazy_pattern(r"#[ \t]*escape[ \t]*=[ \t]*([\\`])[ \t]*", 0)
_HEREDOC: Final = lazy_pattern(r"<<-?[\"']?([A-Za-z_][A-Za-z0-9_]{0,100})[\"']?")
_VARIABLE: Final = lazy_pattern(
    r"\$(?:\{([A-Za-z_][A-Za-z0-9_]{0,100})(?::?-([^{}$]{0,300}))?\}|([A-Za-z_][A-Za-z0-9_]{0,100}))"
)
_SHELL: Final = ("/bin/sh", "-c")
_LONGEST: Final = 4096


class Instruction(Struct, frozen=True):
    """One instruction: its name in capitals, its text on one line, its first line in the file."""

    name: str
    text: str
    line: int


class Stage(Struct):
    """What a stage says; ``base`` is the image or the earlier stage that it begins with.

    ``decides`` is the line that says what starts; 0 where none does. ``copied`` are the files that
    it takes from the build's folder: pairs of source and target.
    """

    name: str
    base: str
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    own_command: bool = False
    shell: tuple[str, ...] = _SHELL
    user: str = ""
    stop_signal: str = ""
    folder: str = ""
    env: dict[str, str] = field(default_factory=dict)
    copied: list[tuple[str, str]] = field(default_factory=list)
    decides: int = 0


def read_stage(text: str, target: str = "") -> Stage | None:
    """Return the last stage of a Dockerfile, or that of a name; None where there is none.

    What it takes over from earlier stages is part of it.
    """
    arguments: dict[str, str] = {}
    stages: list[Stage] = []
    for instruction in _instructions(text):
        if instruction.name == "FROM":
            stages.append(_begin_stage(instruction, arguments, stages))
            if len(stages) > limits.MAX_DOCKERFILE_STAGES:
                return None
        elif instruction.name == "ARG":
            for name, value in _pairs(instruction.text):
                (stages[-1].env if stages else arguments).setdefault(name, value)
        elif stages:
            _take(stages[-1], instruction)
    if target:
        return next((stage for stage in stages if stage.name == target.lower()), None)
    return stages[-1] if stages else None


def _instructions(text: str) -> Iterator[Instruction]:
    """Yield the instructions, with continued lines joined and without comments and heredocs."""
    lines = text.splitlines()
    first = _ESCAPE.fullmatch(lines[0].strip()) if lines else None
    escape = first[1] if first is not None else "\\"
    number = 0
    while number < len(lines):
        begin = number
        parts: list[str] = []
        while number < len(lines):
            line = lines[number].strip()
            number += 1
            if line.startswith("#") or not line:
                if not parts:
                    break
                continue
            parts.append(line.removesuffix(escape).rstrip())
            if not line.endswith(escape):
                break
        joined = " ".join(parts)
        name, _, rest = joined.partition(" ")
        if not name:
            continue
        ends = _HEREDOC.findall(rest) if "<<" in rest else []
        for end in ends:
            while number < len(lines) and lines[number].strip() != end:
                number += 1
            number += 1
        yield Instruction(name.upper(), rest.strip(), begin + 1)


def _begin_stage(instruction: Instruction, arguments: dict[str, str], stages: list[Stage]) -> Stage:
    words = [word for word in instruction.text.split() if not word.startswith("--")]
    base = _expand(words[0], arguments) if words else ""
    named = len(words) >= 3 and words[1].upper() == "AS"
    name = words[2].lower() if named else str(len(stages))
    earlier = next((stage for stage in stages if stage.name == base.lower()), None)
    if earlier is None:
        return Stage(name, base)
    return Stage(
        name,
        earlier.base,
        earlier.entrypoint,
        earlier.command,
        shell=earlier.shell,
        user=earlier.user,
        stop_signal=earlier.stop_signal,
        folder=earlier.folder,
        env={**earlier.env},
        copied=[*earlier.copied],
        decides=earlier.decides,
    )


def _take(stage: Stage, instruction: Instruction) -> None:
    """Take what an instruction says."""
    text = instruction.text
    match instruction.name:
        case "CMD":
            stage.command, stage.own_command = _start(stage, text), True
            stage.decides = stage.decides if stage.entrypoint else instruction.line
        case "ENTRYPOINT":
            stage.entrypoint, stage.decides = _start(stage, text), instruction.line
            stage.command = stage.command if stage.own_command else ()
        case "SHELL":
            stage.shell = _words(text) or stage.shell
        case "USER":
            stage.user = _expand(text, stage.env)[:_LONGEST]
        case "STOPSIGNAL":
            stage.stop_signal = _expand(text, stage.env)[:_LONGEST]
        case "WORKDIR":
            stage.folder = _expand(text, stage.env).rstrip("/")
        case "ENV":
            for name, value in _pairs(text):
                stage.env[name] = _expand(value, stage.env)[:_LONGEST]
        case "COPY" | "ADD":
            _copy(stage, text)
        case _:
            pass


def _copy(stage: Stage, text: str) -> None:
    """Note the files of a COPY that come from the build's folder."""
    written = text.split()
    if any(word.startswith("--from=") for word in written):
        return
    words = _words(text) or tuple(word for word in written if not word.startswith("--"))
    if len(stage.copied) + len(words) > limits.MAX_DOCKERFILE_COPIES:
        return
    for source in words[:-1]:
        stage.copied.append((source, words[-1]))


def _start(stage: Stage, text: str) -> tuple[str, ...]:
    """Return the words of CMD or ENTRYPOINT: those of its list, or a command of the shell."""
    words = _words(text)
    if words is not None:
        return tuple(word[:_LONGEST] for word in words)
    return (*stage.shell, text[:_LONGEST]) if text else ()


def _words(text: str) -> tuple[str, ...] | None:
    """Return the texts of a JSON list; None where it is none."""
    if not text.startswith("["):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list) or not all(isinstance(word, str) for word in found):
        return None
    return tuple(found)


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """Yield the names and values of ENV and ARG: ``A=1 B="2 3"``, or ``A 1``."""
    name, equals, _ = text.partition("=")
    if not equals or " " in name:
        name, _, value = text.partition(" ")
        if value:
            yield name, value.strip()
        return
    for found in _PAIR.finditer(text):
        value = found[2]
        if value[:1] in ("'", '"'):
            value = value[1:-1]
        yield found[1], value


_PAIR: Final = lazy_pattern(
    r"(?<![^ \t])([A-Za-z_][A-Za-z0-9_]{0,200})="
    r"(\"[^\"\n]{0,4096}\"|'[^'\n]{0,4096}'|[^ \t\"']{0,4096})"
)


def _expand(text: str, known: dict[str, str]) -> str:
    """Return the text with its variables filled in; what is not known stays."""
    if "$" not in text:
        return text
    return _VARIABLE.sub(lambda f: known.get(f[1] or f[3]) or f[2] or f[0], text)[:_LONGEST]
