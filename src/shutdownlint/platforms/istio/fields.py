"""The fields that Istio adds for the conditions of rules: its proxy's settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shutdownlint.platforms.fields import (
    CaseView,
    Field,
    Fields,
    FieldType,
    SubjectKind,
    from_container_facts,
    recommended_value,
)
from shutdownlint.platforms.istio import facts
from shutdownlint.platforms.istio.proxy_plan import IstioProxyFacts
from shutdownlint.platforms.versions import version_text
from shutdownlint.shutdown.durations import format_duration
from shutdownlint.shutdown.provenance import Setting, with_value

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

    from shutdownlint.platforms.istio.process import ProxySettings

_D, _B, _S = FieldType.DURATION, FieldType.BOOL, FieldType.STRING


def _facts(view: CaseView) -> IstioProxyFacts | None:
    found: IstioProxyFacts | None = view.container_facts(IstioProxyFacts)
    return found


def _from_facts(get: Callable[[IstioProxyFacts], Any]) -> Callable[[CaseView], Any]:
    return from_container_facts(IstioProxyFacts, get)


def _from_settings(get: Callable[[ProxySettings], Any]) -> Callable[[CaseView], Any]:
    return _from_facts(lambda found: get(found.settings))


def _exit_on_zero_advice(view: CaseView) -> str | None:
    found = _facts(view)
    if found is None:
        return None
    if view.container.switch is None:
        return ""
    current = found.settings.minimum_drain.value
    needed = recommended_value(view, "minimumDrain", view.container.name, current)
    minimum = f"{facts.MINIMUM_DRAIN_ENV} to at least {format_duration(needed)}"
    return f"set {facts.EXIT_ON_ZERO_ENV} to 'true' and {minimum} in proxyMetadata, or"


def _drain_ends(view: CaseView) -> timedelta | None:
    found = _facts(view)
    if found is None:
        return None
    return view.container.hook.duration.value.low + found.settings.termination_drain.value


def _exit_on_zero_recommended(view: CaseView) -> bool | None:
    if _facts(view) is None:
        return None
    return view.analysis.solution.value_of("exitOnZero", view.container.name) is True


def _recommended(
    field: str, get: Callable[[ProxySettings], Setting[timedelta]]
) -> Callable[[CaseView], timedelta | None]:
    def getter(view: CaseView) -> timedelta | None:
        found = _facts(view)
        if found is None:
            return None
        return recommended_value(view, field, view.container.name, get(found.settings).value)

    return getter


def _hook(found: IstioProxyFacts) -> Setting[list[str]]:
    return with_value(found.hook, list(found.hook.value.command))


def _setting(
    name: str, field_type: FieldType, doc: str, get: Callable[[ProxySettings], Any]
) -> Field:
    return Field(name, field_type, doc, _from_settings(get), setting=True)


FIELDS: Final[Fields] = {
    SubjectKind.PROXY: (
        _setting("exitOnZero", _B, "EXIT_ON_ZERO_ACTIVE_CONNECTIONS", lambda s: s.exit_on_zero),
        _setting("minimumDrain", _D, "MINIMUM_DRAIN_DURATION", lambda s: s.minimum_drain),
        Field(
            "drainEnds",
            _D,
            "when terminationDrainDuration is over: the proxy's preStop and that together",
            _drain_ends,
        ),
        Field(
            "exitOnZeroAdvice",
            _S,
            "how to turn exit-on-zero on, for the text of a fix; empty where that does not fit",
            _exit_on_zero_advice,
        ),
        Field(
            "exitOnZeroRecommended",
            _B,
            "whether EXIT_ON_ZERO_ACTIVE_CONNECTIONS is the change that serves every request",
            _exit_on_zero_recommended,
        ),
        Field(
            "meshDefaults",
            _S,
            "where defaults of many proxies can be set: the mesh configuration or the namespace",
            _from_facts(lambda found: found.defaults),
            setting=True,
        ),
        _setting("terminationDrain", _D, "terminationDrainDuration", lambda s: s.termination_drain),
        _setting("drainDuration", _D, "drainDuration", lambda s: s.drain_duration),
        Field(
            "recommendedTerminationDrain",
            _D,
            "the terminationDrainDuration that serves every request",
            _recommended("terminationDrain", lambda s: s.termination_drain),
        ),
        Field(
            "recommendedMinimumDrain",
            _D,
            "the MINIMUM_DRAIN_DURATION that serves every request",
            _recommended("minimumDrain", lambda s: s.minimum_drain),
        ),
        Field(
            "recommendedDrainDuration",
            _D,
            "the drainDuration that serves every request",
            _recommended("drainDuration", lambda s: s.drain_duration),
        ),
        Field(
            "istioVersion",
            _S,
            "the Istio release of the proxy, empty where it is not known",
            lambda view: version_text(view.pod.versions.get("istio")),
        ),
        Field(
            "waypoint",
            _B,
            "whether it is the waypoint of an ambient mesh",
            _from_facts(lambda found: found.waypoint),
        ),
        Field(
            "drainHookReplaced",
            _B,
            "whether a native proxy's own hook, or a mesh-wide one, replaces the drain hook",
            _from_facts(lambda found: found.drain_hook_replaced),
        ),
        Field(
            "drainHook",
            _B,
            "whether a native proxy's own hook starts the drain",
            _from_settings(lambda s: s.drain_hook),
        ),
        Field(
            "proxyHook",
            FieldType.STRINGS,
            "the command of the proxy's own preStop hook",
            _from_facts(_hook),
            setting=True,
        ),
        Field(
            "statsMatched",
            _B,
            "whether proxyStatsMatcher asks for downstream_cx_active",
            _from_facts(lambda found: found.stats_matched),
        ),
        Field(
            "callsQuit",
            _B,
            "whether a command of the pod calls /quitquitquit",
            _from_facts(lambda found: found.calls_quit),
        ),
        Field(
            "proxyImage",
            _S,
            "the image written for istio-proxy, or empty",
            _from_facts(lambda found: found.image),
        ),
    ),
}
