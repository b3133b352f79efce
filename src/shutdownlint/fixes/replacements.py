"""A finding's fix as reports tell it: what is replaced where, proven on the text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from shutdownlint.fixes.apply import edits_of
from shutdownlint.fixes.location import EditLocation
from shutdownlint.fixes.verify import VerificationError, check_piece, expected
from shutdownlint.yaml_source.editor import EditError, applied
from shutdownlint.yaml_source.location import Region

if TYPE_CHECKING:
    from shutdownlint.engine.finding import Finding


class Replacement(Struct, frozen=True):
    """Text that takes the place of a region; one that is empty is where it is inserted."""

    region: Region
    text: str


def replacements(finding: Finding) -> list[Replacement]:
    """The edits of a fix in the order of the text; none where they cannot be made or proven."""
    if finding.fix is None or not finding.fix.changes:
        return []
    try:
        pieces = edits_of(finding)
        documents = [
            EditLocation.of(change.location).ref.document for change in finding.fix.changes
        ]
        meant = expected(finding.fix.changes)
        found = []
        for (file, start), edits in pieces.items():
            document = next(d for d in documents if (d.file, d.start) == (file, start))
            new = applied(document.text, edits)
            check_piece(document.text, new, [m for m in meant if m.index == document.index])
            found += [
                Replacement(
                    _place(document.text, file, document.line_offset, e.start, e.end), e.text
                )
                for e in sorted(set(edits))
            ]
    except (EditError, VerificationError):
        return []
    return found


def _place(text: str, file: str, above: int, start: int, end: int) -> Region:
    return Region(file, *_point(text, above, start), *_point(text, above, end))


def _point(text: str, above: int, at: int) -> tuple[int, int]:
    return 1 + above + text.count("\n", 0, at), at - (text.rfind("\n", 0, at) + 1) + 1
