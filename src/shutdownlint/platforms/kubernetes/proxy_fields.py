"""The fields that proxies of every mesh have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shutdownlint.platforms.fields import CaseView, FieldType, plain_field, setting_field
from shutdownlint.platforms.kubernetes.container_fields import pre_stop
from shutdownlint.platforms.traffic import MeshProxyFacts

if TYPE_CHECKING:
    from shutdownlint.shutdown.provenance import Setting

_D, _S = FieldType.DURATION, FieldType.STRING


def slowest_app(view: CaseView) -> CaseView | None:
    """Return the app's container that has the latest stop signal."""
    regular = view.plan.regular
    slowest = max(regular, key=lambda c: c.hook.duration.value.low, default=None)
    return CaseView(view.pod, view.analysis, slowest) if slowest is not None else None


def _mode(view: CaseView) -> Setting[str] | None:
    found: MeshProxyFacts | None = view.container_facts(MeshProxyFacts)
    return found.mode if found is not None else None


def _mesh(view: CaseView) -> str:
    found: MeshProxyFacts | None = view.container_facts(MeshProxyFacts)
    return found.mesh if found is not None else ""


PROXY_FIELDS: Final = (
    plain_field("mesh", _S, "the mesh that the proxy belongs to, or empty", _mesh),
    plain_field("proxy", _S, "the proxy's container", lambda view: view.container.name),
    setting_field("mode", _S, "classic, native, or gateway (the pod is the proxy)", _mode),
    setting_field("proxyPreStop", _D, "how long the proxy's own preStop hook takes", pre_stop),
    plain_field(
        "proxyEnds",
        _D,
        "when the proxy is gone with no request on the pod",
        lambda view: view.idle().exit.at,
    ),
    plain_field(
        "proxyKillsRequestsAt",
        _D,
        "when the proxy cuts a request that is in flight",
        lambda view: view.loaded().gave_up.at,
    ),
    plain_field(
        "listenerCloses",
        _D,
        "when its listener would close by itself; absent where it never does",
        lambda view: view.idle().listener_closes,
    ),
    plain_field(
        "acceptsUntil",
        _D,
        "when it stops accepting new connections, with no request on the pod",
        lambda view: view.idle().accepts_until().at,
    ),
)
