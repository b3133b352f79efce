"""From findings to mended files: edits in rounds, each proven before it stays.

A file is written only as far as is proven: it parses, only the intended values differ, the finding
is gone, and nothing as bad has come.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field
from msgspec.structs import replace

from shutdownlint.fixes.location import EditLocation
from shutdownlint.fixes.serialize import written_value
from shutdownlint.fixes.verify import VerificationError, check_text, expected
from shutdownlint.manifests.document import Text
from shutdownlint.manifests.reader import decode
from shutdownlint.manifests.splitter import split
from shutdownlint.yaml_source.editor import Edit, EditError, applied, common_prefix_length

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping

    from shutdownlint.engine.finding import Finding
    from shutdownlint.fixes.fix import Change
    from shutdownlint.manifests.workloads import ObjectId

#: Fixes that make way for each other settle in a few rounds.
_MOST_ROUNDS: Final = 8
_BOM: Final = b"\xef\xbb\xbf"
_Key = tuple[str, str, str, str]


class Refused(Struct, frozen=True):
    """A fix that was not made, and why."""

    finding: Finding
    reason: str


class FixResult(Struct):
    """What became of the fixes. ``texts`` are the files that change, by the names they are read by.

    ``left`` are the findings of the mended files.
    """

    texts: dict[str, bytes] = field(default_factory=dict)
    #: What was read of them (and of standard input) before.
    originals: dict[str, bytes] = field(default_factory=dict)
    fixed: list[Finding] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    left: list[Finding] = field(default_factory=list)


#: A part of a file that edits count in: the file, and where the part begins in it, in bytes.
Piece = tuple[str, int]


def edits_of(finding: Finding) -> dict[Piece, list[Edit]]:
    """The edits of a finding's fix, by piece of a file. Raises ``EditError``."""
    return edits_for(finding.fix.changes if finding.fix else ())


def edits_for(changes: Iterable[Change], *, rendered: bool = False) -> dict[Piece, list[Edit]]:
    """The edits that make these changes together, by piece of a file.

    Changes of one place (two settings of an annotation that is not there yet) are made one after
    the other, and are one edit. ``rendered``: of what Helm has rendered, too. Raises
    ``EditError``.
    """
    by_piece: dict[Piece, list[tuple[Change, EditLocation]]] = {}
    for change in changes:
        edit_location = EditLocation.of(change.location)
        template = edit_location.ref.document.source
        if template is not None and not rendered:
            raise EditError(f"it is rendered from {template}: change it there")
        document = edit_location.ref.document
        by_piece.setdefault((document.file, document.start), []).append((change, edit_location))
    return {piece: _together(those) for piece, those in by_piece.items()}


def _together(changes: list[tuple[Change, EditLocation]]) -> list[Edit]:
    edits = [change_edit(change, edit_location) for change, edit_location in changes]
    pairs = combinations(edits, 2)
    if not any(_collide(one, other) for one, other in pairs if one != other):
        return edits
    old = text = changes[0][1].ref.document.text
    # Items of a list are taken out last, so that the others are still where they were.
    for change, edit_location in sorted(changes, key=lambda made: made[0].action == "remove"):
        now = replace(edit_location.ref.document, written=Text(text), _tree=None)
        moved = replace(edit_location, ref=replace(edit_location.ref, document=now))
        text = applied(text, [change_edit(change, moved)])
    start = common_prefix_length(old, text)
    end = common_prefix_length(old[start:][::-1], text[start:][::-1])
    return [Edit(start, len(old) - end, text[start : len(text) - end])]


def splice(old: bytes, pieces: Mapping[int, list[Edit]]) -> bytes:
    """A file's bytes with the edits of its pieces. Raises ``EditError``."""
    if old.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise EditError("its encoding is UTF-16")
    out, at = [], 0
    for chunk in split(old):
        if chunk.start not in pieces:
            continue
        text = chunk.data.decode("utf-8-sig")
        if decode(chunk.data) != text:
            raise EditError("it has tabs between its tokens")
        mark = _BOM if chunk.data.startswith(_BOM) else b""
        new = applied(text, pieces[chunk.start])
        out += [old[at : chunk.start], mark, new.encode()]
        at = chunk.start + len(chunk.data)
    return b"".join([*out, old[at:]])


def change_edit(change: Change, edit_location: EditLocation) -> Edit:
    """The edit that makes a change at its slot. Raises ``EditError``."""
    match change.action:
        case "remove":
            return edit_location.remove()
        case "rename":
            return edit_location.rename(str(change.value))
        case "quote":
            return edit_location.quote()
        case _:
            return written_value(edit_location, change)


class FixApplier:
    """Applies what can be applied. ``check`` reads and judges the files, some with other texts."""

    def __init__(
        self,
        check: Callable[[Mapping[str, bytes]], list[Finding]],
        read: Callable[[str], bytes],
        may_change: Container[str],
        *,
        unsafe: bool,
        only: Container[ObjectId] | None = None,
    ) -> None:
        self.check = check
        self.read = read
        self.may_change = may_change
        self.unsafe = unsafe
        self.only = only
        self.fix_result = FixResult()
        self._given_up: set[_Key] = set()

    def run(self) -> FixResult:
        """Round by round, until nothing is left that can be mended."""
        findings = self.check({})
        for _ in range(_MOST_ROUNDS):
            chosen = [f for f in findings if self._may(f)]
            if not chosen:
                break
            findings = self._round(findings, chosen)
        self.fix_result.left = findings
        return self.fix_result

    def _may(self, finding: Finding) -> bool:
        fix = finding.fix
        if fix is None or not fix.changes or _key(finding) in self._given_up:
            return False
        if self.only is not None and (
            finding.workload is None or finding.workload not in self.only
        ):
            return False
        return fix.safe or self.unsafe

    def _refuse(self, finding: Finding, reason: str) -> None:
        self._given_up.add(_key(finding))
        self.fix_result.refused.append(Refused(finding, reason))

    def _round(self, before: list[Finding], chosen: list[Finding]) -> list[Finding]:
        """One set of edits that do not collide; what does waits for the next round."""
        edits: dict[Piece, list[Edit]] = {}
        changes: dict[str, list[Change]] = {}
        made: list[Finding] = []
        for finding in chosen:
            try:
                own = edits_of(finding)
            except EditError as error:
                self._refuse(finding, str(error))
                continue
            if any(file not in self.may_change for file, _ in own):
                self._refuse(
                    finding, "it stands in no file that is to be written (context, or a rendering)"
                )
                continue
            if self._joins(edits, own):
                made.append(finding)
                for change in finding.fix.changes if finding.fix else ():
                    file = EditLocation.of(change.location).ref.document.file
                    changes.setdefault(file, []).append(change)
        if not made:
            return before
        texts = dict(self.fix_result.texts)
        for file in dict.fromkeys(piece[0] for piece in edits):
            try:
                pieces = {start: new for (name, start), new in edits.items() if name == file}
                texts[file] = self._changed(file, pieces, changes[file])
            except (EditError, VerificationError) as error:
                return self._alone_or_refused(before, made, file, str(error))
        after = self.check(texts)
        worse = _worse(before, after, made)
        if worse:
            return self._alone_or_refused(before, made, *worse)
        self.fix_result.texts = texts
        self.fix_result.fixed += made
        return after

    def _alone_or_refused(
        self, before: list[Finding], made: list[Finding], file: str, reason: str
    ) -> list[Finding]:
        """One of the fixes of this file is not proven: try them one by one, then give up."""
        here = [f for f in made if file in _files(f)] or made
        if len(made) > 1:
            others = [f for f in made if f not in here]
            findings = self._round(before, others) if others else before
            for finding in here:
                if _key(finding) not in self._given_up:
                    again = [f for f in findings if _key(f) == _key(finding)]
                    findings = self._round(findings, again[:1]) if again else findings
            return findings
        self._refuse(made[0], reason)
        return before

    def _joins(self, edits: dict[Piece, list[Edit]], own: Mapping[Piece, list[Edit]]) -> bool:
        """Take the edits in, unless one stands in the way of another."""
        for piece, new in own.items():
            others = edits.get(piece, [])
            if any(_collide(edit, other) for edit in new for other in others if edit != other):
                return False
        for piece, new in own.items():
            edits.setdefault(piece, []).extend(new)
        return True

    def _changed(self, file: str, pieces: dict[int, list[Edit]], changes: list[Change]) -> bytes:
        if file not in self.fix_result.originals:
            self.fix_result.originals[file] = self.read(file)
        old = self.fix_result.texts.get(file, self.fix_result.originals[file])
        data = splice(old, pieces)
        check_text(old, data, expected(changes))
        return data


def _files(finding: Finding) -> set[str]:
    changes = finding.fix.changes if finding.fix else ()
    return {EditLocation.of(change.location).ref.document.file for change in changes}


def _collide(one: Edit, other: Edit) -> bool:
    if one.start == one.end == other.start == other.end:
        return True  # two insertions at one place: which comes first would be chance
    return one.start < max(other.end, other.start + 1) and other.start < max(one.end, one.start + 1)


def _key(finding: Finding) -> _Key:
    return (
        finding.rule,
        str(finding.workload),
        finding.container or "",
        f"{finding.region.file}:{finding.message}",
    )


def _kind(finding: Finding) -> _Key:
    return (finding.rule, str(finding.workload), finding.container or "", finding.region.file)


def _worse(
    before: Iterable[Finding], after: Iterable[Finding], made: list[Finding]
) -> tuple[str, str] | None:
    """What the fixes did not mend, or what as bad as that has come; and in which file."""
    was, now = Counter(map(_kind, before)), Counter(map(_kind, after))
    for kind, count in Counter(map(_kind, made)).items():
        if now[kind] > was[kind] - count:
            return kind[3], "the finding would still be there"
    least = min(f.severity.rank for f in made)
    for finding in after:
        kind = _kind(finding)
        if now[kind] > was[kind] and finding.severity.rank >= least:
            return finding.region.file, f"{finding.rule} would come instead"
    return None
