"""From findings to fixed files: edits in rounds, each verified before it stays.

A file is changed only where that is verified: it parses, only the intended values differ, the
finding is gone, and nothing as severe has come instead.
"""

from __future__ import annotations

import gc
from collections import Counter
from itertools import combinations, zip_longest
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field
from msgspec.structs import replace
from yaml.nodes import ScalarNode

from shutdownlint import limits
from shutdownlint.engine.finding import EditAction
from shutdownlint.fixes.location import EditLocation
from shutdownlint.fixes.serialize import edit_value
from shutdownlint.fixes.verify import (
    VerificationError,
    check_piece,
    check_text,
    intended_changes,
)
from shutdownlint.manifests.decoding import has_placeholder
from shutdownlint.manifests.document import DocumentText
from shutdownlint.manifests.reader import decode_text
from shutdownlint.manifests.splitter import split
from shutdownlint.platforms.edit_target import ValueFormat
from shutdownlint.shutdown.durations import ORDINARY_REQUEST
from shutdownlint.wording import internal_error
from shutdownlint.yaml_source.composer import ComposeError
from shutdownlint.yaml_source.editor import Edit, EditError, apply_edits, common_prefix_length

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from shutdownlint.engine.finding import Change, Finding
    from shutdownlint.manifests.object_id import ObjectId

#: Why a file that is only read is not changed.
NOT_WRITABLE: Final = "the file is not writable in this run (context, rendering or another folder)"
#: The program runs without the garbage collector; checks that are done again and again leave much.
_CHECKS_BEFORE_COLLECTION: Final = 5
_BOM: Final = b"\xef\xbb\xbf"
_Key = tuple[str, str, str, str]
#: Where a fix goes wrong: the file, and the workload where it is one's.
_Place = tuple[str, str | None]
#: A part of a file that edits count in: the file, and where the part begins in it, in bytes.
ChunkKey = tuple[str, int]


class RefusedFix(Struct, frozen=True):
    """A fix that was not made, and why."""

    finding: Finding
    reason: str


class FixResult(Struct):
    """The outcome of fixes.

    ``texts`` are the files that change, by the names they are read by; ``originals`` what was
    read of them (and of standard input) before. ``remaining`` are the findings of the fixed files.
    """

    texts: dict[str, bytes] = field(default_factory=dict)
    originals: dict[str, bytes] = field(default_factory=dict)
    fixed: list[Finding] = field(default_factory=list)
    refused: list[RefusedFix] = field(default_factory=list)
    remaining: list[Finding] = field(default_factory=list)


def locate(change: Change) -> EditLocation:
    """Return where a change is made. Raises ``EditError`` if it has no place in a manifest."""
    return EditLocation.of(change.target.location if change.target is not None else None)


def edits_of(finding: Finding) -> dict[ChunkKey, list[Edit]]:
    """Return the edits of a finding's fix, by part of a file. Raises ``EditError``."""
    return edits_for(finding.fix.changes if finding.fix else ())


def edits_for(changes: Iterable[Change], *, rendered: bool = False) -> dict[ChunkKey, list[Edit]]:
    """Return the edits that make these changes together, by part of a file.

    Changes at one place (two settings of an annotation that does not exist yet) are made one after
    the other, and are one edit. ``rendered``: also edit what Helm has rendered. Raises
    ``EditError``.
    """
    by_chunk: dict[ChunkKey, list[tuple[Change, EditLocation]]] = {}
    for change in changes:
        location = locate(change)
        document = location.ref.document
        if document.template is not None and not rendered:
            what = document.template
            if not document.has_own_lines:  # the place in a template, in values, in a patch
                region = location.ref.region()
                what = f"{region.file}:{region.line}"
            raise EditError(f"the file is rendered from {what}: change that")
        by_chunk.setdefault((document.file, document.start), []).append((change, location))
    return {chunk: _merge_edits(each) for chunk, each in by_chunk.items()}


def verified_edits(
    changes: Sequence[Change], *, rendered: bool = False
) -> dict[ChunkKey, list[Edit]]:
    """Return the edits that make these changes, and nothing else of their documents.

    Raises ``EditError`` and ``VerificationError``.
    """
    edits = edits_for(changes, rendered=rendered)
    intended = intended_changes(changes)
    for change in changes:
        document = locate(change).ref.document
        new = apply_edits(document.text, edits[document.file, document.start])
        check_piece(document.text, new, intended)
    return edits


def _merge_edits(changes: list[tuple[Change, EditLocation]]) -> list[Edit]:
    edits = [edit_for(change, location) for change, location in changes]
    pairs = combinations(edits, 2)
    if not any(_overlap(one, other) for one, other in pairs if one != other):
        return edits
    try:
        return [_edit_in_turn(changes)]
    except ComposeError as error:
        raise EditError(f"of several changes one makes a text that is not YAML: {error}") from None


def _edit_in_turn(changes: list[tuple[Change, EditLocation]]) -> Edit:
    """Return the edit of changes at one place, each made in the text of the one before it."""
    old = text = changes[0][1].ref.document.text
    # Items of a list are removed last, so that the others are still where they were.
    ordered = sorted(changes, key=lambda each: each[0].action is EditAction.REMOVE)
    for change, location in ordered:
        now = location.ref.document.with_text(DocumentText(text))
        moved = replace(location, ref=replace(location.ref, document=now))
        text = apply_edits(text, [edit_for(change, moved)])
    start = common_prefix_length(old, text)
    end = common_prefix_length(old[start:][::-1], text[start:][::-1])
    return Edit(start, len(old) - end, text[start : len(text) - end])


def splice(old: bytes, chunks: Mapping[int, list[Edit]]) -> bytes:
    """Return a file's bytes with the edits of its parts. Raises ``EditError``."""
    if old.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise EditError("the encoding is UTF-16")
    out, at = [], 0
    for chunk in split(old):
        if chunk.start not in chunks:
            continue
        text = chunk.data.decode("utf-8-sig")
        if decode_text(chunk.data) != text:
            raise EditError("there are tabs between tokens")
        mark = _BOM if chunk.data.startswith(_BOM) else b""
        new = apply_edits(text, chunks[chunk.start])
        out += [old[at : chunk.start], mark, new.encode(errors="surrogatepass")]
        at = chunk.start + len(chunk.data)
    return b"".join([*out, old[at:]])


def edit_for(change: Change, location: EditLocation) -> Edit:
    """Return the edit that makes a change at a location. Raises ``EditError``."""
    value_format = change.target.format if change.target is not None else ValueFormat.PLAIN
    written = location.value()
    if isinstance(written, ScalarNode) and has_placeholder(written.value):
        raise EditError("the value is a placeholder, which another tool fills in")
    match change.action:
        case EditAction.REMOVE:
            return location.remove()
        case EditAction.RENAME:
            return location.rename(str(change.value))
        case EditAction.QUOTE:
            return location.quote(value_format)
        case _:
            pair = change.target.pair if change.target is not None else ""
            return edit_value(location, change.value, value_format, pair)


class FixApplier:
    """Applies what can be applied. ``check`` reads and checks the files, some with other texts.

    ``writable`` are the files that may be changed, ``only`` the workloads whose findings are fixed
    (all by default).
    """

    def __init__(
        self,
        check: Callable[[Mapping[str, bytes]], list[Finding]],
        read: Callable[[str], bytes],
        writable: Container[str],
        *,
        unsafe: bool,
        only: Container[ObjectId] | None = None,
    ) -> None:
        self.check = check
        self.read = read
        self.writable = writable
        self.unsafe = unsafe
        self.only = only
        self.result = FixResult()
        self._refused_keys: set[_Key] = set()
        self._checks = 0

    def run(self) -> FixResult:
        """Round by round, until nothing more can be fixed."""
        findings = self._check({})
        for _ in range(limits.MAX_FIX_ROUNDS):
            candidates = [finding for finding in findings if self._may_fix(finding)]
            if not candidates:
                break
            findings = self._run_round(findings, candidates)
        self.result.remaining = findings
        return self.result

    def _may_fix(self, finding: Finding) -> bool:
        fix = finding.fix
        if fix is None or not fix.changes or _key(finding) in self._refused_keys:
            return False
        if self.only is not None and (
            finding.workload is None or finding.workload not in self.only
        ):
            return False
        return fix.safe or self.unsafe

    def _refuse(self, finding: Finding, reason: str) -> None:
        self._refused_keys.add(_key(finding))
        self.result.refused.append(RefusedFix(finding, reason))

    def _run_round(self, before: list[Finding], candidates: list[Finding]) -> list[Finding]:
        """One set of edits that do not overlap; the others wait for the next round."""
        edits, changes, chosen = self._collect(candidates)
        if not chosen:
            return before
        texts = dict(self.result.texts)
        problems: dict[_Place, str] = {}
        for file in dict.fromkeys(chunk[0] for chunk in edits):
            try:
                chunks = {start: new for (name, start), new in edits.items() if name == file}
                texts[file] = self._change(file, chunks, changes[file])
            except (EditError, VerificationError) as error:
                problems[file, None] = str(error)
            except Exception as error:
                problems[file, None] = internal_error(error)
        if problems:
            return self._retry_in_parts(before, chosen, problems)
        if self._checks == limits.MAX_FIX_CHECKS:
            for finding in chosen:
                self._refuse(finding, "too many fixes were refused before it")
            return before
        after = self._check(texts)
        problems = _find_regressions(before, after, chosen)
        if problems:
            return self._retry_in_parts(before, chosen, problems)
        self.result.texts = texts
        self.result.fixed += chosen
        return after

    def _check(self, texts: Mapping[str, bytes]) -> list[Finding]:
        self._checks += 1
        if self._checks % _CHECKS_BEFORE_COLLECTION == 0:
            gc.collect()
        return self.check(texts)

    def _collect(
        self, candidates: Iterable[Finding]
    ) -> tuple[dict[ChunkKey, list[Edit]], dict[str, list[Change]], list[Finding]]:
        """Return this round's edits and changes, by part and file, and the findings they fix."""
        edits: dict[ChunkKey, list[Edit]] = {}
        changes: dict[str, list[Change]] = {}
        chosen: list[Finding] = []
        for finding in candidates:
            try:
                own = edits_of(finding)
            except EditError as error:
                self._refuse(finding, str(error))
                continue
            except Exception as error:
                self._refuse(finding, internal_error(error))
                continue
            if any(file not in self.writable for file, _ in own):
                self._refuse(finding, NOT_WRITABLE)
                continue
            if add_unless_overlapping(edits, own):
                chosen.append(finding)
                for change in finding.fix.changes if finding.fix else ():
                    changes.setdefault(locate(change).ref.document.file, []).append(change)
        return edits, changes, chosen

    def _retry_in_parts(
        self, before: list[Finding], chosen: list[Finding], problems: Mapping[_Place, str]
    ) -> list[Finding]:
        """Try fewer fixes at a time, because those at ``problems`` are not verified.

        The others are tried together, then the first fix of each of these places, then the second:
        few checks, however many fixes are bad. Where none of the fixes changes such a place, they
        are tried in two parts, and those again.
        """
        blamed = {place: _find_blamed(place, chosen) for place in problems}
        ordered = [finding for own in blamed.values() for finding in own]
        others = [finding for finding in chosen if finding not in ordered]
        if len(chosen) == 1 or (not others and all(len(own) == 1 for own in blamed.values())):
            for finding in chosen:
                place = next((place for place, own in blamed.items() if finding in own), None)
                self._refuse(finding, problems[place or next(iter(problems))])
            return before
        if not ordered:
            middle = len(chosen) // 2
            parts = [chosen[:middle], chosen[middle:]]
        else:
            waves = zip_longest(*(own for own in blamed.values() if own))
            parts = [others, *([each for each in wave if each is not None] for wave in waves)]
        findings = before
        for part in parts:
            again = self._find_again(part, findings)
            findings = self._run_round(findings, again) if again else findings
        return findings

    def _find_again(self, part: Iterable[Finding], findings: Iterable[Finding]) -> list[Finding]:
        """Return the findings that remain after others were fixed."""
        wanted = Counter(_key(finding) for finding in part)
        found = []
        for finding in findings:
            key = _key(finding)
            if wanted[key] and key not in self._refused_keys:
                wanted[key] -= 1
                found.append(finding)
        return found

    def _change(self, file: str, chunks: dict[int, list[Edit]], changes: list[Change]) -> bytes:
        if file not in self.result.originals:
            self.result.originals[file] = self.read(file)
        old = self.result.texts.get(file, self.result.originals[file])
        data = splice(old, chunks)
        check_text(old, data, intended_changes(changes))
        return data


def add_unless_overlapping(
    edits: dict[ChunkKey, list[Edit]], own: Mapping[ChunkKey, list[Edit]]
) -> bool:
    """Add edits unless one overlaps with another."""
    for chunk, new in own.items():
        others = edits.get(chunk, [])
        if any(_overlap(edit, other) for edit in new for other in others if edit != other):
            return False
    for chunk, new in own.items():
        edits.setdefault(chunk, []).extend(new)
    return True


def _find_blamed(place: _Place, chosen: Iterable[Finding]) -> list[Finding]:
    """Return the fixes that change this workload, or else any of its file."""
    file, workload = place
    here = [finding for finding in chosen if file in _files(finding)]
    return [finding for finding in here if str(finding.workload) == workload] or here


def _files(finding: Finding) -> set[str]:
    changes = finding.fix.changes if finding.fix else ()
    return {locate(change).ref.document.file for change in changes}


def _overlap(one: Edit, other: Edit) -> bool:
    if one.start == one.end == other.start == other.end:
        return True  # two insertions at one place: their order would be arbitrary
    return one.start < max(other.end, other.start + 1) and other.start < max(one.end, one.start + 1)


def _key(finding: Finding) -> _Key:
    return (
        finding.rule,
        str(finding.workload),
        finding.container or "",
        f"{finding.region.file}:{finding.message}",
    )


def _kinds(finding: Finding) -> Iterator[_Key]:
    """Yield the keys of what a finding is about, whatever it is reported together with."""
    for each in finding.each:
        yield (each.rule, str(each.workload), each.container or "", each.subject_file)


def _count_kinds(findings: Iterable[Finding]) -> Counter[_Key]:
    return Counter(kind for finding in findings for kind in _kinds(finding))


def _still_there(after: Iterable[Finding], fixed: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the findings that are not less than what was fixed (longer requests, or unsure)."""
    known = {kind: finding for finding in fixed for kind in _kinds(finding)}
    for finding in after:
        before = (known[kind] for kind in _kinds(finding) if kind in known)
        if not any(_is_less(finding, each) for each in before):
            yield finding


def _is_less(finding: Finding, before: Finding) -> bool:
    if finding.loss is None or before.loss is None:
        return False
    longer = finding.loss.longer_than > before.loss.longer_than
    return longer or finding.severity.rank < before.severity.rank


def _find_regressions(
    before: Iterable[Finding], after: Iterable[Finding], fixed: list[Finding]
) -> dict[_Place, str]:
    """Return what the fixes did not resolve, or caused and as severe: the reason, by place."""
    was, now = _count_kinds(before), _count_kinds(_still_there(after, fixed))
    found: dict[_Place, str] = {}
    for kind, count in _count_kinds(fixed).items():
        if now[kind] > was[kind] - count:
            found.setdefault((kind[3], kind[1]), "the fix does not resolve the finding")
    for finding in after:
        more = any(now[kind] > was[kind] for kind in _kinds(finding))
        place = finding.region.file, str(finding.workload)
        blamed = _find_blamed(place, fixed) or fixed
        as_severe = finding.severity.rank >= min(each.severity.rank for each in blamed)
        if more and as_severe and not _is_long_enough(finding):
            found.setdefault(place, f"the fix would cause {finding.rule}")
    return found


def _is_long_enough(finding: Finding) -> bool:
    """Whether it only says that requests are lost that are longer than ordinary ones."""
    loss = finding.loss
    return loss is not None and not loss.is_sure and loss.longer_than >= ORDINARY_REQUEST
