"""The text replacements of a finding's fix for reports, checked before they are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from shutdownlint.fixes.apply import edits_of, locate
from shutdownlint.fixes.verify import VerificationError, check_piece, intended_changes
from shutdownlint.yaml_source.editor import EditError, apply_edits
from shutdownlint.yaml_source.location import Region

if TYPE_CHECKING:
    from shutdownlint.engine.finding import Finding


class Replacement(Struct, frozen=True):
    """Text that replaces a region; at an empty region it is inserted."""

    region: Region
    text: str


def list_replacements(finding: Finding) -> list[Replacement]:
    """Return the edits of a fix in text order; none if they are not possible or not verified."""
    if finding.fix is None or not finding.fix.changes:
        return []
    try:
        chunks = edits_of(finding)
        documents = [locate(change).ref.document for change in finding.fix.changes]
        intended = intended_changes(finding.fix.changes)
        found = []
        for (file, start), edits in chunks.items():
            document = next(d for d in documents if (d.file, d.start) == (file, start))
            text, above = document.text, document.line_offset
            new = apply_edits(text, edits)
            check_piece(text, new, [each for each in intended if each.index == document.index])
            found += [
                Replacement(_region(text, file, above, edit.start, edit.end), edit.text)
                for edit in sorted(set(edits))
            ]
    except (EditError, VerificationError):
        return []
    return found


def _region(text: str, file: str, above: int, start: int, end: int) -> Region:
    return Region(file, *_point(text, above, start), *_point(text, above, end))


def _point(text: str, above: int, at: int) -> tuple[int, int]:
    return 1 + above + text.count("\n", 0, at), at - (text.rfind("\n", 0, at) + 1) + 1
