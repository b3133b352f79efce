"""All fields that Kubernetes gives to rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shutdownlint.platforms.fields import (
    Fields,
    FieldType,
    SubjectKind,
    WorkloadView,
    plain_field,
    setting_field,
)
from shutdownlint.platforms.kubernetes.budgets import BudgetIndex, disruptions_allowed
from shutdownlint.platforms.kubernetes.container_fields import (
    CONTAINER_FIELDS,
    container_balancer,
    path_fields,
)
from shutdownlint.platforms.kubernetes.pod_fields import POD_FIELDS, WHOLE_POD_FIELDS
from shutdownlint.platforms.kubernetes.proxy_fields import PROXY_FIELDS, slowest_app

if TYPE_CHECKING:
    from shutdownlint.shutdown.provenance import Setting

_S = FieldType.STRING


def _disruptions_allowed(view: WorkloadView) -> Setting[int] | None:
    budgets = view.context.state(BudgetIndex).for_entry(view.entry)
    return disruptions_allowed(view.entry, view.workloads, budgets)


_WORKLOAD_FIELDS: Final = (
    plain_field("kind", _S, "the workload's kind", lambda view: view.entry.id.kind),
    plain_field("name", _S, "the workload's name", lambda view: view.entry.id.name),
    plain_field(
        "namespace",
        _S,
        "the workload's namespace, empty where none is written",
        lambda view: view.entry.id.namespace or "",
    ),
    setting_field(
        "disruptionsAllowed",
        FieldType.INT,
        "how many pods a PodDisruptionBudget lets go at a time; absent where that is not certain",
        _disruptions_allowed,
    ),
)
FIELDS: Final[Fields] = {
    SubjectKind.POD: (*POD_FIELDS, *WHOLE_POD_FIELDS),
    SubjectKind.CONTAINER: (
        *(field for field in POD_FIELDS if field.name != "balancer"),
        setting_field(
            "balancer",
            _S,
            "a load balancer outside the cluster that sends this container requests, or empty",
            container_balancer,
            "",
        ),
        *path_fields(lambda view: view),
        *CONTAINER_FIELDS,
    ),
    SubjectKind.PROXY: (*POD_FIELDS, *path_fields(slowest_app), *PROXY_FIELDS),
    SubjectKind.WORKLOAD: _WORKLOAD_FIELDS,
}
