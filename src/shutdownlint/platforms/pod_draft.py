"""The unfinished model of a pod, which the platforms fill in one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shutdownlint.platforms.edit_target import EditTarget, ValueFormat
from shutdownlint.platforms.locations import is_image_place
from shutdownlint.platforms.planned_pod import PlannedPod
from shutdownlint.shutdown.analysis import ShutdownAnalysis
from shutdownlint.shutdown.pod_plan import (
    Assumption,
    ContainerPlan,
    Effect,
    Knob,
    PodPlan,
    Role,
    Sender,
    Switch,
)
from shutdownlint.shutdown.process import Hook, Process, Wrapper

if TYPE_CHECKING:
    from datetime import timedelta

    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.manifests.resources import Container
    from shutdownlint.manifests.skips import SkipReason
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.platforms.problem import Problem
    from shutdownlint.platforms.versions import Version
    from shutdownlint.shutdown.durations import DurationRange
    from shutdownlint.shutdown.provenance import Setting
    from shutdownlint.yaml_source.location import SourceLocation


class ContainerDraft:
    """A container while it is planned. ``spec`` and ``ref`` are its manifest, where it
    has one.

    ``owner`` names the platform that it belongs to; None: it is the app's. ``settled`` is set by
    the platform that knows what its process does; the others then leave that alone.
    """

    def __init__(
        self,
        name: str,
        hook: Setting[DurationRange],
        spec: Container | None = None,
        ref: NodeRef | None = None,
        *,
        native_sidecar: bool = False,
    ) -> None:
        self.name = name
        self.spec = spec
        self.ref = ref
        self.native_sidecar = native_sidecar
        self.owner: str | None = None
        self.hook = Hook(hook)
        self.process = Process()
        self.settled = False
        self.role = Role.APP
        self.program_assumed = False
        self.how_to_wait = ""
        self.serves = False
        self.serves_assumed = False
        self.wrappers: list[Wrapper] = []
        self.knobs: list[Knob] = []
        self.switch: Switch | None = None
        self.waits_for_calls: bool | None = None
        self.forwards_to: tuple[str, ...] = ()
        self.forward_status = 503
        self.usual_request: Setting[timedelta] | None = None
        self.assumptions: tuple[Assumption, ...] = ()
        self.facts: dict[type[Any], Any] = {}
        self.edit_targets: dict[str, EditTarget] = {}

    def note(self, facts: object) -> None:
        """Note what the rules of a platform look at."""
        self.facts[type(facts)] = facts

    def editable(
        self,
        field: str,
        location: SourceLocation | None,
        value_format: ValueFormat = ValueFormat.PLAIN,
    ) -> None:
        """Note where a setting is written, or would be."""
        if location is not None and not is_image_place(location):
            self.edit_targets[field] = EditTarget(location, value_format)

    def add_hook_knob(self, field: str, how: str = "") -> None:
        """Let the hook's duration be raised under that field's name; ``how`` as in ``Knob``."""
        self.knobs.append(Knob(field, Effect.DELAYS_SIGNAL, self.hook.duration, how=how))

    def plan(self) -> ContainerPlan:
        """Return the container's plan."""
        return ContainerPlan(
            name=self.name,
            hook=self.hook,
            process=self.process,
            role=self.role,
            program_assumed=self.program_assumed,
            how_to_wait=self.how_to_wait,
            serves=self.serves,
            serves_assumed=self.serves_assumed,
            native_sidecar=self.native_sidecar,
            wrappers=tuple(self.wrappers),
            knobs=tuple(self.knobs),
            assumptions=self.assumptions,
            switch=self.switch,
            waits_for_calls=self.waits_for_calls,
            forwards_to=self.forwards_to,
            forward_status=self.forward_status,
            usual_request=self.usual_request,
        )


class PodDraft:
    """A pod while it is planned. Platforms add to it in the order of the registry."""

    def __init__(
        self, workload: Workload, context: AnalysisContext, grace: Setting[DurationRange]
    ) -> None:
        self.workload = workload
        self.context = context
        self.grace = grace
        self.replicas: Setting[int] | None = None
        #: The newest Kubernetes that a mesh of the cluster runs on.
        self.newest_kubernetes: Version | None = None
        self.containers: list[ContainerDraft] = []
        self.front: list[str] = []
        self.back: list[str] = []
        self.needed: list[str] = []
        self.p99: Setting[timedelta] | None = None
        self.longest_job: Setting[timedelta] | None = None
        self.senders: list[Sender] = []
        self.problems: list[Problem] = []
        self.assumptions: list[Assumption] = []
        self.facts: dict[type[Any], Any] = {}
        self.edit_targets: dict[str, EditTarget] = {}
        self.versions: dict[str, Version] = {}
        self.grace_counts_hook = True
        self.gets_requests = True
        self.no_delay = ""
        self.clients_reconnect = False
        #: Set by a platform that can say nothing about this pod's shutdown.
        self.skipped: SkipReason | None = None

    @property
    def app_containers(self) -> list[ContainerDraft]:
        """The app's own containers that are stopped with the pod."""
        return [c for c in self.containers if c.owner is None and not c.native_sidecar]

    @property
    def edge(self) -> ContainerDraft | None:
        """The proxy that the pod is, if it is one."""
        return next((c for c in self.containers if c.role is Role.EDGE), None)

    def container(self, name: str) -> ContainerDraft | None:
        """Return the container of that name."""
        return next((c for c in self.containers if c.name == name), None)

    def note(self, facts: object) -> None:
        """Note what the rules of a platform look at."""
        self.facts[type(facts)] = facts

    def plan(self) -> PodPlan:
        """Return the pod's plan. How long requests take is nothing to a pod that gets none."""
        reached = self.gets_requests or self.edge is not None or bool(self.senders)
        gets_requests = reached and not self.workload.runs_to_completion
        works = not reached and not self.workload.runs_to_completion
        return PodPlan(
            grace=self.grace,
            containers=tuple(c.plan() for c in self.containers),
            front=tuple(self.front),
            back=tuple(self.back),
            needed=tuple(self.needed),
            p99=self.p99 if gets_requests else None,
            longest_job=self.longest_job if works or self._has_own_job() else None,
            senders=tuple(self.senders),
            runs_to_completion=self.workload.runs_to_completion,
            gets_requests=gets_requests,
            grace_counts_hook=self.grace_counts_hook,
            no_delay=self.no_delay,
            clients_reconnect=self.clients_reconnect,
            assumptions=tuple(dict.fromkeys(self.assumptions)),
        )

    def _has_own_job(self) -> bool:
        """Whether somebody says of this workload, not of all, how long its jobs take."""
        if self.longest_job is not None and self.longest_job.origin.location is not None:
            return True
        return self.context.user_facts.states_of(self.workload.id, "longest_job")

    def finish(self, workload: Workload) -> PlannedPod:
        """Return the planned pod of a workload, which policies may have changed for the draft."""
        targets: dict[str | None, dict[str, EditTarget]] = {}
        container_facts: dict[str, dict[type[Any], Any]] = {}
        if self.skipped is None:
            targets[None] = self.edit_targets
            for container in self.containers:
                container_facts[container.name] = container.facts
                # A container's rules may change the pod's own settings as well.
                targets[container.name] = {**self.edit_targets, **container.edit_targets}
        return PlannedPod(
            self.workload.id,
            self.workload.ref,
            workload,
            ShutdownAnalysis(self.plan()) if self.skipped is None else None,
            self.skipped,
            self.problems,
            self.facts,
            container_facts,
            targets,
            self.versions,
            self.replicas,
        )
