"""Programs as a platform: servers and frameworks with a shutdown of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from shutdownlint.manifests.resources import ConfigMap
from shutdownlint.platforms.fields import (
    CaseView,
    Field,
    Fields,
    FieldType,
    SubjectKind,
    from_container_facts,
)
from shutdownlint.platforms.locations import source_location
from shutdownlint.platforms.platform import Platform
from shutdownlint.platforms.pods.behaviour import hook_signals, set_behaviour
from shutdownlint.platforms.pods.containers import ContainerFacts
from shutdownlint.platforms.programs import facts
from shutdownlint.platforms.programs.container_config import read_container_config
from shutdownlint.platforms.programs.detect import ProgramFacts, detect_program
from shutdownlint.platforms.programs.forwarding import find_upstreams, listens_on_loopback
from shutdownlint.platforms.programs.problems import PROBLEMS
from shutdownlint.platforms.programs.servers import KnownServer, ServerStart, find_server
from shutdownlint.platforms.programs.start import StartedProgram, find_program
from shutdownlint.platforms.programs.verdict import (
    Verdict,
    identify,
    is_client,
    read_verdict,
    start_by_name,
)
from shutdownlint.programs.record import AtSignal, parse_time
from shutdownlint.programs.record import Role as ProgramRole
from shutdownlint.shell.forwarding import SignalForwarding
from shutdownlint.shutdown.durations import ZERO, format_duration
from shutdownlint.shutdown.pod_plan import Assumption, Effect, Knob, Role
from shutdownlint.shutdown.process import (
    CLOSED,
    OPEN,
    After,
    HookSignal,
    Never,
    Phase,
    Process,
    Reaction,
    Trigger,
    WhenFinished,
    Wrapper,
    abrupt,
    graceful,
)
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import timedelta

    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.manifests.object_index import LoadedResource
    from shutdownlint.manifests.resources import Container
    from shutdownlint.platforms.alternatives import Alternative
    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.platforms.pod_draft import ContainerDraft, PodDraft
    from shutdownlint.platforms.pods.hooks import HookHandler
    from shutdownlint.shell.sent_signals import SentSignal

_D = FieldType.DURATION
#: The change that ensures that a program gets the stop signal.
_EXEC: Final = "put exec before the last command"


def _fact(get: Callable[[ProgramFacts], Any]) -> Callable[[CaseView], Any]:
    return from_container_facts(ProgramFacts, get)


def _default(get: Callable[[Any], Any]) -> Callable[[CaseView], Any]:
    return _fact(lambda found: None if found.defaults is None else get(found.defaults))


def _app_serves_for(view: CaseView) -> timedelta:
    """Return how long the app's slowest container accepts requests."""
    apps = (c.name for c in view.plan.regular if c.role is Role.APP)
    timeline = view.analysis.idle_timeline
    return max((timeline.container(name).accepts_until().at for name in apps), default=ZERO)


_FIELDS: Final[Fields] = {
    SubjectKind.CONTAINER: (
        Field(
            "appServesFor",
            _D,
            "how long the pod's app goes on accepting requests",
            _app_serves_for,
        ),
        Field(
            "accepts",
            _D,
            "how long the container goes on accepting new requests, with no request on the pod",
            lambda view: view.idle().accepts_until().at,
        ),
        Field(
            "finishWithin",
            _D,
            "how long its program lets its own shutdown take; absent unless written",
            _fact(lambda found: found.finish_within),
            setting=True,
        ),
        Field(
            "telemetryHelper",
            FieldType.BOOL,
            "whether it takes the logs, metrics or traces of the app beside it",
            _fact(lambda found: found.telemetry_helper),
            default=False,
        ),
        Field(
            "knownProgram",
            FieldType.STRING,
            "the known program that the container starts, such as vLLM; empty for others",
            _fact(lambda found: found.known_program),
            default="",
        ),
        Field(
            "lateStatus",
            FieldType.INT,
            "the error that its program answers after its stop signal; 0: it answers none",
            _fact(lambda found: found.late_status),
            default=0,
        ),
        Field(
            "program",
            FieldType.STRING,
            "the program that finishWithin belongs to",
            _fact(lambda found: found.finish_within and found.finish_within.origin.label),
        ),
        Field(
            "framework",
            FieldType.STRING,
            "a program that the container shows without its limit, or empty",
            _default(lambda defaults: defaults.name),
            setting=True,
            default="",
        ),
        Field(
            "unbounded",
            FieldType.BOOL,
            "whether it waits without a limit by default",
            _default(lambda defaults: defaults.unbounded),
            default=False,
        ),
        Field(
            "frameworkDelay",
            _D,
            "how long it goes on before its shutdown; absent unless written",
            _default(lambda defaults: defaults.delay),
            setting=True,
        ),
    )
}


class Plugin(Platform):
    """Servers and frameworks."""

    name = "programs"
    fields = _FIELDS
    problems = PROBLEMS

    def contribute(self, draft: PodDraft) -> None:
        """Plan what each of the app's containers does at its stop signal, if the files show it."""
        started: dict[str, StartedProgram] = {}
        for container in draft.containers:
            own = container.owner is None and container.spec is not None
            if own and not _is_taken(container):
                program = self._plan(container, draft)
                if program is not None:
                    started[container.name] = program
        _share_hook_signals(draft, started)
        _leave_out_unreachable(draft, started)
        for container in draft.app_containers:
            if container.serves and container.name in started:
                _find_upstreams(container, draft, started[container.name])
        for container in draft.app_containers:
            if not container.serves and container.name in started:
                _find_callers(container, draft, started)

    def _plan(self, container: ContainerDraft, draft: PodDraft) -> StartedProgram | None:
        """Take what the container's program does; the program, where the files show it."""
        assert container.spec is not None
        assert container.ref is not None
        spec, ref = container.spec, container.ref
        config = draft.context.image_config(spec)
        started = find_program(spec, draft.workload.template.spec, ref, config)
        started = identify(started, spec, ref, draft.context)
        _note_image(spec, ref, started, draft)
        found = detect_program(spec, ref, started, draft.workload, draft.context)
        container.note(found)
        written: ContainerFacts = container.facts[ContainerFacts]
        server = self._known_server(container, started, draft)
        if server is not None:
            draft.problems += found.problems
            self._take_server(container, draft, server)
            return started
        if started is not None:
            _note_program(started, found, draft)
            if found.telemetry_helper and len(draft.app_containers) > 1:
                container.serves = container.serves_assumed = False
                container.role = Role.HELPER
        verdict = read_verdict(spec, ref, started, found, draft.context)
        draft.problems += found.problems
        assumed = written.behaviour.origin.kind is OriginKind.DEFAULT
        if assumed and not container.settled:
            self._take(container, draft, verdict, found)
        if started is not None and started.killed_after_two:
            container.wrappers.append(_su(started))
        written = container.facts[ContainerFacts]
        if written.may_keep_signal:
            text = f"the shell that starts {container.name} is assumed to pass the stop signal on"
            draft.assumptions.append(Assumption(text, _EXEC))
        if found.drain is not None and written.drain.origin.kind is OriginKind.DEFAULT:
            written = replace(written, drain=found.drain)
            container.note(written)
        if written.behaviour.value == "abrupt" and found.drain is not None and assumed:
            container.process = _cuts_later(found.drain)
        if written.behaviour.value == "graceful":
            late = verdict.late if assumed else CLOSED
            if late.reused is Reaction.ERROR:
                found.late_status = late.status
            container.process = graceful(written.drain, _limit(found, draft), late, found.exit_tail)
        handler = written.handler
        _take_hook_signals(container, draft, started)
        hooked = _drain_in_hook(handler, ref) if assumed else None
        if hooked is not None:
            # The stop signal changes nothing for a server that finishes its requests.
            ends = abrupt().phases if written.behaviour.value == "abrupt" else ()
            container.process = Process((*hooked, *ends))
        self._note_limit(container, started, found)
        return started

    def _note_limit(
        self, container: ContainerDraft, started: StartedProgram | None, found: ProgramFacts
    ) -> None:
        """Note the program's own limit, and how long its requests take where that is known."""
        record = started.record if started is not None else None
        limit = found.finish_within
        default = found.defaults.default if found.defaults is not None else None
        if limit is None and default is not None:
            # Nothing is written that could be changed.
            how = found.defaults.how if found.defaults is not None else ""
            container.knobs.append(Knob("finishWithin", Effect.FINISH_LIMIT, default, how=how))
        if record is not None and record.role is ProgramRole.MODELS:
            _note_model_requests(container, record.name, limit or found.drain)
        if limit is not None:
            container.knobs.append(Knob("finishWithin", Effect.FINISH_LIMIT, limit))
            if limit.origin.written:
                container.editable("finishWithin", source_location(limit), found.finish_format)

    def _known_server(
        self, container: ContainerDraft, started: StartedProgram | None, draft: PodDraft
    ) -> KnownServer | None:
        written: ContainerFacts = container.facts[ContainerFacts]
        from_user = written.behaviour.origin.kind is OriginKind.MEASURED
        if started is None or container.settled or from_user:
            return None
        assert container.spec is not None

        def config_map(name: str) -> LoadedResource[ConfigMap] | None:
            maps = draft.context.in_namespace_of(ConfigMap, draft.workload)
            found = [each for each in maps if (each.model.metadata.name or "") == name]
            return found[-1] if found else None

        hook = written.handler.value.command
        server = find_server(ServerStart(started, container.name, hook, config_map))
        # Alone in its pod a helper is what the pod is for.
        alone = len(draft.workload.template.spec.containers) == 1
        return None if server is not None and server.helper and alone else server

    def _take_server(self, container: ContainerDraft, draft: PodDraft, server: KnownServer) -> None:
        """Take a server whose flags say how it stops."""
        assert container.spec is not None
        assert container.ref is not None
        origin = Origin(OriginKind.EXPLICIT, server.reason, container.ref / "name")
        set_behaviour(container, Setting("behaviour", "graceful", origin))
        container.process = server.process
        if server.hook is not None:
            container.hook = replace(container.hook, ending=server.hook)
        draft.assumptions += server.assumptions
        if server.helper:
            container.serves, container.serves_assumed = False, False
            container.role = Role.HELPER
            draft.needed.append(container.name)

    def _take(
        self, container: ContainerDraft, draft: PodDraft, verdict: Verdict, found: ProgramFacts
    ) -> None:
        """Take what the program does: what is certain, or what is assumed of it."""
        assumption = verdict.assumption
        if found.behaviour is None and assumption is not None:
            image = (container.spec.image if container.spec is not None else "") or container.name
            finishes = verdict.behaviour is None
            assumed = replace(assumption, program=image) if finishes else assumption
            draft.assumptions.append(assumed)
            container.program_assumed = finishes
            found.others = tuple((when, assumption.remedy, value) for when, value in verdict.others)
        behaviour = found.behaviour or verdict.behaviour
        if behaviour is None:
            return
        set_behaviour(container, behaviour)
        if found.behaviour is not None:
            container.how_to_wait = found.how_to_wait
        if found.behaviour is not None and behaviour.origin.written:
            container.editable("behaviour", source_location(behaviour))
        if verdict.lives_on and found.behaviour is None:
            stays = Phase(Trigger.NEXT, Never(), CLOSED, CLOSED, cuts=True)
            container.process = Process((*abrupt(behaviour).phases, stays))
        if verdict.restarts and found.behaviour is None:
            phase = Phase(Trigger.SIGNAL, Never(), OPEN, OPEN, cuts=True)
            container.process = Process((phase,))

    def alternatives(self, pod: PlannedPod, context: AnalysisContext) -> Iterator[Alternative]:
        """Yield what the code of a program may do instead of what is assumed of it."""
        from shutdownlint.platforms.alternatives import (  # noqa: PLC0415 - for explain only
            Alternative,
            with_behaviour,
        )

        for name, noted in pod.container_facts.items():
            program: ProgramFacts | None = noted.get(ProgramFacts)
            others = [*program.others] if program is not None else []
            written: ContainerFacts | None = noted.get(ContainerFacts)
            if written is not None and written.may_keep_signal:
                when = f"where the shell that starts {name} keeps the stop signal"
                others.append((when, _EXEC, "ignoring"))
                if written.forwarding.value is SignalForwarding.UNKNOWN:
                    when = f"where the shell that starts {name} ends before {name}"
                    others.append((when, _EXEC, "abrupt"))
            for when, remedy, behaviour in others:
                yield Alternative(
                    when, remedy, with_behaviour(context.user_facts, pod.id, name, behaviour)
                )


def _note_image(
    container: Container, ref: NodeRef, started: StartedProgram | None, draft: PodDraft
) -> None:
    """Assume what the image's configuration leaves in doubt."""
    doubt = draft.context.image_doubt(container)
    if doubt:
        draft.assumptions.append(Assumption(f"{doubt}: it is not used", "ask again: images"))
    config = draft.context.image_config(container)
    if config is not None and config.source and not container.command:
        text = f"image {container.image} is built by {config.source}"
        draft.assumptions.append(Assumption(text, "say what it starts: shutdownlint images"))
        return
    if config is None or container.command or started is None:
        return
    usual = start_by_name(container, ref, draft.context)
    named = usual.record if usual is not None else None
    if named is not None and named is not started.record and not container.args:
        text = (
            f"image {container.image} usually starts {named.name}; by its configuration it "
            f"starts {started.name}, which is assumed"
        )
        draft.assumptions.append(Assumption(text, "ask again: images"))


def _su(started: StartedProgram) -> Wrapper:
    origin = Origin(OriginKind.DEFAULT, "su", started.location)
    return Wrapper("su", kills_after=Setting("su's limit", facts.SU_LIMIT.value, origin))


def _cuts_later(drain: Setting[timedelta]) -> Process:
    """Return a program that serves on after its stop signal, and then cuts what it has."""
    serves = Phase(Trigger.SIGNAL, After(drain), OPEN, OPEN)
    none = replace(drain, value=ZERO)
    return Process((serves, Phase(Trigger.NEXT, WhenFinished(none), CLOSED, CLOSED, cuts=True)))


def _drain_in_hook(handler: Setting[HookHandler], ref: NodeRef) -> tuple[Phase, Phase] | None:
    """Return the phases of a server that its own preStop hook makes drain."""
    if not handler.value.command:
        return None
    from shutdownlint.platforms.programs.drain_hooks import (  # noqa: PLC0415 - for a command
        drain_in_hook,
    )

    return drain_in_hook(handler.value.command, source_location(handler) or ref)


def _note_model_requests(
    container: ContainerDraft, name: str, limit: Setting[timedelta] | None = None
) -> None:
    """Note how long requests to a model server take: its limit for finishing them, or a minute."""
    assert container.ref is not None
    if limit is not None and limit.value > ZERO:
        container.usual_request = limit
    elif container.serves:
        origin = Origin(OriginKind.DEFAULT, f"usual for {name}", container.ref / "name")
        container.usual_request = Setting("requests", facts.MODEL_REQUEST.value, origin)


def _take_hook_signals(
    container: ContainerDraft, draft: PodDraft, started: StartedProgram | None
) -> None:
    """Record what the program does at each signal that its own preStop hook sends."""
    written: ContainerFacts = container.facts[ContainerFacts]
    found: list[HookSignal] = []
    for each in written.handler.value.signals:
        other = each.program and started is not None and not _is_named(each.program, started)
        if other and started is not None and started.init == "":
            continue
        found += _reactions(each, started, draft)
    container.hook = replace(container.hook, signals=tuple(found))


def _reactions(
    sent: SentSignal, started: StartedProgram | None, draft: PodDraft
) -> tuple[HookSignal, ...]:
    """Return what a signal does to a program; empty where it does nothing that is known."""
    plain = hook_signals((sent,), draft.workload.template.spec)
    if any(signal.ends_pod for signal in plain):
        return plain
    # Of a program that nothing else shows, the hook says the name.
    if started is not None:
        record = started.record
    else:
        named = draft.context.programs.find(sent.program)
        record = next((program for program in named if program.at_signal), None)
    reactions = record.at_signal if record is not None else {}
    # Of programs for which all signals are one the signal's own number says nothing.
    reaction = reactions.get(f"SIG{sent.signal}") if len(reactions) > 1 else None
    if reaction is None:
        return plain
    process = graceful() if reaction is AtSignal.FINISHES else abrupt()
    return (HookSignal(sent.at, sent.signal, process.phases),)


def _leave_out_unreachable(draft: PodDraft, started: Mapping[str, StartedProgram]) -> None:
    """Send no requests to programs that no Service reaches."""
    serving = [container for container in draft.app_containers if container.serves]
    for container in serving:
        program = started.get(container.name)
        reason = None if program is None else _unreachable(container, draft, program)
        if reason is None:
            continue
        container.serves = container.serves_assumed = False
        text = f"{container.name} {reason}: no Service reaches it"
        draft.assumptions.append(Assumption(text))
    if serving and not any(container.serves for container in serving):
        draft.gets_requests = False
        draft.senders.clear()


def _unreachable(container: ContainerDraft, draft: PodDraft, program: StartedProgram) -> str | None:
    """Return why no Service reaches a program; None: one may."""
    spec, ref = container.spec, container.ref
    assert spec is not None
    assert ref is not None
    if not spec.ports and is_client(program, draft.context.programs):
        return f"starts {program.name}, which accepts no connections"
    if program.name == "nginx":
        config = read_container_config(spec, ref, draft.workload, draft.context)
        if listens_on_loopback(config):
            return "listens on the loopback interface only"
    return None


def _share_hook_signals(draft: PodDraft, started: Mapping[str, StartedProgram]) -> None:
    """Record the signals that a hook sends by name to the programs of other containers.

    They reach them in a shared process namespace (measured on a node of Kubernetes 1.34.4).
    """
    if draft.workload.template.spec.shareProcessNamespace is not True:
        return
    for container in draft.containers:
        written: ContainerFacts | None = container.facts.get(ContainerFacts)
        if written is None:
            continue
        found = [
            replace(reaction, container=name)
            for sent in written.handler.value.signals
            for name, program in started.items()
            if sent.program and name != container.name and _is_named(sent.program, program)
            for reaction in _reactions(sent, program, draft)
        ]
        container.hook = replace(container.hook, signals=(*container.hook.signals, *found))


def _is_named(name: str, started: StartedProgram) -> bool:
    """Whether a name is that of the program: that of its file, or of what an interpreter runs."""
    texts = (started.name, *started.arguments)
    return any(name in text for text in texts)


def _find_upstreams(container: ContainerDraft, draft: PodDraft, started: StartedProgram) -> None:
    """Note the containers of the pod that a reverse proxy forwards its requests to."""
    spec, ref, record = container.spec, container.ref, started.record
    others = [c for c in draft.app_containers if c is not container and c.role is Role.APP]
    if not others or record is None or record.forwards is None or spec is None or ref is None:
        return
    config = read_container_config(spec, ref, draft.workload, draft.context)
    found = find_upstreams(started, config, [c.spec for c in others if c.spec is not None])
    container.forwards_to = tuple(found)
    container.forward_status = record.forwards


def _find_callers(
    container: ContainerDraft, draft: PodDraft, started: dict[str, StartedProgram]
) -> None:
    """Take a proxy that nothing sends requests to, and that the app names, for the app's helper."""
    record, spec, ref = started[container.name].record, container.spec, container.ref
    if record is None or record.forwards is None or spec is None or ref is None:
        return
    for caller in draft.app_containers:
        apart = caller is container or caller.role is not Role.APP
        if apart or container.name in caller.forwards_to or caller.spec is None:
            continue
        assert caller.ref is not None
        config = read_container_config(caller.spec, caller.ref, draft.workload, draft.context)
        if not find_upstreams(started.get(caller.name), config, [spec]):
            continue
        container.serves_assumed, container.role = False, Role.HELPER
        draft.needed.append(container.name)
        text = f"requests are taken to need {container.name}, which {caller.name} calls"
        draft.assumptions.append(Assumption(text, "make it a native sidecar"))
        return


def _is_taken(container: ContainerDraft) -> bool:
    """Whether another platform knows what the process does, not the user."""
    written: ContainerFacts = container.facts[ContainerFacts]
    return container.settled and written.behaviour.origin.kind is not OriginKind.MEASURED


def _note_program(started: StartedProgram, found: ProgramFacts, draft: PodDraft) -> None:
    record = started.record
    if record is None:
        return
    if record.role is ProgramRole.DATABASE:
        draft.clients_reconnect = True
        draft.no_delay = draft.no_delay or "clients of a database connect again"
    found.known_program = "" if record.called_as_started else record.name
    found.telemetry_helper = record.role is ProgramRole.TELEMETRY
    if record.exits_after is not None:
        origin = Origin(OriginKind.DEFAULT, f"{record.name}'s own end", started.location)
        found.exit_tail = Setting("exit", parse_time(record.exits_after), origin)


def _limit(found: ProgramFacts, draft: PodDraft) -> Setting[timedelta] | None:
    """Return how long the program lets its requests finish: as written, else its default."""
    delay = found.defaults.delay if found.defaults is not None else None
    if found.defaults is not None and delay is not None:
        text = f"{delay.name} {format_duration(delay.value)} is assumed to have no effect"
        remedy = f"it has one where the app was built with {delay.name}-enabled"
        draft.assumptions.append(Assumption(text, remedy))
    if found.finish_within is not None or found.defaults is None:
        return found.finish_within
    default = found.defaults.default
    if default is not None:
        limit = format_duration(default.value)
        text = f"{found.defaults.name.value} cuts what is unfinished after {limit}, its default"
        remedy = "a file of the image may set another"
        draft.assumptions.append(Assumption(text, remedy))
    return default
