"""The behaviour of an app's container at its stop signal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from shutdownlint.platforms.pods.containers import ContainerFacts
from shutdownlint.shutdown.process import HookSignal, abrupt, graceful, ignoring

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shutdownlint.platforms.pod_draft import ContainerDraft
    from shutdownlint.shell.sent_signals import SentSignal
    from shutdownlint.shutdown.provenance import Setting

#: The others mean something to some programs only.
_STOPS_ANY_PROGRAM: Final = frozenset(("TERM", "INT", "QUIT"))


def hook_signals(sent: Iterable[SentSignal]) -> tuple[HookSignal, ...]:
    """Return the signals of a hook that end any program, whatever its own stop signal is."""
    return tuple(
        HookSignal(each.at, each.signal) for each in sent if each.signal in _STOPS_ANY_PROGRAM
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
