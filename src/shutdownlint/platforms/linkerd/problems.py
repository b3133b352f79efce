"""The problems in the Linkerd configuration of a pod."""

from __future__ import annotations

from shutdownlint.platforms.problem import Problem


class LinkerdProblem(Problem, frozen=True, kw_only=True):
    """A problem that Linkerd knows."""

    platform = "linkerd"

    key: str


class LinkerdAnnotationValue(LinkerdProblem, frozen=True, kw_only=True):
    """An annotation with a value that the injector cannot read, and ignores.

    ``instead`` is the same value as the injector reads it, empty where that is not certain.
    """

    value: str
    reason: str
    default: str
    instead: str


class LinkerdInjectValue(LinkerdProblem, frozen=True, kw_only=True):
    """A value of linkerd.io/inject that is not known: the pod is not injected."""

    value: str


class LinkerdWaitRefused(LinkerdProblem, frozen=True, kw_only=True):
    """A wait before the exit for a proxy that is to be native: the injector refuses the pod."""

    value: str


class LinkerdProxyEnv(LinkerdProblem, frozen=True, kw_only=True):
    """A variable of the proxy that it cannot parse: it does not start."""

    value: str


PROBLEMS = (
    LinkerdAnnotationValue,
    LinkerdInjectValue,
    LinkerdWaitRefused,
    LinkerdProxyEnv,
)
