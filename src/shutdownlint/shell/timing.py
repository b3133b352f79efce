"""The running time of a shell script or a command."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from shutdownlint import limits
from shutdownlint.numbers import clip_decimal, read_whole
from shutdownlint.patterns import lazy_pattern
from shutdownlint.shell.syntax import (
    INIT_WRAPPERS,
    OPENS,
    Pipeline,
    Step,
    bare_words,
    base_name,
    pipelines,
    shell_script,
    split_steps,
    tokens,
)
from shutdownlint.shutdown.durations import ZERO, DurationRange, seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: Commands that return as soon as they have been carried out.
INSTANT: Final = frozenset(
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
_SLEEP_UNITS: Final = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SLEEP_TIME: Final = lazy_pattern(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([smhd]?)")
_VARIABLE: Final = lazy_pattern(r"\$(?:\{(\w+)(?::?-([^}]{0,200}))?\}|(\w+))")
#: A longer sleep is read as this one, in seconds.
_LONGEST_SLEEP: Final = 8.64e9
_UNKNOWN_TIME: Final = DurationRange(ZERO, None)
_NO_TIME: Final = DurationRange.exact(ZERO)


def script_time(
    script: str, lookup: Callable[[str], str | None], *, errexit: bool = False
) -> DurationRange:
    """Return how long a shell takes to run the script; ``errexit`` is its ``-e``."""
    words = tokens(script)
    if words is None:
        return _UNKNOWN_TIME
    parts = pipelines(split_steps(words))
    total = _NO_TIME
    background = _Background()
    alive = True  # no command before this one may have ended the script
    reached = True  # what && and || decided lets this one run
    skipping = False  # behind a || that surely is not needed
    for pipeline in parts:
        if skipping:
            skipping = pipeline.join in ("||", "&&")
            continue
        waits = pipeline.name == "wait" and len(pipeline.steps[0].words) == 1
        time = _NO_TIME if waits else _pipeline_time(pipeline, lookup)
        if not (alive and reached):
            time = DurationRange(ZERO, time.high)
        if pipeline.join == "&":
            background.add(pipeline, total, time)
        else:
            total = total + time
        total = total.parallel(background.until) if waits else total
        if pipeline.name in ("exit", "exec"):
            if alive and reached:
                return total.parallel(background.output_until)
            alive = False
        errexit = errexit or _turns_errexit_on(pipeline)
        sure = _succeeds(pipeline.steps[-1], lookup) or pipeline.join == "&"
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
    return total.parallel(background.output_until)


class _Background:
    """Commands in the background: when the last ends, and when the last output is closed.

    The runtime waits for a hook's output to be closed (measured with containerd).
    """

    def __init__(self) -> None:
        self.until = self.output_until = _NO_TIME

    def add(self, pipeline: Pipeline, begin: DurationRange, time: DurationRange) -> None:
        """Add a command that is started at ``begin`` and takes so long."""
        self.until = self.until.parallel(begin + time)
        held = _holds_output(pipeline)
        if held is None:
            time = DurationRange(ZERO, time.high)
        if held is not False:
            self.output_until = self.output_until.parallel(begin + time)


def _holds_output(pipeline: Pipeline) -> bool | None:
    """Whether a command in the background keeps the hook's output open; None: not known."""
    outputs = sum(re.match(r"[0-9]*>", w) is not None for w in pipeline.steps[-1].words)
    return {0: True, 1: None}.get(outputs, False)


def _pipeline_time(pipeline: Pipeline, lookup: Callable[[str], str | None]) -> DurationRange:
    total = _NO_TIME
    for step in pipeline.steps:
        total = total.parallel(_step_time(step, lookup))
    return total


def _turns_errexit_on(pipeline: Pipeline) -> bool:
    flags = bare_words(pipeline.steps[0].words)[1:]
    return pipeline.name == "set" and any(
        flag == "errexit" or (flag.startswith("-") and "e" in flag) for flag in flags
    )


def _succeeds(step: Step, lookup: Callable[[str], str | None]) -> bool:
    words = bare_words(step.words)
    if step.compound or not words:
        return False
    name = base_name(words[0])
    return name in _SUCCEEDS or (name == "sleep" and _sleep_time(words[1:], lookup).known)


def _step_time(step: Step, lookup: Callable[[str], str | None]) -> DurationRange:
    words = bare_words(step.words)
    if step.compound:
        return _compound_time(step.words, lookup)
    if not words:
        return _NO_TIME
    if words[0] == "exec":
        words = words[1:]
    return command_time([_expand(w, lookup) or w for w in words], lookup) if words else _NO_TIME


def _compound_time(words: Sequence[str], lookup: Callable[[str], str | None]) -> DurationRange:
    if words[0] in ("{", "(") and words[-1] == OPENS[words[0]]:
        inner = _NO_TIME
        for step in split_steps([*words[1:-1]]):
            if step.join in ("&&", "||", "|", "&") or step.compound:
                return _UNKNOWN_TIME
            inner = inner + _step_time(step, lookup)
        return inner
    return _loop_time(words, lookup)


def _loop_time(words: Sequence[str], lookup: Callable[[str], str | None]) -> DurationRange:
    """Return how long a loop over written words takes: ``for i in 1 2 3; do sleep 1; done``."""
    if words[0] != "for" or "do" not in words or words[-1] != "done" or "in" not in words[2:3]:
        return _UNKNOWN_TIME
    begin = words.index("do")
    items = [word for word in words[3:begin] if word != ";"]
    odd = any(set(item) & set("$`*?[{~") for item in items)
    if odd or len(items) > limits.MAX_LOOP_ROUNDS:
        return _UNKNOWN_TIME
    body = _compound_time(("{", *words[begin + 1 : -1], "}"), lookup)
    total = _NO_TIME
    for _ in items:
        total = total + body
    return total


def command_time(command: Sequence[str], lookup: Callable[[str], str | None]) -> DurationRange:
    """Return how long a command takes that is run without a shell."""
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
    if name == "usleep" and command[1:]:
        number = read_whole(command[1], 12)
        if number is not None:
            return DurationRange.exact(seconds(min(number / 1e6, _LONGEST_SLEEP)))
    if name == "timeout":
        return _timeout_time(command[1:])
    if (
        len(command) > 1 and command[1] == "sleep"
    ):  # NGINX Gateway Fabric: gateway sleep --duration=40s
        flags = [w.removeprefix("--duration=") for w in command[2:] if w.startswith("--duration=")]
        return _sleep_time(flags, lookup) if flags else _UNKNOWN_TIME
    return _NO_TIME if name in INSTANT else _UNKNOWN_TIME


def _timeout_time(words: Sequence[str]) -> DurationRange:
    for word in words:
        if not word.startswith("-"):
            time = _one_sleep(word)
            return _UNKNOWN_TIME if time is None else DurationRange(ZERO, time.high)
    return _UNKNOWN_TIME


def _sleep_time(words: Sequence[str], lookup: Callable[[str], str | None]) -> DurationRange:
    total = _NO_TIME
    arguments = [word for word in words if not word.startswith("-")]
    if not arguments:
        return _UNKNOWN_TIME
    for word in arguments:
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
    number = clip_decimal(found.group(1), _LONGEST_SLEEP)
    return DurationRange.exact(seconds(min(number * _SLEEP_UNITS[found.group(2)], _LONGEST_SLEEP)))


def _expand(word: str, lookup: Callable[[str], str | None]) -> str | None:
    """Return the word with its variables filled in; None where one is not known."""
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
