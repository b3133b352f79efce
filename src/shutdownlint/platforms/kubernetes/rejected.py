"""What the API server rejects or drops in an object, as problems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from shutdownlint.manifests.decoding import FieldError, has_placeholder
from shutdownlint.platforms.kubernetes import facts, problems
from shutdownlint.platforms.kubernetes.schemas import SPECS
from shutdownlint.platforms.kubernetes.validation import shape_of_schema, validate
from shutdownlint.wording import did_you_mean
from shutdownlint.yaml_source.errors import BudgetExceededError

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.manifests.object_index import LoadedResource
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.problem import Problem
    from shutdownlint.platforms.versions import Version
    from shutdownlint.yaml_source.location import KeyPath


class Written(Struct, frozen=True):
    """An object as it is written: its API version and kind, and the mistakes in its spec."""

    ref: NodeRef
    version: str
    kind: str
    problems: tuple[Problem, ...] = ()

    @property
    def is_rejected(self) -> bool:
        """Whether the API server rejects a value of it, so that it does not exist."""
        return any(isinstance(problem, problems.FieldRejected) for problem in self.problems)


def read_version(ref: NodeRef) -> Written:
    """Return the API version and the kind of an object."""
    tree, at = ref.document.tree, ref.key_path
    version, kind = (str(tree.to_python((*at, key)) or "") for key in ("apiVersion", "kind"))
    return Written(ref, version, kind)


def read_written(loaded: LoadedResource[Any]) -> Written:
    """Read an object's API version and kind, and what is wrong in its spec."""
    found = read_version(loaded.ref)
    group = found.version.rpartition("/")[0]
    return replace(found, problems=tuple(spec_problems(loaded.ref, group, found.kind)))


def removed_version(written: Written, kubernetes: Version | None) -> Iterator[Problem]:
    """Yield an API version that is not served any more.

    An unknown version of Kubernetes is taken to be a supported one.
    """
    removed = facts.REMOVED_APIS.value.get((written.version, written.kind))
    if removed is not None and (kubernetes is None or kubernetes >= removed[0]):
        since, instead = removed
        reason = (
            f"{written.version} is not served since Kubernetes {since.major}.{since.minor}: "
            f"write {instead}"
        )
        yield field_rejected(written.ref, FieldError(("apiVersion",), reason))


def restart_policy_problems(workload: Workload, kubernetes: Version | None) -> Iterator[Problem]:
    """Yield the restart policies of containers that are rejected, or that mean nothing."""
    template = workload.template.spec
    for part, containers in (
        ("initContainers", template.initContainers),
        ("containers", template.containers),
    ):
        init = part == "initContainers"
        for index, container in enumerate(containers):
            value = container.restartPolicy
            if value is None or has_placeholder(value) or (init and value == "Always"):
                continue
            # Only where it matters: a pod is planned for each release that something asks about.
            allowed = _restart_policies(kubernetes, init=init)
            if value in (allowed or ()):
                continue
            key_path = (part, index, "restartPolicy")
            if allowed is not None:
                reason = f"must be {' or '.join(allowed)}" if allowed else "may not be set"
                yield field_rejected(workload.spec, FieldError(key_path, reason), "spec.")
                continue
            # Where the release is not known, a policy that newer ones take may be meant.
            meant = kubernetes is None and value in facts.RESTART_POLICIES.value
            if init and not meant:
                effect = "has no effect" if kubernetes is not None else _REJECTED_OR_DROPPED
                location = workload.spec.below(*key_path)
                yield problems.InitRestartPolicy(
                    location=location, key=container.name, value=value or '""', effect=effect
                )


_REJECTED_OR_DROPPED: Final = "is rejected or dropped, by the release of Kubernetes"


def _restart_policies(kubernetes: Version | None, *, init: bool) -> tuple[str, ...] | None:
    """Return the policies that the API server takes; None where it drops the others, or may."""
    if kubernetes is None:
        return None
    if kubernetes >= facts.RESTART_RULES_SINCE.value:
        return facts.RESTART_POLICIES.value
    if kubernetes in facts.RESTART_POLICY_REJECTED_IN.value:
        return ("Always",) if init else ()
    return None


def spec_problems(
    ref: NodeRef, group: str, kind: str, known: Container[KeyPath] = ()
) -> Iterator[Problem]:
    """Yield what the API server rejects or drops in an object's spec.

    ``known`` are the places of values that are reported already.
    """
    schema = SPECS.get((group, kind))
    if schema is None:
        return
    spec = ref / "spec"
    try:
        data = spec.document.tree.to_python(spec.key_path, shape_of_schema(schema))
    except BudgetExceededError:  # what the model needs of it was read
        return
    found = validate(schema, data)
    for key_path, reason in found.rejected:
        if spec.below(*key_path).key_path not in known:
            yield field_rejected(spec, FieldError(key_path, reason), "spec.")
    for key_path, names in found.unknown:
        if spec.below(*key_path).key_path in known:
            continue
        key, where = str(key_path[-1]), format_key_path(("spec", *key_path[:-1]))
        hint = did_you_mean(key, names)
        yield problems.FieldUnknown(
            location=spec.below(*key_path).key,
            key=key,
            place=f"{where} of a {kind}",
            instead=hint.removeprefix("; did you mean ").removesuffix("?"),
            hint=hint,
        )


def field_rejected(ref: NodeRef, error: FieldError, above: str = "") -> Problem:
    """Return a value that the API server does not take, as a problem."""
    location = ref
    for step in error.key_path:
        location = location / step
    key = above + format_key_path(error.key_path)
    return problems.FieldRejected(location=location, key=key, reason=error.reason)


def format_key_path(key_path: tuple[str | int, ...]) -> str:
    """Return a key path as people write it: ``spec.containers[0].env``."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in key_path)
    return "".join(steps).removeprefix(".")
