"""Envoys that a manager beside them drains.

The manager's preStop hook waits until connections are closed, and Envoy's own hook waits for the
manager: Envoy accepts until then, and is stopped when nothing is left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from shutdownlint.numbers import read_whole
from shutdownlint.platforms.durations import go_duration
from shutdownlint.platforms.pods.behaviour import set_behaviour
from shutdownlint.shell.syntax import base_name
from shutdownlint.shutdown.durations import ZERO
from shutdownlint.shutdown.pod_plan import Role
from shutdownlint.shutdown.process import OPEN, Phase, Process, Trigger, WhenGone, abrupt
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting

if TYPE_CHECKING:
    from datetime import timedelta

    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.platforms.pod_draft import ContainerDraft, PodDraft
    from shutdownlint.shutdown.process import Ending

#: Where Envoy's own hook asks whether the manager is done.
_READY: Final = "/shutdown"


def find_managed_envoy(draft: PodDraft, program: str) -> ManagedEnvoy | None:
    """Return Envoy of a pod, if a container beside it drains it in its hook with ``program``."""
    for manager in draft.containers:
        command = _hook_command(manager)
        if len(command) < 2 or base_name(command[0]) != program or "shutdown" not in command[1:]:
            continue
        for envoy in draft.containers:
            if envoy is not manager and _waits(envoy) and manager.ref is not None:
                location = manager.ref.below("lifecycle", "preStop", "exec", "command")
                return ManagedEnvoy(draft, envoy, manager, command, location)
    return None


class ManagedEnvoy(Struct, frozen=True):
    """An Envoy and its manager. ``command`` is the manager's hook, ``location`` where it is."""

    draft: PodDraft
    envoy: ContainerDraft
    manager: ContainerDraft
    command: tuple[str, ...]
    location: NodeRef

    def duration(self, flag: str, default: timedelta) -> Setting[timedelta]:
        """Return a flag of the hook; its default where it is not written, or cannot be read."""
        text = self._written(flag)
        try:
            value = max(go_duration(text), ZERO) if text is not None else default
        except ValueError:
            text, value = None, default
        kind = OriginKind.DEFAULT if text is None else OriginKind.EXPLICIT
        label = f"{flag}, its default" if text is None else flag
        return Setting(flag.strip("-"), value, Origin(kind, label, self.location))

    def number(self, flag: str, default: int) -> int:
        """Return a whole number that a flag of the hook sets."""
        number = read_whole(self._written(flag) or "", 8)
        return default if number is None else number

    @staticmethod
    def sum_of(name: str, *parts: Setting[timedelta]) -> Setting[timedelta]:
        """Several times, one after the other."""
        total = sum((part.value for part in parts), ZERO)
        origin = max(parts, key=lambda part: part.value).origin
        return Setting(name, total, origin)

    def take(self, ending: Ending) -> None:
        """Let Envoy accept from the deletion on, until ``ending``."""
        reason = f"drained by {self.manager.name}"
        origin = Origin(OriginKind.EXPLICIT, reason, self.location)
        phases = (Phase(Trigger.DELETION, ending, OPEN, OPEN),)
        for container, process in ((self.envoy, Process(phases)), (self.manager, abrupt())):
            set_behaviour(container, Setting("behaviour", "graceful", origin))
            container.process = process
            container.hook = replace(container.hook, ending=WhenGone((self.envoy.name,)))
            container.settled = True
        self.manager.serves = self.manager.serves_assumed = False
        self.manager.role = Role.HELPER

    def _written(self, flag: str) -> str | None:
        words = self.command
        for number, word in enumerate(words):
            name, equals, value = word.partition("=")
            if name == flag and equals:
                return value
            if word == flag and number + 1 < len(words):
                return words[number + 1]
        return None


def _hook_command(container: ContainerDraft) -> tuple[str, ...]:
    lifecycle = container.spec.lifecycle if container.spec is not None else None
    hook = lifecycle.preStop.exec if lifecycle is not None and lifecycle.preStop else None
    return tuple(hook.command or ()) if hook is not None else ()


def _waits(container: ContainerDraft) -> bool:
    lifecycle = container.spec.lifecycle if container.spec is not None else None
    request = lifecycle.preStop.httpGet if lifecycle is not None and lifecycle.preStop else None
    return request is not None and (request.path or "").startswith(_READY)
