"""Istio's annotations and variables on a pod: what is read of them, and what has no effect."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from shutdownlint.manifests.decoding import has_placeholder
from shutdownlint.manifests.document import EmbeddedNodeRef, embedded_error_region
from shutdownlint.platforms.istio import facts, problems
from shutdownlint.platforms.istio.proxyconfig import ProxyConfigText, read_proxy_config
from shutdownlint.platforms.pod_annotations import AnnotationIgnored, misplaced_annotations
from shutdownlint.yaml_source.composer import ComposeError, compose
from shutdownlint.yaml_source.location import EntryPart, FixedLocation, KeyPath
from shutdownlint.yaml_source.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.istio.problems import IstioProblem
    from shutdownlint.platforms.problem import Problem
    from shutdownlint.yaml_source.location import SourceLocation


def read_annotation(workload: Workload) -> tuple[ProxyConfigText, list[IstioProblem]]:
    """Return the pod's ``proxy.istio.io/config``, and what is wrong with it."""
    text = workload.template.metadata.annotations.get(facts.CONFIG_ANNOTATION)
    return _read_once(text, workload) if text is not None else (ProxyConfigText(), [])


# A pod is planned for each version and mode that it may run with, one after the other.
@lru_cache(maxsize=8)
def _read_once(text: str, workload: Workload) -> tuple[ProxyConfigText, list[IstioProblem]]:
    return read_embedded(text, workload.annotations / facts.CONFIG_ANNOTATION)


def read_embedded(text: str, host: NodeRef) -> tuple[ProxyConfigText, list[IstioProblem]]:
    """Return a ProxyConfig that is the text of a scalar, and what is wrong with it.

    Istio reads the first document of the text only.
    """
    config = facts.CONFIG_ANNOTATION
    try:
        roots = compose(text)
    except ComposeError as error:
        if has_placeholder(text):
            return ProxyConfigText(unresolved=True), []
        location = FixedLocation(embedded_error_region(host, error), host.template)
        reason = f"is not YAML: {error.reason}"
        rejected = problems.ProxyConfigRejected(location=location, key="", reason=reason)
        return ProxyConfigText(), [rejected]
    tree = Tree(roots[0]) if roots else None

    def at(key_path: KeyPath, part: EntryPart) -> SourceLocation:
        return EmbeddedNodeRef(host, tree, key_path, part)

    read = read_proxy_config(roots[0] if roots else None, (), at)
    kinds = (
        (problems.ProxyConfigRejected, read.rejected),
        (problems.ProxyConfigRemoved, read.removed),
        (problems.ProxyConfigDoubtful, read.doubtful),
        (problems.ProxyConfigKeyIgnored, read.ignored),
        (problems.ProxyEnvMisspelled, read.misspelled),
    )
    found = [finding.as_problem(kind, config) for kind, each in kinds for finding in each]
    return read, [*found, *read.stale_problems()]


#: The last part of annotations that people write for the proxy's configuration.
_CONFIGS: Final = frozenset(("config", "proxyconfig", "meshconfig", "defaultconfig"))
_KNOWN: Final = (
    facts.NATIVE_ANNOTATION,
    facts.INJECT,
    facts.STATS_ANNOTATION,
    facts.TEMPLATES,
    facts.INBOUND_PORTS,
    facts.SKIPPED_PORTS,
    facts.OUTBOUND_ADDRESSES,
    facts.OUTBOUND_PORTS,
)


def ignored_annotations(workload: Workload) -> Iterator[Problem]:
    """Annotations on the workload's own metadata, and names that Istio does not read."""
    keys = (facts.CONFIG_ANNOTATION, facts.NATIVE_ANNOTATION, facts.TEMPLATES)
    yield from misplaced_annotations(workload, keys)
    for name in workload.template.metadata.annotations:
        unknown = facts.UNKNOWN_ANNOTATIONS.value.get(name)
        renamed = _meant(name)
        if unknown is not None:
            reason = f"Istio has no such annotation, use {unknown} instead"
            renamed = unknown if unknown == facts.NATIVE_ANNOTATION else ""
        elif renamed:
            reason = f"Istio has no such annotation, {renamed} is meant"
        else:
            continue
        yield AnnotationIgnored(
            location=(workload.annotations / name).key, key=name, reason=reason, instead=renamed
        )


def _meant(name: str) -> str:
    """Return the annotation that another spelling of it means, such as ``proxy.istio.io/Config``.

    Empty where it is one, or means none.
    """
    domain, _, rest = name.lower().rpartition("/")
    config = rest.replace("-", "").replace("_", "")
    if name != facts.CONFIG_ANNOTATION and domain.endswith("istio.io") and config in _CONFIGS:
        return facts.CONFIG_ANNOTATION
    return next((each for each in _KNOWN if each.lower() == name.lower() and each != name), "")


def ineffective_settings(workload: Workload) -> Iterator[IstioProblem]:
    """Yield what has no effect on the pod: variables that nothing reads, meaningless values."""
    metadata, ref = workload.template.metadata, workload.annotations
    native = metadata.annotations.get(facts.NATIVE_ANNOTATION)
    if native is not None and not has_placeholder(native):
        valid = native in ("true", "false")
        kind = problems.NativeAnnotation if valid else problems.NativeAnnotationValue
        location = ref / facts.NATIVE_ANNOTATION
        yield kind(location=location, key=facts.NATIVE_ANNOTATION, value=native)
    drain = (facts.EXIT_ON_ZERO_ENV, facts.MINIMUM_DRAIN_ENV)
    for index, container in enumerate(workload.template.spec.containers):
        here = workload.spec / "containers" / index / "env"
        is_proxy = container.name == facts.PROXY_CONTAINER
        for number, variable in enumerate(container.env):
            stale = variable.name == facts.STALE_DRAIN_ENV
            if stale or (variable.name in drain and not is_proxy):
                found = problems.StaleDrainEnv if stale else problems.DrainEnvOnApp
                yield found(
                    location=here / number / "name",
                    key=variable.name,
                    value=(variable.value or "") if stale else container.name,
                    container=container.name,
                )


def settings_without_proxy(
    workload: Workload, annotation: ProxyConfigText, *, namespace_known: bool, is_gateway: bool
) -> Iterator[IstioProblem]:
    """Drain settings on a pod that surely gets no sidecar: its namespace is known."""
    name = facts.CONFIG_ANNOTATION
    drains = (
        annotation.drain_duration
        or annotation.termination_drain
        or ({facts.EXIT_ON_ZERO_ENV, facts.MINIMUM_DRAIN_ENV} & annotation.env.keys())
    )
    host = workload.template.spec.hostNetwork is True
    templated = facts.TEMPLATES in workload.template.metadata.annotations
    if drains and (namespace_known or host) and not is_gateway and not templated:
        reason = (
            "pods on the node's network get none"
            if host
            else "its namespace and labels ask for none"
        )
        location = (workload.annotations / name).key
        yield problems.ProxyConfigWithoutProxy(location=location, key=name, reason=reason)
