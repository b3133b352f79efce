"""Baseline files: fingerprints of known findings.

A fingerprint stays the same when lines move; a finding whose own line changes is a new one.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import astuple, replace

from shutdownlint.linter.fingerprint import fingerprints
from shutdownlint.linter.result import SuppressedFinding
from shutdownlint.linter.source_lines import SourceLines

if TYPE_CHECKING:
    from shutdownlint.engine.finding import Finding
    from shutdownlint.linter.result import LintResult


_IN_BASELINE: Final = "in the baseline"


class BaselineError(Exception):
    """A baseline that cannot be used."""


class BaselineEntry(Struct, frozen=True):
    """One finding of a baseline, in one variant where there are several."""

    file: str
    fingerprint: str
    rule: str
    variant: str = ""

    @property
    def digest(self) -> str:
        """The fingerprint without its count among equal ones of a file."""
        return self.fingerprint.partition(":")[0]

    @property
    def anywhere(self) -> tuple[str, str, str]:
        """The identity of a finding that stays the same in a file of another name."""
        return self.rule, self.digest, self.variant


def _entries(result: LintResult) -> list[tuple[list[BaselineEntry], Finding]]:
    hashes = fingerprints(result.findings, SourceLines(result.inputs))
    return [
        (
            [
                BaselineEntry(finding.region.file.removeprefix("./"), name, finding.rule, variant)
                for variant in finding.variants or ("",)
            ],
            finding,
        )
        for finding, name in zip(result.findings, hashes, strict=True)
    ]


def baseline_text(result: LintResult) -> tuple[str, int]:
    """All findings as a baseline, and how many there are."""
    found = _entries(result)
    entries = [
        {"rule": entry.rule, "file": entry.file, "fingerprint": entry.fingerprint}
        | ({"variant": entry.variant} if entry.variant else {})
        for own, _ in found
        for entry in own
    ]
    data = {"tool": "shutdownlint", "version": 1, "findings": entries}
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n", len(found)


def apply_baseline(result: LintResult, text: str) -> tuple[LintResult, list[BaselineEntry]]:
    """Suppress the findings that are in the baseline; the entries that no finding matches.

    Raises ``BaselineError``.
    """
    known = _parse(text)
    suppressed: list[SuppressedFinding] = []
    new: list[Finding] = []
    unmatched: list[tuple[list[BaselineEntry], Finding]] = []
    for own, finding in _entries(result):
        # It is known where each of its variants is.
        if all(known[entry] > 0 for entry in own):
            known.subtract(own)
            suppressed.append(_suppress(finding))
        else:
            unmatched.append((own, finding))
    # The same in a file of another name: it was renamed, or is named from another folder.
    elsewhere: dict[tuple[str, str, str], list[BaselineEntry]] = {}
    for entry in known.elements():
        elsewhere.setdefault(entry.anywhere, []).append(entry)
    for own, finding in unmatched:
        same = [elsewhere.get(entry.anywhere, []) for entry in own]
        if all(same):
            known.subtract(found.pop(0) for found in same)
            suppressed.append(_suppress(finding))
        else:
            new.append(finding)
            known.subtract(entry for entry in own if known[entry] > 0)
    # What is reported with another list of variants is not gone.
    there = {(entry.rule, entry.digest) for own, finding in unmatched for entry in own}
    stale = [entry for entry in known.elements() if (entry.rule, entry.digest) not in there]
    left = replace(
        result,
        findings=new,
        suppressed=[*result.suppressed, *suppressed],
        known=len(suppressed),
    )
    return left, stale


def _suppress(finding: Finding) -> SuppressedFinding:
    return SuppressedFinding(finding, _IN_BASELINE, in_source=False)


def _parse(text: str) -> Counter[BaselineEntry]:
    try:
        data: Any = json.loads(text)
        known = Counter(
            BaselineEntry(e["file"], e["fingerprint"], e["rule"], e.get("variant", ""))
            for e in data["findings"]
        )
        if not all(isinstance(part, str) for e in known for part in astuple(e)):
            raise TypeError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BaselineError("not a baseline file: write one with --write-baseline") from None
    if data.get("version") != 1:
        raise BaselineError("unsupported version of the baseline: write it again")
    return known
