"""Nodes as a platform: those that can be taken away, and what limits their pods' grace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from shutdownlint.platforms.fields import (
    Field,
    Fields,
    FieldType,
    SubjectKind,
    from_pod_facts,
)
from shutdownlint.platforms.nodes import facts
from shutdownlint.platforms.nodes.detect import (
    node_pool_grace,
    node_shutdown,
    possible_spot_notice,
    spot_notice,
)
from shutdownlint.platforms.platform import Platform
from shutdownlint.platforms.pods.pod_facts import NodeShutdown

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

    from shutdownlint.platforms.pod_draft import PodDraft
    from shutdownlint.shutdown.provenance import Setting


class NodeFacts(Struct, frozen=True):
    """The most time a pod gets when its node is taken away; ``possible``: if it runs there."""

    spot_notice: Setting[timedelta] | None
    possible_spot_notice: Setting[timedelta] | None
    pool_grace: Setting[timedelta] | None
    possible_pool_grace: Setting[timedelta] | None
    node_shutdown: Setting[timedelta] | None


def _setting(name: str, doc: str, get: Callable[[NodeFacts], Any]) -> Field:
    return Field(name, FieldType.DURATION, doc, from_pod_facts(NodeFacts, get), setting=True)


_FIELDS: Final[Fields] = {
    SubjectKind.POD: (
        Field(
            "autoscalerLimit",
            FieldType.DURATION,
            "what the cluster autoscaler grants at most",
            lambda _view: facts.AUTOSCALER_LIMIT.value,
        ),
        _setting(
            "spotNotice",
            "what its spot nodes give at most; absent unless it asks for such",
            lambda found: found.spot_notice,
        ),
        _setting(
            "possibleSpotNotice",
            "what spot nodes give at most that it tolerates; absent otherwise",
            lambda found: found.possible_spot_notice,
        ),
        _setting(
            "nodeGrace",
            "what its NodePool grants its pods at most; absent without one",
            lambda found: found.pool_grace,
        ),
        _setting(
            "possibleNodeGrace",
            "the same of a NodePool that may take it; absent without one",
            lambda found: found.possible_pool_grace,
        ),
        _setting(
            "nodeShutdown",
            "what a kubelet grants its pods when its node shuts down; absent where none waits",
            lambda found: found.node_shutdown,
        ),
    )
}


class Plugin(Platform):
    """Spot nodes, Karpenter's NodePools, the cluster autoscaler, kubelets that shut down."""

    name = "nodes"
    fields = _FIELDS

    def contribute(self, draft: PodDraft) -> None:
        """Note what the pod's nodes grant it."""
        spec, ref = draft.workload.template.spec, draft.workload.spec
        certain, possible = node_pool_grace(spec, ref, draft.context)
        shutdown = node_shutdown(spec, draft.context)
        if shutdown is not None:
            draft.note(NodeShutdown(shutdown))
        draft.note(
            NodeFacts(
                spot_notice(spec, ref),
                possible_spot_notice(spec, ref),
                certain,
                possible,
                shutdown,
            )
        )
