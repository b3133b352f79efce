"""The behaviour of an app's container at its stop signal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from shutdownlint.platforms.pods.containers import ContainerFacts
from shutdownlint.shutdown.process import HookSignal, abrupt, graceful, ignoring

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shutdownlint.manifests.resources import PodSpec
    from shutdownlint.platforms.pod_draft import ContainerDraft
    from shutdownlint.shell.sent_signals import SentSignal
    from shutdownlint.shutdown.provenance import Setting

#: The others mean something to some programs only.
_STOPS_ANY_PROGRAM: Final = frozenset(("TERM", "INT", "QUIT"))


def hook_signals(sent: Iterable[SentSignal], spec: PodSpec) -> tuple[HookSignal, ...]:
    """Return the signals of a hook that end any program, whatever its own stop signal is.

    In a shared process namespace process 1 is the pause container. When it ends, the kernel kills
    every process of the pod (measured on a node of Kubernetes 1.34.4).
    """
    return tuple(
        HookSignal(
            each.at,
            each.signal,
            ends_pod=each.by_number and spec.shareProcessNamespace is True,
        )
        for each in sent
        if each.signal in _STOPS_ANY_PROGRAM
    )


def set_behaviour(container: ContainerDraft, behaviour: Setting[str]) -> None:
    """Give an app's container the process of that behaviour, and note it for rules."""
    written: ContainerFacts = container.facts[ContainerFacts]
    if behaviour.value == "abrupt":
        container.process = abrupt(behaviour)
    elif behaviour.value == "ignoring":
        container.process = ignoring()
    else:
        container.process = graceful(written.drain)
    container.note(replace(written, behaviour=behaviour))
