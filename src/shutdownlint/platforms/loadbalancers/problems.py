"""The problems in the configuration of a load balancer."""

from __future__ import annotations

from shutdownlint.platforms.problem import Problem


class TargetGroupAttributes(Problem, frozen=True, kw_only=True):
    """Attributes that AWS' controller cannot read."""

    platform = "loadbalancers"

    key: str
    reason: str


PROBLEMS = (TargetGroupAttributes,)
