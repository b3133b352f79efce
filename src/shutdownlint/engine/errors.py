"""Exceptions for mistakes in rule files and in names of rules."""

from __future__ import annotations

from shutdownlint.yaml_source.errors import SourceFileError


class RuleError(Exception):
    """A mistake that stops a run before anything is checked."""


class RuleFileError(SourceFileError, RuleError):
    """A rule file that cannot be used."""


class UnknownRuleError(RuleError):
    """A rule id or prefix that no rule has."""
