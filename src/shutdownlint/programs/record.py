"""The form of a program record: how a program is recognised, and what it does at a stop signal.

Every run decodes the records, so nothing here is slow to import. Durations are texts such as
``30s`` in a file, and ``timedelta`` where they are used.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final, Literal

from msgspec import Meta, Struct, field

from shutdownlint.numbers import clip_decimal
from shutdownlint.shutdown.durations import seconds

if TYPE_CHECKING:
    from datetime import timedelta

#: The signal that a container gets where nothing else is set.
SIGTERM: Final = "SIGTERM"


class AtSignal(StrEnum):
    """The behaviour of a program at a signal."""

    #: It stops accepting and finishes the requests that it has.
    FINISHES = "finishes"
    #: It ends, and cuts the requests that it has.
    CUTS = "cuts"
    #: It cuts the requests that it has, and goes on serving until SIGKILL.
    RESTARTS = "restarts"
    #: It has no handler: as the first process it goes on, else it ends at once.
    NO_HANDLER = "no-handler"
    #: Its code decides. Without a handler: as the first process it goes on, else it ends at once.
    NEEDS_HANDLER = "needs-handler"
    #: Its code decides. Without a handler it ends at once.
    NEEDS_HANDLER_OR_ENDS = "needs-handler-or-ends"
    #: It hands the signal to a shell, which ends without passing it on where it is dash.
    LOST_IN_SHELL = "lost-in-shell"


class Role(StrEnum):
    """What a program is for."""

    #: It answers requests.
    SERVER = "server"
    #: It answers requests that take minutes: a model server.
    MODELS = "models"
    #: It works off jobs or messages, and gets no requests.
    WORKER = "worker"
    #: It holds data; its clients expect to be cut and connect again.
    DATABASE = "database"
    #: The app beside it needs it for its requests.
    HELPER = "helper"
    #: It takes the logs, metrics or traces of the apps beside it.
    TELEMETRY = "telemetry"
    #: It opens connections, or waits, and accepts none.
    CLIENT = "client"


class _Form(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A part of a record; unknown keys are errors."""


_Text = Annotated[str, Meta(min_length=1, max_length=500)]
_Name = Annotated[str, Meta(min_length=1, max_length=100)]
_Signal = Annotated[str, Meta(pattern="^SIG[A-Z0-9+-]{2,12}$")]
_Time = Annotated[str, Meta(pattern=r"^[0-9]{1,6}(\.[0-9]{1,3})?(ms|s|m|h)$")]
_Version = Annotated[str, Meta(pattern=r"^[0-9]{1,6}\.[0-9]{1,6}(\.[0-9]{1,6})?$")]
_CLAUSE: Final = r"(>=|<=|==|>|<) ?[0-9]{1,6}\.[0-9]{1,6}(\.[0-9]{1,6})?"
_GROUP: Final = rf"{_CLAUSE}( ?, ?{_CLAUSE})?"
_Range = Annotated[str, Meta(pattern=rf"^{_GROUP}( ?\|\| ?{_GROUP})*$", max_length=200)]


_LONGEST: Final = 1e9
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def parse_time(text: str) -> timedelta:
    """Read a time of a record, such as ``30s`` or ``1.6s``; the form allows no other text."""
    number = text.rstrip("msh")
    return seconds(clip_decimal(number, _LONGEST) * _UNITS[text[len(number) :]])


class Image(_Form, frozen=True):
    """An image that starts the program by itself.

    ``tag`` is a part of its tag. A container's args follow ``entrypoint``, and replace ``command``.
    With neither, the first name of the record is the entrypoint; of an official image it is the
    command. Without an entrypoint args that begin with a flag follow the command, as the scripts of
    official images do it. ``stop_signal`` is the signal that it sets, from release ``since`` on.
    """

    name: _Name
    tag: str = ""
    entrypoint: tuple[_Name, ...] = ()
    command: tuple[_Name, ...] = ()
    stop_signal: _Signal | None = None
    since: _Version | None = None


class TimeSetting(_Form, frozen=True):
    """A time that the program takes from its settings.

    ``flags``, ``variables`` and ``properties`` (of configuration files, or ``-D``) are its
    spellings, ``directive`` the one in its own configuration file. ``unit`` is the length of a bare
    number, ``units`` says whether units may be written, ``whole`` that there are no fractions,
    ``bad_unit_is_zero`` what a unit does where none may be written. ``default`` counts where
    nothing is written; ``unlimited``: it then waits without a limit; neither: that is not known.
    ``since`` is the release that takes it. ``zero_is_unlimited``: 0 means that there is no limit.
    ``assumed_off``: it has an effect in some builds only, and none is assumed.
    """

    flags: tuple[_Name, ...] = ()
    variables: tuple[_Name, ...] = ()
    properties: tuple[_Name, ...] = ()
    directive: str = ""
    unit: Literal["s", "ms"] = "s"
    units: bool = False
    whole: bool = False
    bad_unit_is_zero: bool = False
    default: _Time | None = None
    unlimited: bool = False
    since: _Version | None = None
    zero_is_unlimited: bool = False
    assumed_off: bool = False

    @property
    def default_time(self) -> timedelta | None:
        """The default as a duration."""
        return parse_time(self.default) if self.default is not None else None

    @property
    def unit_time(self) -> timedelta:
        """The length of a bare number."""
        return parse_time(f"1{self.unit}")


class Switch(_Form, frozen=True):
    """A variable, or a property (of configuration files, ``-D``, or as a variable), and a value."""

    setting: _Name
    value: _Name

    @property
    def is_variable(self) -> bool:
        """Whether it is a variable only."""
        return self.setting.isupper()

    @property
    def variable(self) -> str:
        """Its variable."""
        return self.setting.translate(str.maketrans(".-", "__")).upper()

    @property
    def text(self) -> str:
        """The setting as it is written."""
        return f"{self.setting}={self.value}"


class Variant(_Form, frozen=True):
    """Another behaviour where the command line, or what is in front of the program, is different.

    All of it has to hold: one of ``flags`` is written, with a value above ``above`` or among
    ``values`` (``by_default``: it has one of them where it is not written); a word contains
    ``contains``; ``group``: an init sends the signal to the whole process group.
    """

    flags: tuple[_Name, ...] = ()
    above: int | None = None
    values: tuple[_Name, ...] = ()
    by_default: bool = False
    contains: str = ""
    group: bool = False
    at_signal: AtSignal | None = None
    limit: _Time | None = None


class Example(_Form, frozen=True):
    """A container, and the verdict on it.

    ``command`` is split as a shell does; ``verdict`` is what ``shutdownlint program --test`` says.
    """

    verdict: _Text
    command: str = ""
    args: str = ""
    image: str = "shop/app:1"
    stop_signal: _Signal | None = None
    env: dict[str, str] = field(default_factory=dict)


class Program(_Form, frozen=True):
    """One program.

    It runs where the command line starts one of ``programs`` (``flask run``: with this word among
    its arguments), or Python one of ``modules``; where a variable begins with one of ``evidence``;
    or where one of ``images`` runs without another command. ``without``: none of these flags is
    written. ``versions``: only releases in this range, by the tag of its own image.

    ``at_signal`` is its behaviour by signal; another signal counts as SIGTERM. Empty: the
    record only says its settings. ``late`` is its answer to requests after the signal: a
    status, or what happens to the connection. ``serves_on`` is how long it goes on accepting,
    ``limit`` how long it lets its requests finish; ``limit_finishes``: it finishes them only
    with a limit above 0. ``waits_if`` makes it finish its requests (``waits_since``: this
    release does so by itself; ``waits_if_limited``: a written limit does), ``cuts_if`` makes it
    cut them. ``handler`` says what to look for in its code, ``handled_signal`` the signal that
    its code gets. ``arguments_from`` is a variable with further arguments. ``master_flags``: as
    the first process without one of them it may ignore the signal. ``config_map_words`` stand
    in ConfigMaps that it reads. ``exits_after`` is how long it lives on after its last request;
    ``lives_on``: where it cuts its requests, it does not exit while clients hold their
    connections. ``forwards``: it is a reverse proxy, and answers with this status where nothing
    listens behind it. ``reader`` names our own code for a program with flags of its own.
    """

    name: _Text
    programs: tuple[_Name, ...] = ()
    modules: tuple[_Name, ...] = ()
    evidence: tuple[_Name, ...] = ()
    images: tuple[Image, ...] = ()
    without: tuple[_Name, ...] = ()
    versions: _Range | None = None
    #: Messages name it as it is started.
    called_as_started: bool = False
    role: Role = Role.SERVER
    at_signal: dict[_Signal, AtSignal] = field(default_factory=dict)
    variants: tuple[Variant, ...] = ()
    late: Literal["refuses", "hangs", "serves"] | Annotated[int, Meta(ge=400, le=599)] = "refuses"
    serves_on: TimeSetting | None = None
    limit: TimeSetting | None = None
    limit_finishes: bool = False
    waits_if: Switch | None = None
    waits_if_limited: bool = False
    waits_since: _Version | None = None
    cuts_if: tuple[Switch, ...] = ()
    arguments_from: str = ""
    config_map_words: tuple[_Name, ...] = ()
    handler: str = ""
    handled_signal: _Signal = SIGTERM
    master_flags: tuple[_Name, ...] = ()
    exits_after: _Time | None = None
    lives_on: bool = False
    forwards: Annotated[int, Meta(ge=400, le=599)] | None = None
    advice: str = ""
    reader: str = ""
    measured: str = ""
    sources: tuple[_Text, ...] = ()
    notes: str = ""
    examples: tuple[Example, ...] = ()

    @property
    def settings(self) -> tuple[TimeSetting, ...]:
        """The times that it takes from its settings."""
        return tuple(each for each in (self.serves_on, self.limit) if each is not None)

    @property
    def switches(self) -> tuple[Switch, ...]:
        """The settings that switch its behaviour."""
        return (*((self.waits_if,) if self.waits_if is not None else ()), *self.cuts_if)

    @property
    def waits_only_if_asked(self) -> bool:
        """Whether it finishes its requests only where a setting says so, or a newer release."""
        return self.waits_if is not None or self.waits_if_limited

    @property
    def wait_setting(self) -> str:
        """The setting with which it finishes its requests."""
        if self.waits_if is not None:
            return self.waits_if.text
        return self.limit.properties[0] if self.limit is not None else ""
