"""The problems that people have accepted, as written in manifests.

On the line of a finding, or alone above it::

    terminationGracePeriodSeconds: 5  # shutdownlint: ignore[SL101] batch work only

and in the annotations of a workload or its pods, with ``.container`` behind the name for one of its
containers::

    shutdownlint.dev/ignore: SL101, SL2 until 2027-03-31 -- the mesh goes in spring
"""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint.patterns import lazy_pattern
from shutdownlint.yaml_source.location import FixedLocation, Region

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shutdownlint.manifests.object_id import ObjectId
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.yaml_source.location import SourceLocation

ANNOTATION: Final = "shutdownlint.dev/ignore"
#: An id, its beginning, or a name such as grace-spent-by-prestop.
#: Atomic groups: what was matched is not tried again in another way.
_NAME: Final = r"(?>[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)+|[A-Za-z]{2,8}[0-9]{0,3}(?![A-Za-z0-9-]))"
_RULES: Final = rf"(?P<rules>{_NAME}(?>\s*,\s*{_NAME})*+)(?:\s++until\s++(?P<until>[0-9-]++))?+"
_COMMENT: Final = lazy_pattern(rf"#\s*shutdownlint:\s*ignore\[\s*{_RULES}\s*\](?P<reason>[^\r\n]*)")
#: Meant as one, however it is written.
_MEANT: Final = lazy_pattern(r"#\s*shutdownlint:[^\r\n]*", re.IGNORECASE)
_UNTIL: Final = lazy_pattern(r"\buntil\b")
_LAST_DAY: Final = lazy_pattern(r"\s*until\s+(?P<until>[0-9-]+)(?P<reason>.*)")
_SAID: Final = lazy_pattern(rf"\s*{_RULES}\s*(?:--(?P<reason>.*))?", re.DOTALL)


class Suppression(Struct, frozen=True, eq=False):
    """One decision: for which rules (ids, their beginnings, names), why, until when, for what.

    That is a ``line`` of a ``file``, a ``workload`` of a file (or its ``container``), or the
    workloads that a ``pattern`` of the configuration matches. One of a ``variant`` is about that
    environment only.
    """

    rules: tuple[str, ...]
    reason: str
    until: dt.date | None = None
    file: str | None = None
    line: int | None = None
    workload: ObjectId | None = None
    container: str | None = None
    pattern: str | None = None
    variant: str = ""
    #: None in the configuration.
    location: SourceLocation | None = None


def read_comments(file: str, text: str, first_line: int) -> Iterator[Suppression]:
    """Yield the ignores in comments: for their line, or for the next one with text.

    ``first_line``: the line of the file on which the text begins.
    """
    lines = text.splitlines()
    following: list[int] = []
    for number, line in enumerate(lines):
        meant = _MEANT.search(line)
        if meant is None:
            continue
        here = first_line + number
        found = _COMMENT.search(line)
        if found is None:
            region = Region(file, here, meant.start() + 1, here, meant.end() + 1)
            yield Suppression((), "", file=file, line=here, location=FixedLocation(region))
            continue
        about = number
        if not line[: found.start()].strip():
            following = following or _next_with_text(lines)
            about = following[number]
        region = Region(file, here, found.start() + 1, here, found.end() + 1)
        until, reason = found["until"], found["reason"]
        behind = _LAST_DAY.fullmatch(reason)
        if until is None and behind is not None:
            until, reason = behind["until"], behind["reason"]
        yield Suppression(
            parse_rule_list(found["rules"]),
            reason.strip(" \t-"),
            parse_last_day(until),
            file=file,
            line=first_line + about,
            location=FixedLocation(region),
        )


def add_to_line(line: str, rules: Sequence[str], reason: str) -> str | None:
    """Return a line (without its end) with a comment that ignores these rules.

    A comment that is there gets the rules, and keeps its reason; None where it cannot be read, or
    has a last day.
    """
    names = ", ".join(rules)
    if _MEANT.search(line) is None:
        return f"{line.rstrip()}  # shutdownlint: ignore[{names}] {reason}"
    found = _COMMENT.search(line)
    if found is None or _UNTIL.search(line, found.start()):
        return None
    end = found.end("rules")
    return f"{line[:end]}, {names}{line[end:]}"


def _next_with_text(lines: list[str]) -> list[int]:
    """Return for each line the next one that is neither empty nor a comment, or the line itself."""
    found = list(range(len(lines)))
    following: int | None = None
    for number in range(len(lines) - 1, -1, -1):
        if following is not None:
            found[number] = following
        if lines[number].strip() and not lines[number].lstrip().startswith("#"):
            following = number
    return found


def read_annotations(workload: Workload) -> Iterator[Suppression]:
    """Yield ignores in the annotations of a workload and of its pods, separated by semicolons."""
    own = workload.object_ref / "metadata" / "annotations"
    places = [(workload.template.metadata.annotations, workload.annotations)]
    if own.key_path != workload.annotations.key_path:
        places.append((workload.owner.annotations, own))
    for written, location in places:
        for key, text in written.items():
            if not key.startswith(ANNOTATION):
                continue
            for part in text.split(";"):
                found = _SAID.fullmatch(part)
                yield Suppression(
                    parse_rule_list(found["rules"]) if found else (),
                    (found["reason"] or "").strip() if found else "",
                    parse_last_day(found["until"]) if found else None,
                    file=workload.ref.document.file,
                    workload=workload.id,
                    container=key.removeprefix(ANNOTATION).removeprefix(".") or None,
                    variant=workload.ref.document.variant,
                    location=(location / key).key,
                )


def parse_rule_list(text: str) -> tuple[str, ...]:
    """Ids, beginnings of ids or names of rules, separated by commas."""
    return tuple(name.strip().upper() for name in text.split(","))


def parse_last_day(text: str | None) -> dt.date | None:
    """Return the last day; one that does not exist has passed."""
    try:
        return dt.date.fromisoformat(text) if text else None
    except ValueError:
        return dt.date.min
