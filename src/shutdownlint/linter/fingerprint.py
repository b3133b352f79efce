"""Stable ids of findings: they do not change when lines above are inserted."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING

from shutdownlint.engine.selection import ALWAYS_REPORTED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shutdownlint.engine.finding import Finding
    from shutdownlint.linter.source_lines import SourceLines


def fingerprints(findings: Iterable[Finding], lines: SourceLines) -> list[str]:
    """Return a hash of rule, workload, container and line text; counted if several share it.

    What cannot be read is known by its message, without the numbers of lines in it.
    """
    seen: Counter[str] = Counter()
    found = []
    for finding in findings:
        text = lines.line(finding.region.file, finding.region.line) or ""
        if finding.rule in ALWAYS_REPORTED:
            text = "".join(letter for letter in finding.message if not letter.isdigit())
        parts = (finding.rule, str(finding.workload), str(finding.container), text.strip())
        digest = hashlib.sha256("\n".join(parts).encode(errors="surrogateescape")).hexdigest()[:16]
        key = f"{finding.region.file}:{digest}"
        seen[key] += 1
        found.append(f"{digest}:{seen[key]}")
    return found
