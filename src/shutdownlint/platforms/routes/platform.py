"""Routes as a platform: how long the requests to a pod may take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint.platforms.fields import Field, Fields, FieldType, SubjectKind, from_pod_facts
from shutdownlint.platforms.platform import Platform
from shutdownlint.platforms.retries import RouteRetries
from shutdownlint.platforms.routes.limits import RouteLimit, read_routes
from shutdownlint.platforms.routes.problems import PROBLEMS
from shutdownlint.shutdown.provenance import Setting, with_value

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import timedelta

    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.platforms.pod_draft import PodDraft
    from shutdownlint.platforms.problem import Problem
    from shutdownlint.platforms.retries import RetryPolicy


class RouteFacts(Struct, frozen=True):
    """The longest limits of the routes to a pod: of whole requests, and of their pauses.

    ``unlimited`` names a route that says that it has no limit.
    """

    total: Setting[timedelta] | None
    pause: Setting[timedelta] | None
    unlimited: Setting[str] | None


_FIELDS: Final[Fields] = {
    SubjectKind.CONTAINER: (
        Field(
            "routeTimeout",
            FieldType.DURATION,
            "how long a route lets a whole request take; absent unless written",
            from_pod_facts(RouteFacts, lambda found: found.total),
            setting=True,
        ),
        Field(
            "routePause",
            FieldType.DURATION,
            "how long a route lets a request pause; absent where one limits whole requests",
            from_pod_facts(RouteFacts, lambda found: None if found.total else found.pause),
            setting=True,
        ),
        Field(
            "routeUnlimited",
            FieldType.STRING,
            "a route that says that requests have no limit; absent where none does",
            from_pod_facts(RouteFacts, lambda found: found.unlimited),
            setting=True,
        ),
    ),
}


class Plugin(Platform):
    """Routes."""

    name = "routes"
    fields = _FIELDS
    problems = PROBLEMS

    def context_problems(self, context: AnalysisContext) -> Iterable[Problem]:
        """Limits that cannot be read."""
        return context.read_once(read_routes).problems

    def contribute(self, draft: PodDraft) -> None:
        """Note the limits of the routes that lead to the pod."""
        routes = draft.context.read_once(read_routes)
        table = routes.limits
        found: list[RouteLimit] = []
        policies: list[RetryPolicy | None] = []
        used = table or routes.retries
        for service in draft.context.services_for(draft.workload) if used else ():
            metadata = service.model.metadata
            file = service.ref.document.file
            namespace = draft.context.index.namespaces.of(metadata.namespace, file)
            found += table.get((namespace, metadata.name or ""), ())
            policies += routes.retries.get((namespace, metadata.name or ""), ())
        if policies:
            draft.note(RouteRetries(tuple(policies)))
        if found:
            limited = [limit for limit in found if not limit.unlimited]
            settings = [limit.setting for limit in found if limit.unlimited]
            unlimited = with_value(settings[0], settings[0].name) if settings else None
            total, pause = _longest(limited, total=True), _longest(limited, total=False)
            draft.note(RouteFacts(total, pause, unlimited))


def _longest(limits: Iterable[RouteLimit], *, total: bool) -> Setting[timedelta] | None:
    settings = [limit.setting for limit in limits if limit.total is total]
    return max(settings, key=lambda setting: setting.value, default=None)
