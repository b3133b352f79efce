"""Shell scripts, read as far as timing needs: how long they take, and who gets the signal."""

from __future__ import annotations

import re
import shlex
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint.shutdown.durations import ZERO, DurationRange, seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SHELLS: Final = frozenset(("sh", "bash", "ash", "dash", "ksh", "mksh", "zsh", "busybox"))
INIT_WRAPPERS: Final = frozenset(
    ("tini", "dumb-init", "catatonit", "s6-svscan", "init", "tini-static")
)
#: Commands that return as soon as they have been carried out.
_INSTANT: Final = frozenset(
    [
        "echo",
        "printf",
        "true",
        ":",
        "false",
        "kill",
        "killall",
        "pkill",
        "touch",
        "rm",
        "mkdir",
        "mv",
        "cp",
        "cat",
        "ln",
        "date",
        "export",
        "set",
        "unset",
        "cd",
        "test",
        "[",
        "[[",
        "exit",
        "trap",
        "logger",
        "umask",
        "ulimit",
        "source",
        ".",
        "shift",
        "local",
        "readonly",
        "return",
        "env",
    ]
)
#: Of those, the ones that cannot fail in a way that stops what ``&&`` hangs on them.
_SUCCEEDS: Final = frozenset(["echo", "printf", "true", ":", "export", "date", "set"])
_OPENS: Final = {
    "while": "done",
    "until": "done",
    "for": "done",
    "if": "fi",
    "case": "esac",
    "{": "}",
    "(": ")",
}
_CLOSES: Final = frozenset(_OPENS.values())
_JOINS: Final = frozenset((";", "&&", "||", "|", "&", ";;", "|&"))
_SLEEP_UNITS: Final = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SLEEP_TIME: Final = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([smhd]?)")
_VARIABLE: Final = re.compile(r"\$(?:\{(\w+)(?::?-([^}]*))?\}|(\w+))")
_UNKNOWN_TIME: Final = DurationRange(ZERO, None)
_NO_TIME: Final = DurationRange.exact(ZERO)


class SignalForwarding(StrEnum):
    """Whether the stop signal gets from the container's first process to the app."""

    YES = "yes"
    #: The image's shell decides.
    DEPENDS_ON_SHELL = "depends-on-shell"
    NO = "no"
    UNKNOWN = "unknown"


def base_name(program: str) -> str:
    """``/bin/sh`` → ``sh``."""
    return program.rstrip("/").rpartition("/")[2]


def is_shell(program: str) -> bool:
    """Whether a program is a POSIX shell, by its name."""
    return base_name(program) in SHELLS


def shell_script(command: Sequence[str]) -> str | None:
    """The script of ``sh -c SCRIPT``; None for anything else."""
    words = list(command)
    if words and base_name(words[0]) == "env":
        words = words[1:]
    if words and base_name(words[0]) == "busybox":
        words = words[1:]
    if len(words) < 2 or not is_shell(words[0]):
        return None
    for index, word in enumerate(words[1:], 1):
        if word.startswith("-") and not word.startswith("--") and "c" in word:
            rest = [w for w in words[index + 1 :] if w != "--"]
            return rest[0] if rest else None
        if not word.startswith(("-", "+")):
            return None
    return None


class _Step(Struct, frozen=True):
    """A command of a script (its words) or a compound one, and what joins it to the next."""

    words: tuple[str, ...]
    join: str
    compound: bool = False


def tokens(script: str) -> list[str] | None:
    """The words and operators of a script; None where the quoting cannot be followed."""
    text = re.sub(r"\\\r?\n", " ", script)
    text = re.sub(r"(?<=\s)(?:[0-9]*[<>]&[0-9-]+|&>>?\s*\S+)", " ", _cover_substitutions(text))
    lines = []
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("#"):
            continue
        lines.append(re.sub(r"\s#.*$", "", line) if "'" not in line and '"' not in line else line)
    return _lex("\n".join(lines))


def _lex(text: str) -> list[str] | None:
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|()\n")
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        raw = list(lexer)
    except ValueError:
        return None
    result: list[str] = []
    for token in raw:
        if set(token) <= set(";&|()\n") and token:
            result.extend(_operators(token))
        else:
            result.append(token)
    return result


def _operators(token: str) -> list[str]:
    found = re.findall(r"&&|\|\||\|&|;;|[;&|()\n]", token)
    return [";" if op == "\n" else op for op in found]


def _cover_substitutions(text: str) -> str:
    """Replace ``$(…)`` and backticks by a word that cannot be read, so that words stay words."""
    out: list[str] = []
    index = 0
    while index < len(text):
        if text.startswith("$((", index) or not text.startswith(("$(", "`"), index):
            out.append(text[index])
            index += 1
            continue
        end = _closing(text, index)
        out.append("$__substitution__")
        index = end
    return "".join(out)


def _closing(text: str, start: int) -> int:
    if text[start] == "`":
        end = text.find("`", start + 1)
        return len(text) if end < 0 else end + 1
    depth = 0
    for index in range(start + 1, len(text)):
        if text[index] == "(":
            depth += 1
        elif text[index] == ")":
            depth -= 1
            if depth == 0:
                return index + 1
    return len(text)


def _steps(words: Sequence[str]) -> list[_Step]:
    steps: list[_Step] = []
    current: list[str] = []
    closers: list[str] = []
    compound = False
    for word in words:
        starts = not current or (closers and current[-1] in ("do", "then", "else"))
        if word in _OPENS and (starts or closers):
            closers.append(_OPENS[word])
            compound = True
        elif closers and word == closers[-1]:
            closers.pop()
        if word in _JOINS and not closers:
            if current:
                steps.append(_Step(tuple(current), word, compound))
            elif steps and word != ";":
                steps[-1] = _Step(steps[-1].words, word, steps[-1].compound)
            current, compound = [], False
        else:
            current.append(word)
    if current:
        steps.append(_Step(tuple(current), "", compound))
    return steps


class _Pipeline(Struct, frozen=True):
    """Commands joined by pipes, and what joins the last of them to what follows."""

    steps: tuple[_Step, ...]

    @property
    def join(self) -> str:
        return self.steps[-1].join

    @property
    def name(self) -> str:
        """The program of a pipeline of one simple command, else empty."""
        step = self.steps[0]
        words = _bare(step.words)
        alone = len(self.steps) == 1 and not step.compound and words
        return base_name(words[0]) if alone else ""

    def time(self, lookup: Callable[[str], str | None]) -> DurationRange:
        total = _NO_TIME
        for step in self.steps:
            total = total.parallel(_step_time(step, lookup))
        return total

    def succeeds(self, lookup: Callable[[str], str | None]) -> bool:
        return _succeeds(self.steps[-1], lookup)


def _pipelines(steps: Sequence[_Step]) -> list[_Pipeline]:
    found: list[_Pipeline] = []
    current: list[_Step] = []
    for step in steps:
        current.append(step)
        if step.join not in ("|", "|&"):
            found.append(_Pipeline(tuple(current)))
            current = []
    return [*found, _Pipeline(tuple(current))] if current else found


def script_time(
    script: str, lookup: Callable[[str], str | None], *, errexit: bool = False
) -> DurationRange:
    """How long a shell takes to run the script; ``errexit`` is its ``-e``."""
    words = tokens(script)
    if words is None:
        return _UNKNOWN_TIME
    pipelines = _pipelines(_steps(words))
    total = _NO_TIME
    alive = True  # no command before this one may have ended the script
    reached = True  # what && and || decided lets this one run
    skipping = False  # behind a || that surely is not needed
    for pipeline in pipelines:
        if skipping:
            skipping = pipeline.join in ("||", "&&")
            continue
        time = pipeline.time(lookup)
        if pipeline.join == "&":
            # Whether the runtime waits for what the hook leaves running is not known.
            time = DurationRange(ZERO, time.high)
        if not (alive and reached):
            time = DurationRange(ZERO, time.high)
        total = total + time
        if pipeline.name in ("exit", "exec"):
            if alive and reached:
                return total
            alive = False
        errexit = errexit or _turns_errexit_on(pipeline)
        sure = pipeline.succeeds(lookup) or pipeline.join == "&"
        if pipeline.join == "&&":
            reached = reached and sure
        elif pipeline.join == "||":
            skipping = sure and reached
            reached = False
        else:
            # A last command that may fail ends the script where -e is on.
            alive = alive and (sure or not errexit)
            reached = True
        if skipping:
            reached = True
    return total


def _turns_errexit_on(pipeline: _Pipeline) -> bool:
    flags = _bare(pipeline.steps[0].words)[1:]
    return pipeline.name == "set" and any(
        flag == "errexit" or (flag.startswith("-") and "e" in flag) for flag in flags
    )


def _bare(words: Sequence[str]) -> list[str]:
    """The words of a simple command without assignments and redirections."""
    result: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif re.match(r"[0-9]*(?:>>?|<)&?$", word):
            skip = True
        elif (
            re.match(r"[0-9]*(?:>>?|<)", word)
            or (not result and re.match(r"\w+=", word))
            or (word in ("!", "time", "nohup", "command", "builtin") and not result)
        ):
            continue
        else:
            result.append(word)
    return result


def _succeeds(step: _Step, lookup: Callable[[str], str | None]) -> bool:
    words = _bare(step.words)
    if step.compound or not words:
        return False
    name = base_name(words[0])
    return name in _SUCCEEDS or (name == "sleep" and _sleep_time(words[1:], lookup).known)


def _step_time(step: _Step, lookup: Callable[[str], str | None]) -> DurationRange:
    words = _bare(step.words)
    if step.compound:
        return _compound_time(step.words, lookup)
    if not words:
        return _NO_TIME
    if words[0] == "exec":
        words = words[1:]
    return command_time([_expand(w, lookup) or w for w in words], lookup) if words else _NO_TIME


def _compound_time(words: Sequence[str], lookup: Callable[[str], str | None]) -> DurationRange:
    if words[0] in ("{", "(") and words[-1] == _OPENS[words[0]]:
        inner = _NO_TIME
        for step in _steps([*words[1:-1]]):
            if step.join in ("&&", "||", "|", "&") or step.compound:
                return _UNKNOWN_TIME
            inner = inner + _step_time(step, lookup)
        return inner
    return _UNKNOWN_TIME


def command_time(command: Sequence[str], lookup: Callable[[str], str | None]) -> DurationRange:
    """How long a command takes that is run without a shell."""
    if not command:
        return _NO_TIME
    name = base_name(command[0])
    script = shell_script(command)
    if script is not None:
        flags = command[: command.index(script)]
        errexit = any(f.startswith("-") and not f.startswith("--") and "e" in f for f in flags)
        return script_time(script, lookup, errexit=errexit)
    if name in INIT_WRAPPERS:
        inner = [word for word in command[1:] if not word.startswith("-")]
        return command_time(inner, lookup)
    if name == "busybox" and len(command) > 1:
        return command_time(command[1:], lookup)
    if name == "sleep":
        return _sleep_time(command[1:], lookup)
    if name == "timeout":
        return _timeout_time(command[1:])
    if (
        len(command) > 1 and command[1] == "sleep"
    ):  # NGINX Gateway Fabric: gateway sleep --duration=40s
        flags = [w.removeprefix("--duration=") for w in command[2:] if w.startswith("--duration=")]
        return _sleep_time(flags, lookup) if flags else _UNKNOWN_TIME
    return _NO_TIME if name in _INSTANT else _UNKNOWN_TIME


def _timeout_time(words: Sequence[str]) -> DurationRange:
    for word in words:
        if not word.startswith("-"):
            time = _one_sleep(word)
            return _UNKNOWN_TIME if time is None else DurationRange(ZERO, time.high)
    return _UNKNOWN_TIME


def _sleep_time(words: Sequence[str], lookup: Callable[[str], str | None]) -> DurationRange:
    total = _NO_TIME
    given = [word for word in words if not word.startswith("-")]
    if not given:
        return _UNKNOWN_TIME
    for word in given:
        text = _expand(word, lookup)
        time = None if text is None else _one_sleep(text)
        if time is None:
            return _UNKNOWN_TIME
        total = total + time
    return total


def _one_sleep(text: str) -> DurationRange | None:
    if text.lower() in ("infinity", "inf"):
        return DurationRange.at_least(seconds(86400))
    found = _SLEEP_TIME.fullmatch(text)
    if found is None:
        return None
    return DurationRange.exact(
        seconds(min(float(found.group(1)) * _SLEEP_UNITS[found.group(2)], 8.64e9))
    )


def _expand(word: str, lookup: Callable[[str], str | None]) -> str | None:
    """The word with its variables filled in; None where one is not known."""
    unknown = False

    def value(found: re.Match[str]) -> str:
        nonlocal unknown
        name = found.group(1) or found.group(3)
        known = lookup(name)
        if known == "" and found.group(2) is not None:
            known = found.group(2)
        # One that the manifest does not set may be set in the image, whatever its ${X:-default}.
        if known is None:
            unknown = True
            return ""
        return known

    text = _VARIABLE.sub(value, word)
    return None if unknown or "$" in text or "`" in text else text


def misquoted_command(script: str) -> str | None:
    """The whole command when inner quotes make a shell look for one program of that name."""
    words = tokens(script)
    if words is not None and len(words) == 1 and re.match(r"\w+ \S", words[0]):
        stripped = script.strip()
        if stripped[:1] in ("'", '"') and stripped[-1:] == stripped[:1]:
            return words[0]
    return None


def signal_forwarding(script: str) -> SignalForwarding:
    """Who gets the stop signal when a shell runs this as the container's first process.

    Measured with five shells as PID 1: what only some of them hand over depends on the image.
    """
    words = tokens(script)
    if words is None:
        return SignalForwarding.UNKNOWN
    steps = _steps(words)
    programs = [step for step in steps if _is_program(step)]
    if not steps or not programs or "trap" in words:
        return SignalForwarding.UNKNOWN
    last = steps[-1]
    if any(step.compound for step in steps):
        return SignalForwarding.UNKNOWN
    piped = len(steps) > 1 and steps[-2].join in ("|", "|&")
    if piped:
        return SignalForwarding.NO
    if any(step.words[0] == "exec" and step.join not in ("|", "|&", "&") for step in steps):
        return SignalForwarding.YES  # wherever it stands: what is behind it is never run
    if any(step.words[0] == "eval" for step in steps):
        return SignalForwarding.UNKNOWN if "exec" in words else SignalForwarding.NO
    if last.join == "&" or (last.words[0] == "wait" and any(s.join == "&" for s in steps)):
        return SignalForwarding.NO
    if not _is_program(last):
        return SignalForwarding.NO
    return SignalForwarding.DEPENDS_ON_SHELL


def _is_program(step: _Step) -> bool:
    words = _bare(step.words)
    if step.compound or not words:
        return False
    name = base_name(words[0])
    return name not in _INSTANT and name not in ("sleep", "wait", "tail")
