"""Ignore comments for findings: written at the end of their lines, where YAML takes a comment."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from shutdownlint.engine.selection import ALWAYS_REPORTED
from shutdownlint.manifests.discovery import InputFile
from shutdownlint.yaml_source.composer import ComposeError, compose

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from yaml.nodes import Node

    from shutdownlint.engine.finding import Finding
    from shutdownlint.manifests.loader import InputSource

#: An ignore comment that can have one more rule: without a last day.
_EXISTING: Final = re.compile(r"(#\s*shutdownlint:\s*ignore\[[A-Za-z0-9, -]*)\]")
_UNTIL: Final = re.compile(r"\buntil\b")
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


def add_ignores(
    findings: Iterable[Finding], sources: Sequence[InputSource], reason: str
) -> AddedIgnores:
    """Comments that ignore the findings, each with the reason. Nothing is written.

    A comment is added only where the values of the file stay the same: not in JSON, not inside a
    text of several lines.
    """
    result = AddedIgnores()
    writable = {
        source.file.display_path: source.file
        for source in sources
        if isinstance(source.file, InputFile) and source.file.path is not None
    }
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
    before = _values("".join(lines))
    wanted: dict[int, list[Finding]] = {}
    for finding in findings:
        number = finding.region.line - 1
        if number < len(lines) and not _is_open(lines[number]):
            result.refused.append((finding, _HAS_COMMENT))
        else:
            wanted.setdefault(number, []).append(finding)
    changed = _with_comments(lines, wanted, reason)
    if before is None or _values("".join(changed)) != before:
        # One of the lines takes no comment: each is tried for itself.
        for number, own in [*wanted.items()]:
            single = _with_comments(lines, {number: own}, reason)
            if before is None or _values("".join(single)) != before:
                result.refused += [(finding, _BY_ANNOTATION) for finding in own]
                del wanted[number]
        changed = _with_comments(lines, wanted, reason)
    if wanted:
        name = file.display_path
        result.originals[name], result.texts[name] = data, "".join(changed).encode()
        result.added[name] = sum(map(len, wanted.values()))


def _is_open(line: str) -> bool:
    """Whether a line has no ignore comment yet, or one that can be extended."""
    if "shutdownlint:" not in line:
        return True
    existing = _EXISTING.search(line)
    return existing is not None and not _UNTIL.search(line[existing.start() :])


def _with_comments(lines: list[str], wanted: Mapping[int, list[Finding]], reason: str) -> list[str]:
    changed = lines.copy()
    for number, findings in wanted.items():
        if number >= len(lines):
            continue
        text = lines[number].rstrip("\r\n")
        end = lines[number][len(text) :]
        rules = ", ".join(dict.fromkeys(finding.rule for finding in findings))
        existing = _EXISTING.search(text)
        if existing is not None:
            new = f"{existing[1].rstrip()}, {rules}"
            new = f"{text[: existing.start()]}{new}{text[existing.end(1) :]}"
        else:
            new = f"{text.rstrip()}  # shutdownlint: ignore[{rules}] {reason}"
        changed[number] = new + end
    return changed


def _values(text: str) -> list[Any] | None:
    """What a YAML text says; None where it is none, or JSON."""
    if text.lstrip()[:1] in ("{", "["):
        return None
    try:
        return [_shape(root) for root in compose(text)]
    except ComposeError:
        return None


def _shape(root: Node) -> list[Any]:
    """The scalars and collections of a document in their order, without where they are."""
    found: list[Any] = []
    pending: list[Any] = [root]
    seen: set[int] = set()
    while pending:
        node = pending.pop()
        if isinstance(node, tuple):
            pending += reversed(node)
        elif isinstance(node.value, list):
            found.append((node.tag, len(node.value)))
            if id(node) not in seen:  # an alias is the same node
                seen.add(id(node))
                pending += reversed(node.value)
        else:
            found.append((node.tag, node.value))
    return found
