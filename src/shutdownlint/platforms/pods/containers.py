"""Settings of a container besides its hook: start command, signals, probes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from shutdownlint.platforms.edit_target import ValueFormat
from shutdownlint.platforms.locations import node_ref
from shutdownlint.platforms.pods.hooks import MAX_SECONDS, HookHandler, HookKind
from shutdownlint.platforms.pods.images import command_line, image_shell
from shutdownlint.shell.forwarding import SignalForwarding
from shutdownlint.shell.syntax import shell_name, shell_script
from shutdownlint.shutdown.durations import seconds
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting

if TYPE_CHECKING:
    from datetime import timedelta

    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.manifests.resources import Container, PodSpec
    from shutdownlint.platforms.pod_draft import ContainerDraft
    from shutdownlint.programs.images import ImageConfig
    from shutdownlint.shutdown.durations import DurationRange

GRACE_FIELD = "terminationGracePeriodSeconds"


class ContainerFacts(Struct, frozen=True):
    """The facts for rules: the hook's handler, how the container is started, its probes.

    ``start_script`` is what a shell runs as the first process, empty where no shell does;
    ``command`` is all that starts it, arguments included, where that is written. The probes' own
    grace periods replace the pod's when that probe has the container killed. ``drain`` is how long
    the app still accepts after its stop signal, ``behaviour`` what it does then.
    """

    handler: Setting[HookHandler]
    forwarding: Setting[SignalForwarding]
    drain: Setting[timedelta]
    behaviour: Setting[str]
    start_script: str = ""
    command: tuple[str, ...] = ()
    image: str = ""
    stop_signal: Setting[str] | None = None
    liveness_grace: Setting[timedelta] | None = None
    startup_grace: Setting[timedelta] | None = None

    @property
    def may_keep_signal(self) -> bool:
        """Whether a shell may keep the stop signal from the app: that depends on the shell."""
        forwarding = self.forwarding.value
        by_image = forwarding is SignalForwarding.UNKNOWN and bool(self.start_script)
        assumed = self.behaviour.origin.kind is not OriginKind.MEASURED
        return assumed and (forwarding is SignalForwarding.DEPENDS_ON_SHELL or by_image)


def read_stop_signal(container: Container, ref: NodeRef) -> Setting[str] | None:
    """Return the stop signal that the manifest asks for."""
    wanted = container.lifecycle.stopSignal if container.lifecycle else None
    if wanted is None:
        return None
    origin = Origin(OriginKind.EXPLICIT, "stopSignal", ref / "lifecycle" / "stopSignal")
    return Setting("stopSignal", wanted, origin)


def read_probe_grace(container: Container, ref: NodeRef, probe: str) -> Setting[timedelta] | None:
    """Return a probe's own grace period, which replaces the pod's when the probe kills."""
    written = getattr(container, probe)
    value = written.terminationGracePeriodSeconds if written is not None else None
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    origin = Origin(OriginKind.EXPLICIT, probe, ref / probe / GRACE_FIELD)
    return Setting(f"{probe} {GRACE_FIELD}", seconds(min(value, MAX_SECONDS)), origin)


def read_start(
    container: Container, spec: PodSpec, ref: NodeRef, config: ImageConfig | None
) -> tuple[Setting[SignalForwarding], str]:
    """Whether the stop signal reaches the app, and the shell script that starts it."""
    placed = command_line(container, ref, config)
    words = [text for text, _ in placed]
    script = shell_script(words)
    if script is None:
        label = "the image's own entry point"
        return _forwarding(SignalForwarding.UNKNOWN, label, ref / "name"), ""
    location = placed[words.index(script)][1]
    field = next(str(step) for step in reversed(location.key_path) if isinstance(step, str))
    shared = (spec.shareProcessNamespace, spec.hostPID)
    known = bool(container.command) or config is not None
    if not known or any(shared):
        # The image's entry point may be an init, or the shell is not process 1.
        return _forwarding(SignalForwarding.UNKNOWN, field, location), script
    from shutdownlint.shell.signals import signal_forwarding  # noqa: PLC0415 - only for a script

    shell = shell_name(words)
    shell = image_shell(container, config) if shell == "sh" else shell
    return _forwarding(signal_forwarding(script, shell), field, location), script


def _forwarding(
    value: SignalForwarding, label: str, location: NodeRef
) -> Setting[SignalForwarding]:
    return Setting("start command", value, Origin(OriginKind.EXPLICIT, label, location))


def first_process(
    container: Container, spec: PodSpec, ref: NodeRef, config: ImageConfig | None
) -> tuple[str, ...]:
    """Return the command line of the container's first process, where that is known."""
    if spec.shareProcessNamespace or spec.hostPID or not (container.command or config):
        return ()
    return tuple(text for text, _ in command_line(container, ref, config))


def note_edit_targets(
    draft: ContainerDraft, facts: ContainerFacts, *, sleep_action: bool, how: str
) -> None:
    """Note where the container's settings are written, or would be.

    ``sleep_action``: the cluster runs a hook's sleep action. ``how`` says how a new hook sleeps.
    """
    duration = draft.hook.duration
    kind = facts.handler.value.kind
    target = _pre_stop_target(duration, kind, sleep_action=sleep_action)
    if target is not None:
        draft.editable("preStop", target[0], target[1])
        draft.add_hook_knob("preStop", how if kind is HookKind.NONE else "")
    for name, setting, value_format in (
        ("livenessGrace", facts.liveness_grace, ValueFormat.SECONDS),
        ("startupGrace", facts.startup_grace, ValueFormat.SECONDS),
        ("stopSignal", facts.stop_signal, ValueFormat.PLAIN),
    ):
        if setting is not None and setting.origin.written:
            draft.editable(name, node_ref(setting), value_format)
    if kind is not HookKind.NONE and facts.handler.origin.written:
        draft.editable("hook", whole_hook(node_ref(facts.handler)))


def _pre_stop_target(
    duration: Setting[DurationRange], kind: HookKind, *, sleep_action: bool
) -> tuple[NodeRef, ValueFormat] | None:
    location = node_ref(duration)
    if location is None:
        return None
    if kind is HookKind.NONE:
        hook = location.parent / "lifecycle" / "preStop"
        if sleep_action:
            return hook / "sleep" / "seconds", ValueFormat.SECONDS
        return hook / "exec", ValueFormat.EXEC_SLEEP
    if kind is HookKind.EXEC:
        return location, ValueFormat.SLEEP_COMMAND
    if kind is HookKind.SLEEP and sleep_action:
        return location, ValueFormat.SECONDS
    return None


def whole_hook(location: NodeRef | None) -> NodeRef | None:
    """Return the entry of the whole hook that contains a location."""
    if location is None or "preStop" not in location.key_path:
        return None
    end = location.key_path.index("preStop") + 1
    return type(location)(location.document, location.key_path[:end])
