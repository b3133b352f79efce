"""Policies that change pods as they are created: which, and what of their shutdown."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from shutdownlint.platforms.registry import SHUTDOWN_WORDS
from shutdownlint.shutdown.pod_plan import Assumption

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shutdownlint.manifests.workloads import Workload

_REMEDY: Final = "check the pods as they run: kubectl get pod -o yaml"


class Mutation(Struct, frozen=True):
    """A policy or webhook that may change pods.

    ``kinds`` are the kinds of objects that it changes, ``namespaces`` patterns of theirs; any where
    there are none. ``changes`` are the words about shutdown that it writes, as far as is known.
    """

    title: str
    kinds: frozenset[str] = frozenset()
    namespaces: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()

    def may_change(self, workload: Workload) -> bool:
        """Whether it may change a workload's pods."""
        name = workload.namespace or "default"
        here = not self.namespaces or any(fnmatchcase(name, p) for p in self.namespaces)
        return here and (not self.kinds or bool({"Pod", workload.id.kind, "*"} & self.kinds))

    def assumption(self) -> Assumption:
        """What is assumed of the pods that it may change."""
        what = ", ".join(self.changes)
        changed = f" ({what})" if what else ""
        return Assumption(f"{self.title} may change the pods{changed}: not applied", _REMEDY)


def shutdown_words(data: Any) -> tuple[str, ...]:
    """The words about shutdown in a part of a policy."""
    text = str(data)
    found = [word for each in SHUTDOWN_WORDS if (word := each.decode()) in text]
    return tuple(word for word in found if word != "lifecycle" or "preStop" not in found)


def strings(items: Any) -> Iterable[str]:
    """The strings of a list; nothing for anything else."""
    return [item for item in items if isinstance(item, str)] if isinstance(items, list) else []
