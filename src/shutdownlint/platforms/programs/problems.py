"""Kinds of mistakes in how a program's shutdown is configured."""

from __future__ import annotations

from shutdownlint.platforms.problem import Problem


class SettingIgnored(Problem, frozen=True, kw_only=True):
    """A flag, variable or property that the program does not take."""

    platform = "programs"

    key: str
    value: str
    reason: str
    program: str = ""


class WaitsSince(Problem, frozen=True, kw_only=True):
    """A program whose older releases cut their requests unless a setting makes them wait."""

    platform = "programs"

    program: str
    setting: str
    since: str


PROBLEMS = (SettingIgnored, WaitsSince)
