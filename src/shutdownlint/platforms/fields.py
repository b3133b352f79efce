"""Types for declaring the fields of rules, and the views that their getters read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

if TYPE_CHECKING:
    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.platforms.workload_index import WorkloadEntry, WorkloadIndex
    from shutdownlint.shutdown.analysis import ShutdownAnalysis
    from shutdownlint.shutdown.pod_plan import Assumption, ContainerPlan, PodPlan
    from shutdownlint.shutdown.timeline import ContainerTimeline

_Facts = TypeVar("_Facts")
Value = timedelta | bool | int | str | Sequence[str]


class SubjectKind(StrEnum):
    """The subject of a rule's condition."""

    POD = "pod"
    CONTAINER = "container"
    #: A proxy of the pod, or the proxy that the pod is.
    PROXY = "proxy"
    #: A workload beside all others of the run.
    WORKLOAD = "workload"
    #: A configuration problem; the rule names its kind.
    PROBLEM = "problem"
    #: The losses of a stop of the pod; the rule selects the kind.
    LOSS = "loss"


class FieldType(StrEnum):
    """The types that a field can have."""

    DURATION = "duration"
    BOOL = "bool"
    INT = "int"
    STRING = "string"
    STRINGS = "list of strings"


class CaseView:
    """The data that a field's getter may use: one pod with every duration known.

    ``container`` is the container or proxy that the rule is evaluated for.
    """

    def __init__(
        self, pod: PlannedPod, analysis: ShutdownAnalysis, container: ContainerPlan | None = None
    ) -> None:
        self.pod = pod
        self.analysis = analysis
        self._container = container

    @property
    def plan(self) -> PodPlan:
        """The pod's plan in this case."""
        return self.analysis.plan

    @property
    def container(self) -> ContainerPlan:
        """The container of this case. Raises ``LookupError`` for a whole pod."""
        if self._container is None:
            raise LookupError("a whole pod has no container")
        return self._container

    def idle(self) -> ContainerTimeline:
        """Return the container's timeline with no request on the pod."""
        return self.analysis.idle_timeline.container(self.container.name)

    def loaded(self) -> ContainerTimeline:
        """Return the container's timeline with an endless request in flight."""
        return self.analysis.loaded_timeline.container(self.container.name)

    def facts(self, kind: type[Any]) -> Any:
        """Return a platform's facts of that type about the pod; None if there are none."""
        return self.pod.facts.get(kind)

    def container_facts(self, kind: type[Any]) -> Any:
        """Return a platform's facts of that type about the container; None if there are none."""
        return self.pod.container_facts.get(self.container.name, {}).get(kind)


class WorkloadView(Struct, frozen=True):
    """The data that a field of a workload may use once all workloads of the run are known."""

    entry: WorkloadEntry
    workloads: WorkloadIndex
    context: AnalysisContext


class Field(Struct, frozen=True):
    """A name that a rule may use.

    ``get`` is given the view of the rule's subject (``CaseView``, ``WorkloadView``) and gives the
    value, None where there is none: then ``default`` counts, and without one a rule that mentions
    the field is not evaluated. ``setting``: it gives a ``Setting``, so the rule may also use
    ``<name>From`` (the kind of its origin), ``{name.origin}`` in messages, and the setting's
    location. ``assumes`` gives what the value rests on.
    """

    name: str
    type: FieldType
    doc: str
    get: Callable[[Any], Any]
    setting: bool = False
    default: Value | None = None
    assumes: Callable[[Any], tuple[Assumption, ...]] | None = None


def plain_field(
    name: str,
    field_type: FieldType,
    doc: str,
    get: Callable[[Any], Any],
    assumes: Callable[[Any], tuple[Assumption, ...]] | None = None,
) -> Field:
    """Return a field whose getter gives the value itself."""
    return Field(name, field_type, doc, get, assumes=assumes)


def setting_field(
    name: str,
    field_type: FieldType,
    doc: str,
    get: Callable[[Any], Any],
    default: Value | None = None,
) -> Field:
    """Return a field whose getter gives a setting: a value with its origin."""
    return Field(name, field_type, doc, get, setting=True, default=default)


def from_pod_facts(kind: type[_Facts], get: Callable[[_Facts], Any]) -> Callable[[CaseView], Any]:
    """Return the getter of something in what a platform noted about the pod; None if it did not."""

    def getter(view: CaseView) -> Any:
        found = view.facts(kind)
        return None if found is None else get(found)

    return getter


def from_container_facts(
    kind: type[_Facts], get: Callable[[_Facts], Any]
) -> Callable[[CaseView], Any]:
    """Return the same for what a platform noted about the container."""

    def getter(view: CaseView) -> Any:
        found = view.container_facts(kind)
        return None if found is None else get(found)

    return getter


def recommended_value(
    view: CaseView, field: str, container: str | None, current: timedelta
) -> timedelta:
    """Return the value of a setting in the solution; its own value where that is enough."""
    found = view.analysis.solution.value_of(field, container)
    return found if isinstance(found, timedelta) else current


Fields = Mapping[SubjectKind, tuple[Field, ...]]


def edit_distance_suggestion(name: str, known: Sequence[str]) -> str:
    """Return a ``did you mean`` for an unknown name; empty where nothing is close."""
    import difflib  # noqa: PLC0415 - only for mistakes

    close = difflib.get_close_matches(name, known, 1, 0.6)
    return f"; did you mean '{close[0]}'?" if close else ""
