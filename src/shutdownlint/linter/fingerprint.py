"""Stable ids of findings: they do not change when lines above are inserted."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shutdownlint.engine.finding import Finding
    from shutdownlint.linter.source_lines import SourceLines


def fingerprints(findings: Iterable[Finding], lines: SourceLines) -> list[str]:
    """Return a hash of rule, workload, container and line text; counted if several share it."""
    seen: Counter[str] = Counter()
    found = []
    for finding in findings:
        line = lines.line(finding.region.file, finding.region.line) or ""
        parts = (finding.rule, str(finding.workload), str(finding.container), line.strip())
        digest = hashlib.sha256("\n".join(parts).encode(errors="surrogateescape")).hexdigest()[:16]
        key = f"{finding.region.file}:{digest}"
        seen[key] += 1
        found.append(f"{digest}:{seen[key]}")
    return found
