"""The nodes that a pod asks for or tolerates, where those end after a time of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from shutdownlint.platforms.durations import go_duration
from shutdownlint.platforms.nodes import facts
from shutdownlint.platforms.nodes.resources import (
    EC2NodeClass,
    KubeletConfig,
    KubeletConfiguration,
    KubeletSettings,
    NodePool,
)
from shutdownlint.shutdown.durations import ZERO
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import timedelta

    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.manifests.object_index import ObjectIndex
    from shutdownlint.manifests.resources import PodSpec
    from shutdownlint.platforms.context import AnalysisContext


def spot_notice(spec: PodSpec, ref: NodeRef) -> Setting[timedelta] | None:
    """Return the notice of the requested nodes, if those can be taken away at any time."""
    for name, value, location in _required(spec, ref):
        found = facts.SPOT_NOTICE.value.get((name, value))
        if found is not None:
            return _notice(found, location)
    return None


def possible_spot_notice(spec: PodSpec, ref: NodeRef) -> Setting[timedelta] | None:
    """Return the same of nodes that the pod tolerates or prefers, if it may land on others too."""
    decides = {name for name, _ in facts.SPOT_NOTICE.value}
    if any(name in decides for name, _, _ in _required(spec, ref, single=False)):
        return None
    for name, value, location in _preferred(spec, ref):
        found = facts.SPOT_NOTICE.value.get((name, value))
        if found is not None:
            return _notice(found, location)
    for index, toleration in enumerate(_items(spec.tolerations)):
        taint = (str(toleration.get("key")), str(toleration.get("value")))
        found = facts.SPOT_TAINTS.value.get(taint)
        if found is not None:
            return _notice(found, ref / "tolerations" / index / "key")
    return None


def _notice(found: tuple[str, timedelta], location: NodeRef) -> Setting[timedelta]:
    label, notice = found
    return Setting(label, notice, Origin(OriginKind.INHERITED, label, location))


def node_pool_grace(
    spec: PodSpec, ref: NodeRef, context: AnalysisContext
) -> tuple[Setting[timedelta] | None, Setting[timedelta] | None]:
    """Return the most that the pod's NodePool grants, and that of one that may take the pod."""
    wanted = {value for name, value, _ in _required(spec, ref) if name == facts.NODE_POOL_LABEL}
    anywhere = not list(_required(spec, ref, single=False))
    pools = context.read_once(_read_pools)
    certain = [setting for name in wanted for setting in pools.by_name.get(name, ())]
    possible = pools.open if anywhere else []
    others = [setting for name, setting in possible if name not in wanted]
    return _shortest(certain), _shortest(others[:1])


def node_shutdown(spec: PodSpec, context: AnalysisContext) -> Setting[timedelta] | None:
    """Return what a pod gets when its node shuts down; None where no kubelet waits.

    Of several kubelets' configurations the shortest counts: which node takes the pod is not known.
    """
    critical = spec.priorityClassName in facts.CRITICAL_CLASSES.value
    return _shortest(context.read_once(_read_kubelets)[critical])


def _read_kubelets(index: ObjectIndex) -> dict[bool, list[Setting[timedelta]]]:
    """Return the times of kubelets, for critical pods and for all others."""
    found: dict[bool, list[Setting[timedelta]]] = {True: [], False: []}
    written: list[tuple[KubeletSettings | KubeletConfiguration, NodeRef]] = [
        (loaded.model, loaded.ref) for loaded in index.all_of(KubeletConfiguration)
    ]
    written += [
        (loaded.model.spec.kubeletConfig, loaded.ref / "spec" / "kubeletConfig")
        for loaded in index.all_of(KubeletConfig)
    ]
    for loaded in index.all_of(EC2NodeClass):
        found_text = _in_user_data(loaded.model.spec.userData or "")
        written.append((found_text, loaded.ref / "spec" / "userData"))
    for settings, ref in written:
        try:
            total = go_duration(settings.shutdownGracePeriod or "")
            last = go_duration(settings.shutdownGracePeriodCriticalPods or "0")
        except ValueError:
            continue
        if total <= ZERO or not ZERO <= last <= total:
            continue  # off, or refused by the kubelet
        whole = isinstance(settings, UserData)
        place = ref.key if whole else ref / "shutdownGracePeriod"
        origin = Origin(OriginKind.INHERITED, "the kubelet's configuration", place)
        for critical, granted in ((True, last), (False, total - last)):
            found[critical].append(Setting("shutdownGracePeriod", granted, origin))
    return found


class UserData(KubeletSettings, frozen=True):
    """The settings of a kubelet in the text that a machine runs at its first start."""


def _in_user_data(text: str) -> UserData:
    """Read a kubelet's configuration in cloud-init, nodeadm, or Bottlerocket's TOML."""
    found = {}
    for match in facts.KUBELET_LINES.finditer(text):
        critical = "ritical" in match[1]
        found["shutdownGracePeriodCriticalPods" if critical else "shutdownGracePeriod"] = match[2]
    return UserData(**found)


class _Pools(Struct):
    """The grace of the NodePools: by name, and the shortest of those without taints first."""

    by_name: dict[str, list[Setting[timedelta]]] = field(default_factory=dict)
    open: list[tuple[str, Setting[timedelta]]] = field(default_factory=list)


def _read_pools(index: ObjectIndex) -> _Pools:
    found = _Pools()
    for loaded in index.all_of(NodePool):
        template = loaded.model.spec.template
        text = template.spec.terminationGracePeriod
        try:
            granted = go_duration(text or "")
        except ValueError:
            continue
        name = loaded.model.metadata.name or ""
        location = loaded.ref / "spec" / "template" / "spec" / "terminationGracePeriod"
        origin = Origin(OriginKind.INHERITED, f"NodePool {name}", location)
        setting = Setting("NodePool terminationGracePeriod", granted, origin)
        found.by_name.setdefault(name, []).append(setting)
        if not template.spec.taints:
            found.open.append((name, setting))
    found.open.sort(key=lambda pool: pool[1].value)
    return found


def _shortest(settings: list[Setting[timedelta]]) -> Setting[timedelta] | None:
    return min(settings, key=lambda setting: setting.value, default=None)


def _items(data: Any) -> list[dict[str, Any]]:
    return [i for i in data if isinstance(i, dict)] if isinstance(data, list) else []


def _at(data: Any, *key_path: str) -> Any:
    for step in key_path:
        data = data.get(step) if isinstance(data, dict) else None
    return data


def _required(
    spec: PodSpec, ref: NodeRef, *, single: bool = True
) -> Iterator[tuple[str, str, NodeRef]]:
    """Labels that a node must have: one value each, or (not ``single``) any of several."""
    for name, value in spec.nodeSelector.items():
        yield name, value, ref / "nodeSelector" / name
    key_path = (
        "nodeAffinity",
        "requiredDuringSchedulingIgnoredDuringExecution",
        "nodeSelectorTerms",
    )
    terms = _items(_at(spec.affinity, *key_path))
    here = ref / "affinity"
    for step in key_path:
        here = here / step
    if len(terms) == 1 or not single:  # several are alternatives
        for index, term in enumerate(terms):
            yield from _expressions(term, here / index, single=single)


def _preferred(spec: PodSpec, ref: NodeRef) -> Iterator[tuple[str, str, NodeRef]]:
    key_path = ("nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution")
    here = ref / "affinity" / key_path[0] / key_path[1]
    for index, wish in enumerate(_items(_at(spec.affinity, *key_path))):
        term = wish.get("preference")
        if isinstance(term, dict):
            yield from _expressions(term, here / index / "preference")


def _expressions(
    term: dict[str, Any], ref: NodeRef, *, single: bool = True
) -> Iterator[tuple[str, str, NodeRef]]:
    for index, expression in enumerate(_items(term.get("matchExpressions"))):
        key, values = expression.get("key"), expression.get("values")
        listed = values if isinstance(values, list) else []
        exact = expression.get("operator") == "In" and len(listed) == 1
        if exact or not single:
            value = str(listed[0]) if listed else ""
            yield str(key), value, ref / "matchExpressions" / index / "values" / 0
