"""Ignore comments for findings: written at the end of their lines, where YAML takes a comment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from shutdownlint.engine.selection import ALWAYS_REPORTED
from shutdownlint.fixes.verify import VerificationError, check_piece
from shutdownlint.manifests.reader import decode_text
from shutdownlint.manifests.splitter import split
from shutdownlint.manifests.suppressions import add_to_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from shutdownlint.engine.finding import Finding
    from shutdownlint.manifests.discovery import InputFile
    from shutdownlint.manifests.inputs import Inputs

_HAS_COMMENT: Final = "its line has an ignore comment that cannot be extended"
_BY_ANNOTATION: Final = (
    "no comment can be written there: use the annotation shutdownlint.dev/ignore"
)


class AddedIgnores(Struct):
    """The texts with their comments, the texts before, how many findings each file's are for, and
    the findings without a comment."""

    texts: dict[str, bytes] = field(default_factory=dict)
    originals: dict[str, bytes] = field(default_factory=dict)
    added: dict[str, int] = field(default_factory=dict)
    refused: list[tuple[Finding, str]] = field(default_factory=list)


def add_ignores(findings: Iterable[Finding], inputs: Inputs, reason: str) -> AddedIgnores:
    """Comments that ignore the findings, each with the reason. Nothing is written.

    A comment is added only where the values of the file stay the same: not in JSON, not inside a
    text of several lines.
    """
    result = AddedIgnores()
    writable = {file.display_path: file for file in inputs.files if file.path is not None}
    by_file: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.rule in ALWAYS_REPORTED:
            continue
        if finding.region.file in writable:
            by_file.setdefault(finding.region.file, []).append(finding)
        else:
            result.refused.append((finding, "it is not in a file that can be written"))
    for name, own in by_file.items():
        _add_to_file(writable[name], own, reason, result)
    return result


def _add_to_file(
    file: InputFile, findings: list[Finding], reason: str, result: AddedIgnores
) -> None:
    assert file.path is not None
    data = file.path.read_bytes()
    try:
        lines = data.decode("utf-8").splitlines(keepends=True)
    except UnicodeDecodeError:
        result.refused += [(finding, "the file is not UTF-8") for finding in findings]
        return
    wanted: dict[int, list[Finding]] = {}
    for finding in findings:
        wanted.setdefault(finding.region.line - 1, []).append(finding)
    changed = {
        number: line
        for number, own in wanted.items()
        if number < len(lines) and (line := _with_comment(lines[number], own, reason)) is not None
    }
    result.refused += [
        (finding, _HAS_COMMENT)
        for number, own in wanted.items()
        if number not in changed
        for finding in own
    ]
    if not _keeps_values(data, lines, changed):
        # One of the lines takes no comment: each is tried for itself.
        for number, line in [*changed.items()]:
            if not _keeps_values(data, lines, {number: line}):
                result.refused += [(finding, _BY_ANNOTATION) for finding in wanted[number]]
                del changed[number]
    if changed:
        name = file.display_path
        result.originals[name], result.texts[name] = data, _join(lines, changed)
        result.added[name] = sum(len(wanted[number]) for number in changed)


def _with_comment(line: str, findings: Sequence[Finding], reason: str) -> str | None:
    text = line.rstrip("\r\n")
    rules = list(dict.fromkeys(finding.rule for finding in findings))
    changed = add_to_line(text, rules, reason)
    return None if changed is None else changed + line[len(text) :]


def _join(lines: Sequence[str], changed: Mapping[int, str]) -> bytes:
    return "".join(changed.get(number, line) for number, line in enumerate(lines)).encode(
        errors="surrogatepass"
    )


def _keeps_values(data: bytes, lines: Sequence[str], changed: Mapping[int, str]) -> bool:
    """Whether a file has the same values with these lines. JSON has no comments."""
    if data.lstrip()[:1] in (b"{", b"["):
        return False
    before, after = list(split(data)), list(split(_join(lines, changed)))
    try:
        for old, new in zip(before, after, strict=True):
            check_piece(decode_text(old.data), decode_text(new.data), ())
    except (VerificationError, ValueError):
        return False
    return True
