"""Exceptions for mistakes in rule files and in names of rules."""

from __future__ import annotations


class RuleError(Exception):
    """A mistake that stops a run before anything is checked."""


class RuleFileError(RuleError):
    """A rule file that cannot be used: ``file:line: reason``."""

    def __init__(self, file: str, line: int, reason: str) -> None:
        super().__init__(f"{file}:{line}: {reason}")
        self.file = file
        self.line = line
        self.reason = reason


class UnknownRuleError(RuleError):
    """A rule id or prefix that no rule has."""
