"""Annotations that limit how long a request takes, with sources. Defaults are not evidence."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from msgspec import Struct

from shutdownlint.platforms.facts import SourcedValue


class Unit(StrEnum):
    """The unit in which a limit is written."""

    #: A whole number of seconds.
    SECONDS = "whole seconds"
    MILLISECONDS = "whole milliseconds"
    #: A duration of Go.
    DURATION = "duration"
    #: A time of nginx: numbers with units, or seconds.
    SERVER = "a time of nginx"
    #: A time of HAProxy: a number with a unit, or milliseconds.
    HAPROXY = "a time of HAProxy"


class TimeoutAnnotation(Struct, frozen=True):
    """An annotation. ``total``: it limits the whole request, else only its pauses.

    ``classes``: a part of the name of the Ingress class that reads it; empty: any.
    """

    key: str
    unit: Unit
    total: bool = False
    classes: tuple[str, ...] = ()


INGRESS_ANNOTATIONS: Final = (
    SourcedValue(
        TimeoutAnnotation(
            "nginx.ingress.kubernetes.io/proxy-read-timeout", Unit.SECONDS, classes=("nginx",)
        ),
        "ingress-nginx config.go:858-860, configmap.md:1066-1074",
    ),
    SourcedValue(
        TimeoutAnnotation(
            "nginx.ingress.kubernetes.io/proxy-send-timeout", Unit.SECONDS, classes=("nginx",)
        ),
        "ingress-nginx config.go:858-860, configmap.md:1066-1074",
    ),
    SourcedValue(
        TimeoutAnnotation("nginx.org/proxy-read-timeout", Unit.SERVER, classes=("nginx",)),
        "nginx kubernetes-ingress config_params.go:219",
    ),
    SourcedValue(
        TimeoutAnnotation(
            "projectcontour.io/response-timeout", Unit.DURATION, total=True, classes=("contour",)
        ),
        "contour docs annotations.md:50",
    ),
    SourcedValue(
        TimeoutAnnotation("haproxy-ingress.github.io/timeout-server", Unit.HAPROXY),
        "haproxy-ingress docs keys.md, defaults.go:78",
    ),
    SourcedValue(
        TimeoutAnnotation("haproxy.org/timeout-server", Unit.HAPROXY),
        "haproxytech kubernetes-ingress documentation/annotations.md:94",
    ),
    SourcedValue(
        TimeoutAnnotation("appgw.ingress.kubernetes.io/request-timeout", Unit.SECONDS, total=True),
        "Azure's documentation of Application Gateway's ingress annotations",
    ),
)
SERVICE_ANNOTATIONS: Final = (
    SourcedValue(
        TimeoutAnnotation("konghq.com/read-timeout", Unit.MILLISECONDS),
        "kong services.lua:41-42",
    ),
    SourcedValue(
        TimeoutAnnotation("timeout.linkerd.io/request", Unit.DURATION, total=True),
        "linkerd website docs/reference/timeouts.md:16-43",
    ),
    SourcedValue(
        TimeoutAnnotation("timeout.linkerd.io/response", Unit.DURATION, total=True),
        "linkerd website docs/reference/timeouts.md:16-43",
    ),
)
#: An ALB's attributes; that for idle connections limits the pauses of a request.
ALB_ATTRIBUTES: Final = SourcedValue(
    ("alb.ingress.kubernetes.io/load-balancer-attributes", "idle_timeout.timeout_seconds"),
    "aws-load-balancer-controller docs annotations.md:1091-1093",
)
