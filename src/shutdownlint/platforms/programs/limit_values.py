"""Reads shutdown timeouts in the unit that each framework expects."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from shutdownlint.manifests.decoding import has_placeholder
from shutdownlint.numbers import clip_decimal
from shutdownlint.patterns import lazy_pattern
from shutdownlint.platforms.programs.problems import SettingIgnored
from shutdownlint.shutdown.durations import ZERO, seconds
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting

if TYPE_CHECKING:
    from datetime import timedelta

    from shutdownlint.platforms.programs.container_config import WrittenText
    from shutdownlint.programs.record import Program, TimeSetting

_NUMBER: Final = lazy_pattern(r"([0-9]{1,12}(?:\.[0-9]{1,9})?)([a-z]*)", re.IGNORECASE)
_UNITS: Final = {
    "ns": 1e-9,
    "us": 1e-6,
    "ms": 0.001,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
    "d": 86400.0,
}
_AMOUNT: Final = r"([0-9]{1,9}(?:\.[0-9]{1,9})?)"
_ISO: Final = lazy_pattern(
    rf"P(?:{_AMOUNT}D)?(?:T(?:{_AMOUNT}H)?(?:{_AMOUNT}M)?(?:{_AMOUNT}S)?)?", re.IGNORECASE
)
#: Longer ones are never waited out.
_LONGEST: Final = 10 * 365 * 86400.0


class ReadLimit(NamedTuple):
    """A limit as a program reads it, and what is wrong with how it is written.

    Without a limit the setting is ignored. With both, the program reads something else than is
    meant.
    """

    limit: Setting[timedelta] | None
    problem: SettingIgnored | None


def read_limit(
    program: Program, setting: TimeSetting, name: str, written: WrittenText
) -> ReadLimit:
    """Return a program's time as this flag, variable or property sets it."""
    value, reason = _duration(setting, written.text.strip())
    problem = limit = None
    if reason:
        problem = SettingIgnored(
            location=written.location,
            key=name,
            value=written.text,
            reason=reason,
            program=program.name,
        )
    if value is not None:
        kind = OriginKind.INHERITED if written.inherited else OriginKind.EXPLICIT
        origin = Origin(kind, program.name, written.location)
        limit = Setting(f"{program.name} shutdown timeout", value, origin)
    return ReadLimit(limit, problem)


def _duration(setting: TimeSetting, text: str) -> tuple[timedelta | None, str]:
    """Return the duration as the program reads it (None if it reads none), and what is wrong."""
    milliseconds = setting.unit == "ms"
    wanted = f"a number of {'milliseconds' if milliseconds else 'seconds'}"
    if setting.units:
        wanted = "a duration with a unit, such as 30s"
        iso = _ISO.fullmatch(text)
        if iso is not None and any(iso.groups()):
            days, hours, minutes, rest = (
                clip_decimal(part or "0", _LONGEST) for part in iso.groups()
            )
            return _bounded(((days * 24 + hours) * 60 + minutes) * 60 + rest), ""
    found = _NUMBER.fullmatch(text)
    if found is None or (found.group(2) and found.group(2).lower() not in _UNITS):
        return None, f"is not {wanted}"
    number, unit = clip_decimal(found.group(1), 1000 * _LONGEST), found.group(2).lower()
    if unit and not setting.units:
        reason = f"must be {wanted}, without a unit"
        return (ZERO, reason) if setting.bad_unit_is_zero else (None, reason)
    if setting.whole and "." in text:
        number_with = "a whole number with a unit, such as 30s"
        return None, f"must be {number_with if setting.units else 'a whole number of seconds'}"
    if not unit and setting.units and milliseconds and number < 1000:
        reason = f"has no unit and reads as {found.group(1)} milliseconds"
        return _bounded(number * 0.001), f"{reason}: write {found.group(1)}s"
    unit_seconds = _UNITS[unit] if unit else setting.unit_time.total_seconds()
    return _bounded(number * unit_seconds), ""


def _bounded(number: float) -> timedelta:
    return seconds(min(number, _LONGEST))


def is_templated(text: str) -> bool:
    """Whether something else is put in before the program sees it."""
    return has_placeholder(text) or "$" in text
