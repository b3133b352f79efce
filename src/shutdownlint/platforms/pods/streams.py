"""Signs that clients hold streams on a pod: no grace period covers them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from shutdownlint.platforms.facts import SourcedValue
from shutdownlint.platforms.traffic import StreamFacts
from shutdownlint.shutdown.durations import format_duration
from shutdownlint.shutdown.pod_plan import Assumption
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shutdownlint.manifests.object_index import LoadedResource
    from shutdownlint.manifests.resources import Service
    from shutdownlint.platforms.pod_draft import PodDraft

#: Values of ``appProtocol``, and beginnings of the names of ports, of protocols with streams.
_PROTOCOLS: Final = SourcedValue(
    ("grpc", "kubernetes.io/ws", "kubernetes.io/wss", "ws", "wss", "websocket"),
    "KEP-3726 (appProtocol); istio.io, Protocol Selection (names of ports)",
)
#: Requests of ordinary kinds end before; what takes longer is a stream where ports show streams.
_LONGEST_REQUEST: Final = timedelta(minutes=10)
_APP_ENDS_THEM: Final = "the app has to end them with GOAWAY or a close frame"


def note_streams(draft: PodDraft, services: Sequence[LoadedResource[Service]]) -> None:
    """Note what shows that clients hold streams; their length is no p99."""
    shown = _port_of_streams(services)
    if shown is None:
        return
    p99 = draft.p99
    is_theirs = p99 is not None and p99.value > _LONGEST_REQUEST
    draft.note(StreamFacts(shown, is_theirs))
    if p99 is not None and is_theirs:
        length = format_duration(p99.value)
        text = f"p99 {length} is taken as the length of streams ({shown.value}): {_APP_ENDS_THEM}"
        draft.assumptions.append(Assumption(text, "state the p99 of the requests"))
        draft.p99 = None


def _port_of_streams(services: Sequence[LoadedResource[Service]]) -> Setting[str] | None:
    for service in services:
        for index, port in enumerate(service.model.spec.ports):
            key = "name" if port.appProtocol is None else "appProtocol"
            text = port.name if port.appProtocol is None else port.appProtocol
            if not text:
                continue
            if text in _PROTOCOLS.value or text.partition("-")[0] in _PROTOCOLS.value:
                place = service.ref / "spec" / "ports" / index / key
                label = f"port {port.name or port.port} of Service {service.model.metadata.name}"
                return Setting("streams", label, Origin(OriginKind.EXPLICIT, key, place))
    return None
