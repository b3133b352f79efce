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
)
from shutdownlint.platforms.istio.proxy_plan import IstioProxyFacts
from shutdownlint.platforms.versions import version_text
from shutdownlint.shutdown.provenance import Setting, with_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from shutdownlint.platforms.istio.process import ProxySettings

_D, _B, _S = FieldType.DURATION, FieldType.BOOL, FieldType.STRING


def _facts(view: CaseView) -> IstioProxyFacts | None:
    found: IstioProxyFacts | None = view.container_facts(IstioProxyFacts)
    return found


def _from_facts(get: Callable[[IstioProxyFacts], Any]) -> Callable[[CaseView], Any]:
    return from_container_facts(IstioProxyFacts, get)


def _from_settings(get: Callable[[ProxySettings], Any]) -> Callable[[CaseView], Any]:
    return _from_facts(lambda found: get(found.settings))


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
        _setting("terminationDrain", _D, "terminationDrainDuration", lambda s: s.termination_drain),
        _setting("drainDuration", _D, "drainDuration", lambda s: s.drain_duration),
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
