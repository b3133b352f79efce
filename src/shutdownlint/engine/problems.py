"""Problems that the engine itself reports: unreadable input and failed rules."""

from __future__ import annotations

from shutdownlint.platforms import pod_annotations
from shutdownlint.platforms.problem import Problem


class RunProblem(Problem, frozen=True, kw_only=True):
    """A problem that no platform knows."""


class Unreadable(RunProblem, frozen=True, kw_only=True):
    """Something that could not be read."""

    reason: str


class RuleFailed(RunProblem, frozen=True, kw_only=True):
    """A rule whose condition could not be evaluated."""

    key: str
    reason: str


PROBLEMS = (Unreadable, RuleFailed, *pod_annotations.PROBLEMS)
