"""Kinds of mistakes in KServe's objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shutdownlint.platforms.problem import Problem

if TYPE_CHECKING:
    from datetime import timedelta


class SchedulerEndsFirst(Problem, frozen=True, kw_only=True):
    """A scheduler with a shorter grace period than the pods that it sends requests to."""

    platform = "kserve"

    grace: timedelta
    pods: timedelta


PROBLEMS = (SchedulerEndsFirst,)
