"""The losses of a stop of each workload: one line of every summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from shutdownlint.engine.loss_texts import report_loss
from shutdownlint.platforms.alternatives import in_mesh
from shutdownlint.platforms.mesh_signs import find_hint
from shutdownlint.platforms.planner import plan_pod
from shutdownlint.platforms.pods.pod_facts import PodFacts
from shutdownlint.shutdown.durations import P99_SHARE, ZERO
from shutdownlint.shutdown.loss import WORST_FIRST
from shutdownlint.shutdown.lost_requests import LostRequests, count_lost
from shutdownlint.shutdown.pod_plan import Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import timedelta

    from shutdownlint.engine.finding import ReportedLoss
    from shutdownlint.manifests.object_id import ObjectId
    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.platforms.platform import Platform
    from shutdownlint.platforms.user_facts import UserFacts
    from shutdownlint.shutdown.analysis import ShutdownAnalysis
    from shutdownlint.yaml_source.location import Region

#: Beside the kinds of losses: nothing is lost, or it is not known what is.
NONE: Final = "none"
NOT_JUDGED: Final = "not_judged"
#: All that a workload may be counted as, the worst first.
OUTCOMES: Final = (*(kind.value for kind in WORST_FIRST), NONE, NOT_JUDGED)


class WeeklyLoss(Struct, frozen=True):
    """The loss of one pod's end, and how often pods end; None if that is not known.

    ``durations_known`` is whether requests that are too long could be counted. The others count
    requests at the most: of a rollout while no pod serves, and those that reach new pods that have
    no readiness probe before they listen; of a drain until the only pod is replaced.
    """

    of_a_pod: LostRequests
    replicas: int | None
    rollouts: float | None
    durations_known: bool
    without_pods: float = 0.0
    before_listening: float = 0.0
    at_drain: float = 0.0


class HintedMesh(Struct, frozen=True):
    """A mesh that a workload may be in, and what its proxy would lose; None: nothing."""

    mesh: str
    loss: ReportedLoss | None


class WorkloadVerdict(Struct, frozen=True):
    """The losses of a stop of one workload, in one environment.

    ``lost`` is the worst of it. ``reason`` says why it is not analysed. ``in_flight`` and ``late``
    are how long requests may take (None: any time), the latter at ``late_at``; ``late_at`` is zero
    where all are refused. ``senders`` are what the files show to send requests. ``programs`` are
    the images whose program is assumed to finish what it has, ``webhooks`` those (and policies)
    that may change the pods and are not applied. ``mesh_is_open``: it is taken to be in no mesh,
    which no file shows. ``p99_is_open``: nothing says how long its requests take.
    ``is_assumed``: the verdict rests on something that the input does not show. ``reported_by``
    are the rules that report something of it, those of hidden notes included.
    """

    id: ObjectId
    region: Region
    variant: str = ""
    lost: str = NOT_JUDGED
    losses: tuple[ReportedLoss, ...] = ()
    reason: str = ""
    gets_requests: bool = False
    senders: tuple[str, ...] = ()
    replicas: int | None = None
    in_flight: timedelta | None = ZERO
    late: timedelta | None = ZERO
    late_at: timedelta = ZERO
    programs: tuple[str, ...] = ()
    webhooks: tuple[str, ...] = ()
    mesh_is_open: bool = False
    hinted: HintedMesh | None = None
    p99_is_open: bool = False
    is_assumed: bool = False
    weekly: WeeklyLoss | None = None
    reported_by: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, ObjectId]:
        """The key by which its findings name their workload too."""
        return self.region.file, self.id

    @property
    def title(self) -> str:
        """The name of the workload in reports."""
        return f"{self.id}, variant {self.variant}" if self.variant else str(self.id)


def judge_pod(
    pod: PlannedPod,
    facts: UserFacts,
    *,
    mesh_is_open: bool = False,
    hinted: HintedMesh | None = None,
) -> WorkloadVerdict:
    """Return the verdict on a pod."""
    verdict = WorkloadVerdict(
        pod.id,
        pod.ref.region(),
        pod.variant,
        replicas=pod.replicas.value if pod.replicas is not None else None,
        hinted=hinted,
    )
    analysis = pod.analysis
    if pod.rejections:
        return replace(verdict, reason="the API server rejects it")
    if analysis is None:
        unknown = "not enough is known of it"
        return replace(verdict, reason=pod.skipped.text if pod.skipped is not None else unknown)
    if analysis.plan.grace.value.high is None:
        return replace(verdict, reason="the grace period is a placeholder")
    return _judge(verdict, pod, analysis, facts, mesh_is_open=mesh_is_open)


def _judge(
    verdict: WorkloadVerdict,
    pod: PlannedPod,
    analysis: ShutdownAnalysis,
    facts: UserFacts,
    *,
    mesh_is_open: bool,
) -> WorkloadVerdict:
    plan, headroom = analysis.plan, analysis.headroom
    losses = tuple(map(report_loss, analysis.losses))
    assumed = [*plan.assumptions, *(a for c in plan.containers for a in c.assumptions)]
    return replace(
        verdict,
        losses=losses,
        lost=losses[0].kind.value if losses else NONE,
        gets_requests=plan.gets_requests,
        senders=tuple(sender.label for sender in plan.senders if sender.is_shown),
        in_flight=headroom.max_in_flight,
        late=headroom.max_late,
        late_at=headroom.late_at,
        programs=tuple(dict.fromkeys(a.program for a in assumed if a.program)),
        webhooks=tuple(dict.fromkeys(a.webhook for a in assumed if a.webhook)),
        p99_is_open=plan.gets_requests and plan.p99 is None,
        mesh_is_open=mesh_is_open,
        is_assumed=bool(assumed) or plan.has_unknown_durations or mesh_is_open,
        weekly=_count_weekly(pod, analysis, facts),
    )


def _count_weekly(
    pod: PlannedPod, analysis: ShutdownAnalysis, facts: UserFacts
) -> WeeklyLoss | None:
    """Count the lost requests, if the user states the request rate."""
    apps = list(facts.apps_for(pod.id))
    rate = next((app.rate for app in apps if app.rate is not None), None)
    if rate is None or not analysis.plan.gets_requests:
        return None
    rollouts = next((app.rollouts for app in apps if app.rollouts is not None), None)
    shares = next((app.shares for app in apps if app.shares), ())
    if not shares and analysis.plan.p99 is not None:
        shares = ((analysis.plan.p99.value, P99_SHARE),)
    replicas = pod.replicas.value if pod.replicas is not None else None
    lost = count_lost(analysis, rate / (replicas or 1), shares)
    of_a_pod = WeeklyLoss(lost, replicas, rollouts, durations_known=bool(shares))
    noted: PodFacts | None = pod.facts.get(PodFacts)
    fleet = noted.fleet if noted is not None else None
    if fleet is None:
        return of_a_pod
    return replace(
        of_a_pod,
        without_pods=rate * fleet.outage(analysis.latest_end).total_seconds(),
        before_listening=rate * fleet.unprobed.total_seconds(),
        at_drain=rate * fleet.drain_outage.total_seconds(),
    )


def judge_hint(
    pod: PlannedPod, context: AnalysisContext, platforms: Sequence[Platform]
) -> HintedMesh | None:
    """Return the loss of a pod in the mesh that nearby objects leave open; None without any."""
    mesh = find_hint(pod.workload, context)
    if mesh is None:
        return None
    facts = in_mesh(context.user_facts, mesh, pod.workload.namespace)
    planned = plan_pod(pod.workload, context.with_facts(facts), platforms)
    analysis = planned.analysis
    if analysis is None:
        return None
    of_proxy = [report_loss(loss) for loss in analysis.losses if loss.role is Role.PROXY]
    return HintedMesh(mesh, of_proxy[0] if of_proxy else None)


def count_outcomes(verdicts: Iterable[WorkloadVerdict]) -> dict[str, int]:
    """Count the workloads by their worst loss; all of them as ``workloads``."""
    found = {"workloads": 0, **dict.fromkeys(OUTCOMES, 0)}
    for verdict in verdicts:
        found["workloads"] += 1
        found[verdict.lost] += 1
    return found


def sort_verdicts(verdicts: Iterable[WorkloadVerdict]) -> list[WorkloadVerdict]:
    """Return the verdicts, the worst first, then as they are written."""

    def badness(verdict: WorkloadVerdict) -> tuple[int, bool, Region, str]:
        unsure = bool(verdict.losses) and not verdict.losses[0].is_sure
        return OUTCOMES.index(verdict.lost), unsure, verdict.region, verdict.variant

    return sorted(verdicts, key=badness)
