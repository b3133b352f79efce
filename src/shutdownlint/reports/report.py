"""What every format is given, and the few things that all of them need."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from shutdownlint.engine.finding import Severity
from shutdownlint.manifests.reader import decode

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Sequence
    from datetime import timedelta

    from shutdownlint.engine.finding import Finding
    from shutdownlint.engine.rule import Rule
    from shutdownlint.engine.suppress import SuppressedFinding
    from shutdownlint.manifests.reader import ReadStats

#: Control characters (C0, DEL, C1) and those that reorder text: never sent to a screen raw.
_UNSAFE: Final = re.compile(
    r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffe\uffff]"
)


def safe(text: str) -> str:
    """Text from the input, control characters written out: it cannot act on a screen."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found.group()):04x}", text).replace("\t", "    ")


def to_seconds(duration: timedelta) -> float:
    """A duration for machine-readable reports."""
    return round(duration.total_seconds(), 3)


class Report(Struct):
    """The outcome of a check."""

    findings: Sequence[Finding]
    reading: ReadStats
    workloads: int
    rules: Sequence[Rule] = ()
    remarks: Sequence[str] = ()
    suppressed: Sequence[SuppressedFinding] = ()
    _lines: tuple[str, list[str]] = field(default=("", []))

    def count(self, severity: Severity) -> int:
        """How many findings have this severity."""
        return sum(finding.severity is severity for finding in self.findings)

    def line(self, file: str, number: int) -> str | None:
        """A line of a file, for showing; None where the file can no longer be read."""
        if self._lines[0] != file:
            self._lines = (file, self._read(file))
        lines = self._lines[1]
        return lines[number - 1] if 0 < number <= len(lines) else None

    def _read(self, file: str) -> list[str]:
        if file == "<stdin>":
            return _lines(self.reading.stdin)
        if file in self.reading.texts:
            return _lines(self.reading.texts[file])
        path = Path(file)
        try:
            # A device has no lines to show, and may have no end.
            return _lines(path.read_bytes()) if path.is_file() else []
        except OSError:
            return []

    def counted(self) -> str:
        """The summary in one sentence."""
        parts = [
            _plural(self.count(severity), severity.value)
            for severity in (Severity.ERROR, Severity.WARNING, Severity.NOTE)
            if self.count(severity)
        ]
        found = ", ".join(parts) if parts else "no findings"
        if self.suppressed:
            found += f" ({len(self.suppressed):,} ignored)"
        workloads = _plural(self.workloads, "workload")
        documents = _plural(self.reading.documents, "document")
        return f"{found}; {workloads} in {documents} of {_plural(self.reading.files, 'file')}"

    def summary(self) -> list[str]:
        """What the run went over and counted, line by line."""
        lines = [
            f"passed over: {reason} ({count:,})"
            for reason, count in sorted(self.skipped().items(), key=lambda item: -item[1])
        ]
        failed = len(self.reading.unreadable)
        more = f"; {failed} could not be read" if failed else ""
        return [*lines, f"{self.counted()}{more}"]

    def skipped(self) -> Counter[str]:
        """What was recognised and not checked, by reason."""
        return self.reading.skipped


def _lines(data: bytes) -> list[str]:
    try:
        return decode(data).splitlines()
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace").splitlines()


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
