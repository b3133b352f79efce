"""Kinds of mistakes in the limits of routes."""

from __future__ import annotations

from shutdownlint.platforms.problem import Problem


class RouteTimeoutIgnored(Problem, frozen=True, kw_only=True):
    """A limit that the controller cannot read."""

    platform = "routes"

    key: str
    value: str
    unit: str


PROBLEMS = (RouteTimeoutIgnored,)
