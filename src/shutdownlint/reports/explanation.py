"""The explanation of one pod, in any format."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from shutdownlint.linter.verdicts import judge_pod
from shutdownlint.platforms.pods.pod_facts import NodeShutdown, PodFacts
from shutdownlint.platforms.traffic import (
    ClosesKeptConnections,
    MeasuredRequests,
    StreamFacts,
)
from shutdownlint.platforms.user_facts import UserFacts
from shutdownlint.shutdown.analysis import NO_TRAFFIC, Traffic
from shutdownlint.shutdown.durations import UNBOUNDED, ZERO
from shutdownlint.shutdown.kubelet import grace_of
from shutdownlint.shutdown.pod_plan import Role
from shutdownlint.shutdown.process import Direction, WhenIdle
from shutdownlint.shutdown.provenance import Cause
from shutdownlint.shutdown.request import Event, EventKind, Request
from shutdownlint.shutdown.request_shares import share_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shutdownlint.engine.finding import Finding
    from shutdownlint.linter.verdicts import WorkloadVerdict
    from shutdownlint.manifests.object_id import ObjectId
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.platforms.pods.controllers import Rollout
    from shutdownlint.platforms.pods.fleet import Disruption
    from shutdownlint.shutdown.analysis import Answer, Headroom, ShutdownAnalysis
    from shutdownlint.shutdown.pod_plan import ContainerPlan, PodPlan
    from shutdownlint.shutdown.provenance import Setting
    from shutdownlint.shutdown.request_shares import ShareRow
    from shutdownlint.shutdown.timeline import ContainerTimeline, Timeline

_SECOND: Final = timedelta(seconds=1)


class Activity(StrEnum):
    """The activity of a container in a part of its timeline."""

    ACCEPTS = "accepts"
    #: A container that its requests need has ended.
    FAILS = "accepts, but requests fail"
    FINISHES = "finishes what it has"
    #: It has cut its requests, and still runs.
    LINGERS = "serves nothing more"
    RACE = "may already have exited"


class Lane(Struct, frozen=True):
    """A container's activities, each with the time until which it lasts; then it has ended."""

    container: str
    activities: tuple[tuple[timedelta, Activity], ...]

    @property
    def visible(self) -> Iterator[tuple[timedelta, timedelta, Activity]]:
        """The activities that take any time, each with its begin and its end."""
        begin = ZERO
        for until, activity in self.activities:
            if until > begin:
                yield begin, until, activity
                begin = until


class Difference(Struct, frozen=True):
    """The differences in another case that fits the input, and a way to settle which one holds.

    ``answers`` are those to the requests in question, ``verdict`` says what a stop loses and
    ``headroom`` how long requests may take, where they differ from the likely case.
    """

    when: str
    how_to_say: str
    answers: tuple[Answer | None, ...] = ()
    headroom: Headroom | None = None
    verdict: WorkloadVerdict | None = None


class Explanation:
    """One pod's shutdown: the timeline that is shown, and the answers for requests."""

    def __init__(
        self,
        pod: PlannedPod,
        requests: Sequence[Request] = (),
        traffic: Traffic = NO_TRAFFIC,
        findings: Sequence[Finding] = (),
        facts: UserFacts | None = None,
    ) -> None:
        if pod.plan is None:
            raise ValueError("a pod without a plan cannot be explained")
        self.pod = pod
        self.plan: PodPlan = pod.plan
        self.requests = requests
        self.traffic = traffic
        #: The findings that a check reports of the pod.
        self.findings = findings
        self.facts = facts
        self.region = pod.ref.region()

    def prepared(self) -> Explanation:
        """Return the explanation with everything worked out that formats show."""
        names = ["verdict", "answers", "differences", "disruptions", "shares", "assumptions"]
        if self.has_timeline:
            names += ["lanes", "events", "held_by_streams", "effective_settings"]
        for name in names:
            getattr(self, name)
        return self

    @property
    def analysis(self) -> ShutdownAnalysis:
        """All answers about the pod's shutdown."""
        assert self.pod.analysis is not None
        return self.pod.analysis

    @cached_property
    def verdict(self) -> WorkloadVerdict:
        """The losses of a stop."""
        return judge_pod(self.pod, self.facts or UserFacts())

    @property
    def file(self) -> str:
        """The file that the pod is written in."""
        return self.region.file

    @property
    def grace_known(self) -> bool:
        """Whether there is a timeline at all: this needs a grace period."""
        return self.plan.grace.value.high is not None

    @property
    def has_timeline(self) -> bool:
        """Whether there is a shutdown to show: a pod that is rejected never runs."""
        return self.grace_known and not self.pod.rejections

    def is_rejection(self, finding: Finding) -> bool:
        """Whether a finding is one of the reasons why no pod is created."""
        return finding.placed_message in self.pod.rejections

    @cached_property
    def timeline(self) -> Timeline:
        """The timeline that is shown: with the requests asked about, else a typical one.

        A proxy that is stopped after the app lives as long as the app, so the app is taken to be
        busy to the end. Else it has one request that takes p99; without one the
        picture would not show how it finishes what it has.
        """
        native = any(proxy.native_sidecar for proxy in self.plan.proxies)
        if self.requests or (self._holds_connections and not native):
            return self.analysis.timeline(self.requests, self.traffic)
        if native:
            return self.analysis.loaded_timeline
        typical = self.typical_request
        return self.analysis.timeline((typical,)) if typical else self.analysis.idle_timeline

    @property
    def typical_request(self) -> Request | None:
        """The request that the timeline is shown with where none was asked about."""
        p99 = self.plan.p99
        asked = self.requests or self._holds_connections
        if asked or p99 is None or not self.plan.gets_requests:
            return None
        # With a request such a proxy would live on, and what its early end loses would not show.
        hides_losses = any(_ends_when_idle(proxy) for proxy in self.plan.proxies)
        return None if hides_losses else Request(ZERO, p99.value)

    @property
    def _holds_connections(self) -> bool:
        return bool(self.traffic.idle or self.traffic.pool or self.traffic.idle_tcp)

    @cached_property
    def answers(self) -> tuple[Answer, ...]:
        """The outcomes of the requests."""
        return self.analysis.predict(self.requests, self.traffic) if self.grace_known else ()

    @cached_property
    def differences(self) -> tuple[Difference, ...]:
        """The other cases in which a request fares differently, or a stop loses something else."""
        if not self.grace_known:
            return ()
        found = []
        for alternative in self.pod.alternatives:
            if alternative.pod.plan is None:
                continue
            other = Explanation(alternative.pod, self.requests, self.traffic)
            if not other.grace_known:
                continue
            answers = tuple(
                theirs if _result(theirs) != _result(ours) else None
                for ours, theirs in zip(self.answers, other.answers, strict=True)
            )
            ours, theirs = self.analysis.headroom, other.analysis.headroom
            same_length = theirs.max_in_flight == ours.max_in_flight
            headroom = None if same_length or not other.plan.gets_requests else theirs
            same = _lost_texts(other.verdict) == _lost_texts(self.verdict)
            verdict = None if same else other.verdict
            if any(answers) or headroom is not None or verdict is not None:
                found.append(
                    Difference(alternative.when, alternative.how_to_say, answers, headroom, verdict)
                )
        return tuple(found)

    @property
    def is_shown_busy(self) -> bool:
        """Whether the timeline is shown with a request that lasts to the end."""
        return self.timeline is self.analysis.loaded_timeline

    @property
    def events(self) -> tuple[Event, ...]:
        """Everything that happens, in the order of time, up to the end of the grace period."""
        if not self.grace_known:
            return ()
        events = self.timeline.events
        if any(event.kind is EventKind.KILLED for event in events):
            return events
        cause = Cause.of(self.timeline.plan.grace)
        kills = (c.kill.at for c in self.timeline.containers if c.kill is not None)
        end = Event(max((self.grace, *kills)), None, EventKind.GRACE_ENDS, cause)
        return tuple(sorted((*events, end), key=lambda event: event.at))

    @property
    def grace(self) -> timedelta:
        """The grace period of the timeline that is shown."""
        return grace_of(None, self.timeline.plan)

    @property
    def time_axis_end(self) -> timedelta:
        """The end of the drawn timeline."""
        return max(self.timeline.end, self.grace, _SECOND)

    @cached_property
    def lanes(self) -> tuple[Lane, ...]:
        """One lane for each container, apps first."""
        order = {Role.APP: 0, Role.EDGE: 1, Role.PROXY: 1, Role.HELPER: 2, Role.MEMBER: 3}
        containers = sorted(self.timeline.containers, key=lambda c: order[c.plan.role])
        return tuple(self._lane(container) for container in containers)

    def _lane(self, container: ContainerTimeline) -> Lane:
        plan = container.plan
        inbound = self._is_inbound(plan)
        direction = Direction.INBOUND if inbound else Direction.OUTBOUND
        accepts, gave_up = container.accepts_until(direction).at, container.gave_up.at
        accepts = min(accepts, container.exit.at)
        activities = [
            (min(accepts, self._fails_from(container)), Activity.ACCEPTS),
            (accepts, Activity.FAILS),
            (gave_up, Activity.FINISHES),
            (container.exit.at, Activity.LINGERS),
        ]
        latest = self.analysis.loaded_timeline.container(plan.name).exit.at
        if _ends_when_idle(plan) and latest > container.exit.at:
            activities.append((latest, Activity.RACE))
        return Lane(plan.name, tuple(activities))

    def _fails_from(self, container: ContainerTimeline) -> timedelta:
        """Return when the first container ends that the requests of this one need."""
        if container.plan.role is not Role.APP or container.plan.name in self.plan.needed:
            return UNBOUNDED
        ends = [
            self.timeline.container(name).accepts_until(Direction.OUTBOUND).at
            for name in self.plan.needed
        ]
        return min(ends, default=UNBOUNDED)

    @property
    def rollout(self) -> Rollout | None:
        """The replacement of the workload's pods."""
        found: PodFacts | None = self.pod.facts.get(PodFacts)
        return found.rollout.value if found and found.rollout and self.grace_known else None

    @cached_property
    def disruptions(self) -> tuple[Disruption, ...]:
        """The pods of the workload that a rollout, a drain, a lost zone and a scale-in leave."""
        found: PodFacts | None = self.pod.facts.get(PodFacts)
        if found is None or found.fleet is None or not self.grace_known:
            return ()
        return tuple(found.fleet.disruptions(self.analysis.latest_end))

    def _is_inbound(self, plan: ContainerPlan) -> bool:
        """Whether the pod's requests pass the container; some ports do not pass a mesh's proxy."""
        return plan.role is not Role.PROXY or plan.name in self.plan.front

    @property
    def closes_kept(self) -> Iterator[tuple[str, timedelta]]:
        """The proxies whose answers ask clients to open new connections, and from when on."""
        for container in self.timeline.containers if self.has_timeline else ():
            noted = self.pod.container_facts.get(container.plan.name, {})
            facts: ClosesKeptConnections | None = noted.get(ClosesKeptConnections)
            if facts is None or not self._is_inbound(container.plan):
                continue
            if facts.from_deletion:
                yield container.plan.name, ZERO
            elif container.signal is not None:
                yield container.plan.name, container.signal.at

    @property
    def node_shutdown(self) -> Setting[timedelta] | None:
        """What the pod gets when its node shuts down, where that is less than its grace period."""
        found: NodeShutdown | None = self.pod.facts.get(NodeShutdown)
        shorter = found is not None and self.has_timeline and found.granted.value < self.grace
        return found.granted if found is not None and shorter else None

    @property
    def streams(self) -> str:
        """The port that shows streams of clients; empty without one."""
        found: StreamFacts | None = self.pod.facts.get(StreamFacts)
        return found.shown.value if found is not None and self.has_timeline else ""

    @cached_property
    def held_by_streams(self) -> tuple[str, timedelta] | None:
        """The proxy that waits for the connection of a stream that has ended, and until when."""
        for proxy in self.plan.proxies if self.streams else ():
            signal = self.analysis.idle_timeline.container(proxy.name).signal
            if signal is None:
                continue
            ends = []
            for stream in (False, True):
                request = Request(ZERO, signal.at + _SECOND, stream=stream)
                timeline = self.analysis.timeline((request,))
                ends.append(timeline.container(proxy.name).exit.at)
            if ends[1] > ends[0]:
                return proxy.name, ends[1]
        return None

    @cached_property
    def shares(self) -> tuple[ShareRow, ...]:
        """The cost of serving a larger share of the requests, if they were measured."""
        found: MeasuredRequests | None = self.pod.facts.get(MeasuredRequests)
        if found is None or not self.has_timeline or self.plan.runs_to_completion:
            return ()
        return tuple(share_rows(self.analysis, found.facts.duration_of))

    @property
    def ready(self) -> Setting[timedelta] | None:
        """The assumed time until a new pod is ready."""
        found: PodFacts | None = self.pod.facts.get(PodFacts)
        return found.fleet.ready if found is not None and found.fleet is not None else None

    @cached_property
    def assumptions(self) -> list[str]:
        """Everything that the answers rest on though the input does not show it."""
        found = [*self.plan.assumptions]
        for container in self.plan.containers:
            found += container.assumptions
        texts = [str(assumption) for assumption in dict.fromkeys(found)]
        if self.plan.has_unknown_durations:
            texts += [
                f"{setting.name}: {setting.value_text} ({setting.origin}); drawn at its shortest"
                for setting in (self.plan.grace, *self._hooks())
                if not setting.value.known
            ]
        return texts

    def _hooks(self) -> list[Setting[Any]]:
        return [c.hook.duration for c in self.plan.containers if c.hook.ending is None]

    @property
    def effective_settings(self) -> list[Setting[Any]]:
        """The settings that decide something: the grace period, and those that are a cause.

        Settings that change nothing of this timeline are left out.
        """
        headroom = self.analysis.headroom
        causes = [event.cause for event in self.events]
        causes += [loss.cause for loss in self.analysis.losses]
        causes += [headroom.cause, headroom.late_cause]
        causes += [answer.prediction.cause for answer in self.answers]
        found: list[Setting[Any]] = [self.timeline.plan.grace]
        found += [setting for cause in causes for setting in cause.settings]
        return list({str(setting): setting for setting in found}.values())


def _ends_when_idle(plan: ContainerPlan) -> bool:
    """Whether a container ends as soon as it has no request."""
    return any(isinstance(phase.ending, WhenIdle) for phase in plan.process.phases)


def _lost_texts(verdict: WorkloadVerdict) -> list[str]:
    return [loss.text for loss in verdict.losses]


def _result(answer: Answer) -> tuple[object, object]:
    return answer.prediction.outcome, answer.prediction.at


class Explanations(list[Explanation]):
    """The explanations of a run. ``unplanned`` are the verdicts on pods without a plan."""

    def __init__(self, unplanned: Sequence[WorkloadVerdict] = ()) -> None:
        super().__init__()
        self.unplanned = unplanned


def explain_pods(
    pods: Sequence[PlannedPod],
    requests: Sequence[Request],
    traffic: Traffic,
    findings: Iterable[Finding] = (),
    facts: UserFacts | None = None,
) -> Explanations:
    """Return the explanations of all pods with a plan, each with the findings of its workload."""
    by_pod: dict[tuple[str, ObjectId], list[Finding]] = {}
    for finding in findings:
        for each in finding.each:
            if each.workload is not None:
                by_pod.setdefault((each.subject_file, each.workload), []).append(each)
    unplanned = [judge_pod(pod, facts or UserFacts()) for pod in pods if pod.plan is None]
    found = Explanations(unplanned)
    for pod in pods:
        if pod.plan is not None:
            own = by_pod.get((pod.ref.region().file, pod.id), ())
            mine = [f for f in own if not f.variants or pod.variant in f.variants]
            found.append(Explanation(pod, requests, traffic, mine, facts))
    return found
