"""Who gets the stop signal when a shell runs as the first process."""

from __future__ import annotations

from enum import StrEnum

from shutdownlint.shell.syntax import Step, bare_words, base_name, split_steps, tokens
from shutdownlint.shell.timing import INSTANT


class SignalForwarding(StrEnum):
    """Whether the stop signal gets from the container's first process to the app."""

    YES = "yes"
    #: The image's shell decides.
    DEPENDS_ON_SHELL = "depends-on-shell"
    NO = "no"
    UNKNOWN = "unknown"


def signal_forwarding(script: str) -> SignalForwarding:
    """Who gets the stop signal when a shell runs this as the container's first process.

    Measured with five shells as PID 1: what only some of them hand over depends on the image.
    """
    words = tokens(script)
    if words is None:
        return SignalForwarding.UNKNOWN
    steps = split_steps(words)
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
        return SignalForwarding.YES  # wherever it is: what is behind it is never run
    if any(step.words[0] == "eval" for step in steps):
        return SignalForwarding.UNKNOWN if "exec" in words else SignalForwarding.NO
    if last.join == "&" or (last.words[0] == "wait" and any(s.join == "&" for s in steps)):
        return SignalForwarding.NO
    if not _is_program(last):
        return SignalForwarding.NO
    return SignalForwarding.DEPENDS_ON_SHELL


def _is_program(step: Step) -> bool:
    words = bare_words(step.words)
    if step.compound or not words:
        return False
    name = base_name(words[0])
    return name not in INSTANT and name not in ("sleep", "wait", "tail")
