"""Policies that change pods as they are created: which, and what of their shutdown."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from shutdownlint import limits
from shutdownlint.manifests.patched import PatchedDocument, patch_workload
from shutdownlint.platforms.nearness import nearest
from shutdownlint.shutdown.pod_plan import Assumption
from shutdownlint.wording import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from shutdownlint.manifests.document import Document, Graft, NodeRef
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.yaml_source.location import KeyPath

    #: Computes the values that are set in an object; injected containers are named besides.
    Patch = Callable[[NodeRef, Sequence[str]], list[Graft]]

#: The webhook configuration by which Kyverno changes objects.
KYVERNO_WEBHOOK: Final = "kyverno-resource-mutating-webhook-cfg"
_REMEDY: Final = "check the pods as they run: kubectl get pod -o yaml"

#: The objects that controllers create for a workload, besides its Pods.
_MADE_BY: Final = {
    "Deployment": ("ReplicaSet",),
    "Rollout": ("ReplicaSet",),
    "CronJob": ("Job",),
}


class UnreadablePatchError(Exception):
    """A patch that is not read: what it writes depends on more than the files show."""


class InjectedContainer(Struct, frozen=True):
    """A container that a mesh adds to pods, and the webhook configuration by which it does so."""

    name: str
    webhook: str


class Mutation(Struct, frozen=True, eq=False):
    """A policy or webhook that may change pods.

    ``kinds`` are the kinds of objects that it changes, ``namespaces`` patterns of theirs; any where
    there are none. ``changes`` are the words about shutdown that it writes, as far as is known.
    ``patch`` works out what it writes, and may raise ``UnreadablePatchError``; None: the files do
    not show it. ``unsure_in`` are namespaces that it usually leaves alone. ``webhook`` is the
    webhook configuration that applies it: API servers call webhooks in the order of names.
    """

    title: str
    file: str
    webhook: str = ""
    kinds: frozenset[str] = frozenset()
    namespaces: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    patch: Patch | None = None
    unsure_in: frozenset[str] = frozenset()

    def may_change(self, workload: Workload) -> bool:
        """Whether it may change a workload's pods."""
        namespace = workload.namespace or "default"
        return _matches(self.namespaces, self.kinds, namespace, workload.id.kind)

    def apply(
        self, workload: Workload, document: Document, injected: Sequence[InjectedContainer]
    ) -> PatchedDocument:
        """Return the workload's document as it changes it. Raises ``UnreadablePatchError``."""
        moved = workload.spec_at is not None or workload.annotations_at is not None
        # A policy for Pods applies to the pods of every workload.
        of_pods = not self.kinds or bool({"Pod", "*"} & self.kinds)
        both = of_pods and workload.id.kind != "Pod" and workload.id.kind in self.kinds
        known = of_pods or workload.id.kind in self.kinds
        excluded = workload.namespace in self.unsure_in
        if self.patch is None or moved or both or excluded or not known:
            raise UnreadablePatchError
        place = workload.ref if of_pods else workload.object_ref
        seen = [each.name for each in injected if of_pods and each.webhook < self.webhook]
        grafts = self.patch(document.ref(*place.key_path), seen)
        if len(grafts) > limits.MAX_POLICY_VALUES:
            raise UnreadablePatchError
        return PatchedDocument.of(document, grafts)

    def assumption(self) -> Assumption:
        """Return what is assumed of the pods that it may change."""
        what = ", ".join(self.changes)
        changed = f" ({what})" if what else ""
        text = f"{self.title} may change the pods{changed}: not applied"
        return Assumption(text, _REMEDY, webhook=self.title)


# Many policies have the same few patterns, and every workload is compared with each policy.
@lru_cache(maxsize=1024)
def _matches(namespaces: tuple[str, ...], kinds: frozenset[str], namespace: str, kind: str) -> bool:
    here = not namespaces or any(fnmatchcase(namespace, p) for p in namespaces)
    made = ("Pod", kind, *_MADE_BY.get(kind, ()))
    return here and (not kinds or any(fnmatchcase(each, p) for each in made for p in kinds))


def apply_mutations(
    workload: Workload, mutations: Iterable[Mutation], injected: Sequence[InjectedContainer] = ()
) -> tuple[Workload, list[Assumption]]:
    """Return the workload as all that is readable changes it, and an assumption for what is not.

    ``injected`` are the containers that a mesh adds to its pods.
    """
    assumptions = []
    concerned = [mutation for mutation in mutations if mutation.may_change(workload)]
    more = len(concerned) - limits.MAX_POLICIES
    if more > 0:
        text = f"{plural(more, 'more policy', 'more policies')} may change the pods: not applied"
        assumptions.append(Assumption(text, _REMEDY))
    concerned = concerned[: limits.MAX_POLICIES]
    document = workload.ref.document
    written: dict[str, list[KeyPath]] = {}
    for mutation in _nearest(concerned, document.file):
        try:
            changed = mutation.apply(workload, document, injected)
            new = [graft.key_path for graft in changed.grafts_after(document)]
            # Of two policies of one controller it is not known which comes last.
            same = written.setdefault(mutation.webhook, [])
            if _overlap(same, new):
                raise UnreadablePatchError
            same += new
            document = changed
        except Exception:
            assumptions.append(mutation.assumption())
    if document is not workload.ref.document:
        workload = patch_workload(workload, document)
    return workload, assumptions


def _overlap(some: Iterable[KeyPath], others: Iterable[KeyPath]) -> bool:
    """Whether an entry is in both, or in an entry of the other."""
    found = set(some)
    above = {path[:length] for path in found for length in range(len(path))}
    return any(
        path in above or any(path[:length] in found for length in range(len(path) + 1))
        for path in others
    )


def _nearest(mutations: Sequence[Mutation], file: str) -> list[Mutation]:
    """Of policies with one name, those whose files are nearest."""
    by_title: dict[str, list[Mutation]] = {}
    for mutation in mutations:
        by_title.setdefault(mutation.title, []).append(mutation)
    found = [one for same in by_title.values() for one in nearest(same, file, lambda m: m.file)]
    return sorted(found, key=lambda mutation: mutation.webhook)


def strings(items: Any) -> Iterable[str]:
    """Return the strings of a list; nothing for anything else."""
    return [item for item in items if isinstance(item, str)] if isinstance(items, list) else []
