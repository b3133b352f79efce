"""The place where a setting is written, or would be, and its format."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from shutdownlint.yaml_source.location import SourceLocation


class ValueFormat(StrEnum):
    """The format of a setting's value."""

    #: As it is: a word, a number, true or false.
    PLAIN = "plain"
    #: A whole number of seconds: 30.
    SECONDS = "seconds"
    #: A whole number of seconds as a string: "30".
    SECONDS_TEXT = "seconds-text"
    #: A duration as Go reads it: 30s.
    DURATION = "duration"
    #: Always a string, durations as Go reads them: '30s', 'true'.
    STRING = "string"
    #: true or false as a string, whatever YAML spelling of it is there.
    BOOL_TEXT = "bool-text"
    #: The number in a sleep command.
    SLEEP_COMMAND = "sleep-command"
    #: The number of a flag, variable or property, as it is written: --timeout=25, 30s. A bare
    #: number is of seconds, or of milliseconds.
    TIME_IN_TEXT = "time-in-text"
    MILLISECONDS_IN_TEXT = "milliseconds-in-text"
    #: A whole exec handler that sleeps.
    EXEC_SLEEP = "exec-sleep"


class EditTarget(Struct, frozen=True):
    """The place where a setting is written, or would be, and its format.

    ``pair``: the text there has pairs (``a=1,b=2``), and the value is that of this key.
    """

    location: SourceLocation
    format: ValueFormat = ValueFormat.PLAIN
    pair: str = ""
