"""The program that a container starts, and the steps between it and the stop signal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from shutdownlint import limits
from shutdownlint.numbers import read_whole
from shutdownlint.patterns import lazy_pattern
from shutdownlint.platforms.locations import is_image_place
from shutdownlint.platforms.pods.images import command_line, image_shell
from shutdownlint.platforms.programs import facts
from shutdownlint.shell.forwarding import SignalForwarding
from shutdownlint.shell.syntax import base_name, is_shell, shell_script, tokens

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.manifests.resources import Container, PodSpec
    from shutdownlint.programs.images import ImageConfig
    from shutdownlint.programs.record import Program, Variant
    from shutdownlint.yaml_source.location import SourceLocation


class Word(Struct, frozen=True):
    """A word of a command line, and where it is written; ``inherited``: in another object."""

    text: str
    location: SourceLocation
    inherited: bool = False


class StartedProgram(Struct, frozen=True):
    """The program that a container runs, under the name that it is started by.

    ``words`` are its command line, itself included. ``first``: it is the container's first process,
    whose signals have no default action; False where an init or a shell is; None: not known.
    ``init`` is the init in front of it, ``group``: which signals the whole process group.
    ``shell_ends``: a shell between the two ends at the stop signal, and everything with it.
    ``killed_after_two``: ``su`` kills it two seconds after its signal. ``by_image``: the image
    starts it, not the manifest. ``entry_script`` is a script in front of it, which becomes the
    program if it is that of an official image. ``record`` is what is known of the program.
    """

    words: tuple[Word, ...]
    first: bool | None = True
    init: str = ""
    group: bool = False
    shell_ends: bool = False
    killed_after_two: bool = False
    by_image: bool = False
    entry_script: str = ""
    record: Program | None = None

    @property
    def name(self) -> str:
        """The program's own name."""
        return base_name(self.words[0].text)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The words behind it."""
        return tuple(word.text for word in self.words[1:])

    @property
    def location(self) -> SourceLocation:
        """The place where it is written."""
        return self.words[0].location


def flag_values(words: Sequence[Word], flags: Collection[str]) -> Iterator[tuple[str, Word]]:
    """Each of these flags with its value: ``--flag=value`` or ``--flag value``."""
    for index, word in enumerate(words):
        name, equals, value = word.text.partition("=")
        if name not in flags:
            continue
        if equals:
            yield name, Word(value, word.location, word.inherited)
        elif index + 1 < len(words):
            yield name, words[index + 1]


def fits(variant: Variant, started: StartedProgram) -> bool:
    """Whether a program is started as a variant of its record says."""
    words = started.arguments
    if (variant.group and not started.group) or (
        variant.contains and not any(variant.contains in word for word in words)
    ):
        return False
    if not variant.flags:
        return True
    if variant.above is not None:
        return _number_of(started, variant.flags) > variant.above
    if variant.values:
        value = value_of(started, variant.flags)
        return variant.by_default if value is None else value in variant.values
    return any(word.partition("=")[0] in variant.flags for word in words)


def value_of(started: StartedProgram, flags: tuple[str, ...]) -> str | None:
    """Return the value of the first of these flags that is written."""
    return next((word.text for _, word in flag_values(started.words[1:], flags)), None)


def _number_of(started: StartedProgram, flags: tuple[str, ...]) -> int:
    return read_whole(value_of(started, flags) or "", 5) or 0


def find_program(
    container: Container, spec: PodSpec, ref: NodeRef, config: ImageConfig | None
) -> StartedProgram | None:
    """Return the program of a container's command line; None where that is the image's own.

    ``config`` is what is known of the image.
    """
    known = {each.name: each.value for each in container.env if each.value is not None}
    words = [
        Word(_expand(text, known), location, is_image_place(location))
        for text, location in command_line(container, ref, config)
    ]
    if not words or words[0].text.startswith("-"):
        return None
    shared = spec.shareProcessNamespace or spec.hostPID
    first: bool | None = not shared
    if not container.command and (config is None or not config.starts):
        first = None if first else False  # the image's entry point may be an init
    started = StartedProgram(tuple(words), first)
    for _ in range(limits.MAX_LAUNCHERS):
        inner = _inside(started, container, config)
        if inner is None:
            return started
        if not inner.words:
            return None
        started = inner
    return None


def _expand(text: str, known: Mapping[str, str]) -> str:
    """Return the text with the variables that the kubelet fills in: ``$(NAME)``."""
    if "$(" not in text:
        return text
    return _REFERENCE.sub(lambda found: known.get(found[1], found[0]), text)


_REFERENCE: Final = lazy_pattern(r"\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)")


def _inside(
    started: StartedProgram, container: Container, config: ImageConfig | None
) -> StartedProgram | None:
    """Return what a launcher, an init or a shell starts; None for any other program."""
    name, words = started.name, started.words
    if is_shell(name) or name == "busybox":
        return _in_shell(started, container, config)
    if name in facts.ENTRY_SCRIPTS.value and len(words) > 1:
        inner = words[1:]
        if inner[0].text.startswith("-") and config is not None and config.command:
            inner = (Word(config.command[0], words[0].location), *inner)  # flags of its program
        return replace(started, words=inner, entry_script=name)
    if name in facts.INITS:
        return _behind_init(started)
    if name in facts.USER_SWITCHERS:
        return _as_user(started)
    for launcher in facts.PROGRAM_LAUNCHERS.value:
        if tuple(word.text for word in words[1 : 1 + len(launcher[1:])]) == launcher[1:] and (
            name == launcher[0]
        ):
            return replace(started, words=_skip_options(words[len(launcher) :], name))
    if name == "timeout":  # its first word that is no option is how long
        return replace(started, words=_skip_options(words[1:], name)[1:])
    return None


def _skip_options(words: Sequence[Word], launcher: str) -> tuple[Word, ...]:
    """Without the launcher's own options and the assignments in front of a program."""
    valued = facts.LAUNCHER_OPTIONS.get(launcher, ())
    rest = list(words)
    while rest:
        text = rest[0].text
        if text == "--":
            return tuple(rest[1:])
        if text in valued:
            del rest[:2]
        elif text.startswith("-") or re.match(r"\w+=", text):
            del rest[0]
        else:
            break
    return tuple(rest)


def _behind_init(started: StartedProgram) -> StartedProgram:
    options = [word.text for word in started.words[1:]]
    own = options[: options.index("--")] if "--" in options else options
    group = started.name == "dumb-init" and not {"-c", "--single-child"} & set(own)
    group = group or (started.name.startswith("tini") and "-g" in own)
    words = _skip_options(started.words[1:], started.name)
    first = False if started.first else started.first
    return replace(started, words=words, first=first, init=started.name, group=group)


def _as_user(started: StartedProgram) -> StartedProgram | None:
    """``gosu`` and its like become the program; ``su`` and ``runuser`` stay in front of it."""
    name, words = started.name, started.words[1:]
    if name in ("su", "runuser"):
        texts = [word.text for word in words]
        command = next((n for n, t in enumerate(texts) if t in ("-c", "--command")), None)
        if command is not None and command + 1 < len(words):
            script = words[command + 1]
            inner = tuple(Word(part, script.location) for part in tokens(script.text) or ())
        elif name == "runuser" and "--" in texts:
            inner = words[texts.index("--") + 1 :]
        else:
            return None
        return replace(started, words=inner, first=False, killed_after_two=True)
    rest = _skip_options(words, name)
    return replace(started, words=rest[1:] if name in ("gosu", "su-exec") else rest)


_NOT_FORWARDED: Final = (SignalForwarding.NO, SignalForwarding.NO_APP)


def _in_shell(
    started: StartedProgram, container: Container, config: ImageConfig | None
) -> StartedProgram | None:
    texts = [word.text for word in started.words]
    script = shell_script(texts)
    if script is None:
        return None  # a script file, which is in the image
    location = started.words[texts.index(script)].location
    from shutdownlint.shell.signals import run_script  # noqa: PLC0415 - only where there is a script

    shell = image_shell(container, config) if started.name == "sh" else started.name
    run = run_script(script, shell)
    words = tuple(Word(part, location) for part in run.words)
    if not words or run.forwarding is SignalForwarding.YES:
        return replace(started, words=words)
    if started.first is False:
        # Not the first process, the shell has its signals' default action: it ends.
        ends = started.shell_ends or run.forwarding in _NOT_FORWARDED
        return replace(started, words=words, shell_ends=ends)
    return replace(started, words=words, first=None)
