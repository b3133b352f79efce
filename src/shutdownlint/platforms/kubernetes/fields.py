"""All fields that Kubernetes gives to rules."""

from __future__ import annotations

from typing import Final

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
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting

_S = FieldType.STRING


def _disruptions_allowed(view: WorkloadView) -> Setting[int] | None:
    budgets = view.context.state(BudgetIndex).for_entry(view.entry)
    return disruptions_allowed(view.entry, view.workloads, budgets)


def _budgets(view: WorkloadView) -> Setting[int] | None:
    """Return how many differently named PodDisruptionBudgets select the pods; at the second one."""
    folder = view.entry.region.file.rpartition("/")[0]
    found = {
        budget.model.metadata.name: budget
        for budget in view.context.state(BudgetIndex).selecting(
            view.entry.scope, view.entry.labels, view.entry.region.file
        )
        # Those of other folders may belong to other installations of the same names.
        if budget.ref.document.file.rpartition("/")[0] == folder
        and budget.model.spec.selector is not None
        # An empty selector is everything in policy/v1, and nothing in policy/v1beta1.
        and (budget.model.spec.selector.matchLabels or budget.model.spec.selector.matchExpressions)
    }
    if len(found) < 2 or not view.entry.complete:
        return None
    names = sorted(str(name) for name in found)
    second = found[names[1]]
    origin = Origin(OriginKind.EXPLICIT, "budgets", second.ref / "spec" / "selector")
    return Setting(" and ".join(names), len(found), origin)


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
    setting_field(
        "budgets",
        FieldType.INT,
        "how many PodDisruptionBudgets select the pods; absent for fewer than two",
        _budgets,
    ),
    plain_field(
        "budgetNames",
        _S,
        "the names of the PodDisruptionBudgets that budgets counts",
        lambda view: found.name if (found := _budgets(view)) is not None else "",
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
