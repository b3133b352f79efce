"""A finding: what is wrong, where exactly, how sure, and what to change."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from datetime import timedelta

    from shutdownlint.manifests.object_id import ObjectId
    from shutdownlint.platforms.edit_target import EditTarget
    from shutdownlint.shutdown.loss import LossKind
    from shutdownlint.shutdown.pod_plan import Confidence
    from shutdownlint.yaml_source.location import Region


class Severity(StrEnum):
    """The severity of a finding, by what is certain. A note never fails a run."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """Greater is worse."""
        return ("note", "warning", "error").index(self.value)


class EditAction(StrEnum):
    """The action of an edit on an entry."""

    SET = "set"
    REMOVE = "remove"
    RENAME = "rename"
    QUOTE = "quote"


class Change(Struct, frozen=True):
    """One change of a fix. ``field`` is the setting's name in rules.

    ``target`` is where the value is written, whether it exists or not; ``value`` is what it
    becomes.
    """

    action: EditAction
    field: str
    target: EditTarget | None
    value: timedelta | bool | int | str | None = None


class Fix(Struct, frozen=True):
    """The replacement to write: as text, and as the changes that a program can make.

    ``safe``: the changes only improve what the pod does.
    """

    description: str
    changes: tuple[Change, ...] = ()
    safe: bool = False


class Related(Struct, frozen=True):
    """Another location that decides the finding."""

    label: str
    region: Region


class ReportedLoss(Struct, frozen=True):
    """One loss of a pod: in words, by which process, from when to when, by what setting.

    Requests that take no longer than ``longer_than`` are served. ``is_sure`` is false where it may
    be that nothing is lost, ``certain`` where that depends on what is only bounded.
    """

    kind: LossKind
    text: str
    process: str
    begin: timedelta
    end: timedelta
    longer_than: timedelta
    setting: str
    is_sure: bool
    certain: bool


class Finding(Struct, frozen=True):
    """One finding. ``region`` is the key or value that decides it.

    ``title`` is that of its rule. ``about_versions`` names the systems whose unknown versions it
    rests on; ``holds_for`` the versions that it is certain for, empty where it holds for all.
    ``subject_region`` is where its pod is written; ``outside``: ``region`` is in another document.
    ``decided_by`` is the setting that decides, with its value and who chose it. ``group`` are the
    findings that this one combines, each about one pod. ``variants`` are the environments that it
    holds in; none where the run has only one.
    """

    rule: str
    name: str
    title: str
    severity: Severity
    confidence: Confidence
    region: Region
    message: str
    fix: Fix | None = None
    workload: ObjectId | None = None
    container: str | None = None
    assumptions: tuple[str, ...] = ()
    about_versions: tuple[str, ...] = ()
    related: tuple[Related, ...] = ()
    template: str | None = None
    holds_for: str = ""
    subject_region: Region | None = None
    outside: bool = False
    decided_by: str = ""
    group: tuple[Finding, ...] = ()
    variants: tuple[str, ...] = ()
    loss: ReportedLoss | None = None

    @property
    def subject_file(self) -> str:
        """The file that its pod is written in."""
        return (self.subject_region or self.region).file

    @property
    def each(self) -> tuple[Finding, ...]:
        """The findings that this one combines; itself where it combines none."""
        return self.group or (self,)

    @property
    def placed_message(self) -> str:
        """The message with its place, for texts about something else."""
        return f"{self.message} ({self.region})"
