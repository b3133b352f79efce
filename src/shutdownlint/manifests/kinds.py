"""The declaration of a Kubernetes kind that a platform reads."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from shutdownlint.manifests.resources import Resource


class KindEntry(Struct, frozen=True):
    """A kind that is read for what it says about shutdown.

    ``model`` is the import path of its typed model, ``module:Class``; empty: only its location is
    stored, and the platform reads the document itself. Without ``kind`` it is for documents that
    are no Kubernetes objects (Helm values). ``words``: groups of words; a document is read if all
    words of one group are in it, and always where there are none. ``strict``: values of a wrong
    type are reported.
    """

    group: str
    kind: str
    model: str = ""
    words: tuple[tuple[bytes, ...], ...] = ()
    strict: bool = False

    def load_model(self) -> type[Resource]:
        """Return the typed model."""
        from importlib import import_module  # noqa: PLC0415 - one import for each kind in use

        module, _, name = self.model.partition(":")
        found: type[Resource] = getattr(import_module(module), name)
        return found


class Reach(IntEnum):
    """The pods that an object makes likely to be in a mesh; further ones may be."""

    #: None: what it says of other pods is only a question.
    NO_POD = 0
    #: Those in its own folder.
    FOLDER = 1
    #: Those in its own folder and below.
    BELOW = 2


class MeshSign(Struct, frozen=True):
    """An object that puts pods into a mesh: its text has all patterns."""

    kind: bytes
    patterns: tuple[bytes, ...] = ()
    reach: Reach = Reach.FOLDER


class MeshWord(Struct, frozen=True):
    """The signs that an object belongs to a mesh: the end of its API group, or others.

    An object with one of ``switched_on`` injects all pods, one with one of ``switched_off`` none.
    """

    mesh: str
    group: bytes
    signs: tuple[MeshSign, ...] = ()
    switched_on: tuple[bytes, ...] = ()
    switched_off: tuple[bytes, ...] = ()


class KindTable(Struct, frozen=True):
    """Everything that reading needs to know about kinds; the platforms provide it.

    ``describing_groups``: API groups whose objects only describe pods (policies, their tests).
    ``pod_kinds``: kinds, by group, that hold a pod spec themselves, as a Pod does.
    ``batch_kinds``: kinds whose pods run to completion. ``mesh_words``: what shows a mesh.
    """

    entries: tuple[KindEntry, ...] = ()
    describing_groups: frozenset[str] = frozenset()
    pod_kinds: frozenset[tuple[str, str]] = frozenset({("", "Pod")})
    batch_kinds: frozenset[str] = frozenset()
    mesh_words: tuple[MeshWord, ...] = ()

    def entry(self, group: str, kind: str) -> KindEntry | None:
        """Return the entry of a kind."""
        for entry in self.entries:
            if entry.kind == kind and entry.group == group:
                return entry
        return None
