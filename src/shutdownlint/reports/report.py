"""The input of every format of a check, and the few helpers that all formats need."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from shutdownlint.engine.finding import Severity
from shutdownlint.linter.owners import Owners
from shutdownlint.linter.source_lines import SourceLines
from shutdownlint.manifests.skips import (
    EMPTY,
    EXCLUDED,
    FRAGMENT,
    KUSTOMIZE_PATCH,
    NOT_KUBERNETES,
    PATCH_BY_NAME,
    POD_PART,
)
from shutdownlint.patterns import lazy_pattern
from shutdownlint.wording import plural

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Sequence
    from datetime import timedelta
    from types import ModuleType

    from shutdownlint.engine.finding import Finding
    from shutdownlint.fixes.replacements import Replacement
    from shutdownlint.linter.compare import Comparison
    from shutdownlint.linter.owner_lookup import OwnerLookup
    from shutdownlint.linter.result import LintResult
    from shutdownlint.linter.verdicts import WorkloadVerdict
    from shutdownlint.manifests.object_id import ObjectId
    from shutdownlint.manifests.reader import ReadStats

#: Characters that are not seen, or that reorder text: soft hyphens, joiners and other zero-width
#: characters, marks and overrides of direction, separators, surrogates, tags, no characters.
_HIDDEN: Final = (
    r"\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff"
    r"\ud800-\udfff\U000e0000-\U000e0fff"
)
#: The begin of what a CI system reads as a command anywhere in a line (actions/runner,
#: ActionCommand.TryParse: ``##[``; Azure Pipelines, logging commands: ``##vso[``).
_COMMAND: Final = r"#(?=#(?:\[|vso\[))"
#: Those and control characters (C0, DEL, C1) are never sent to a screen raw.
_UNSAFE: Final = lazy_pattern(rf"[\x00-\x08\x0a-\x1f\x7f-\x9f{_HIDDEN}]|{_COMMAND}")
#: The same without the line breaks between JSON's own tokens.
_UNSAFE_IN_JSON: Final = lazy_pattern(rf"[\x00-\x09\x0b-\x1f\x7f-\x9f{_HIDDEN}]|{_COMMAND}")

#: Of the notes that are not shown, so many rules are named.
_MOST_RULES: Final = 5
#: Of reasons that differ by the place only, so many are named.
_MOST_OF_A_KIND: Final = 5


def full_message(finding: Finding) -> str:
    """Return the message with the versions that the finding holds for, for formats of one line."""
    holds = f" (holds for {finding.holds_for})" if finding.holds_for else ""
    return f"{finding.message}{holds}"


def safe(text: str) -> str:
    """Text from the input with what acts on a terminal, or is not seen there, escaped."""
    return _UNSAFE.sub(_escape, text).replace("\t", "    ")


def safe_page(text: str) -> str:
    """Return a page of several lines, each of them safe."""
    return "\n".join(safe(line) for line in text.split("\n"))


def _escape(found: re.Match[str]) -> str:
    number = ord(found.group())
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def _escape_in_json(found: re.Match[str]) -> str:
    import json  # noqa: PLC0415 - text needs none

    character = found.group()
    return "\\u0023" if character == "#" else json.dumps(character)[1:-1]


def workload_data(workload: ObjectId) -> dict[str, Any]:
    """Return how reports as JSON name a workload."""
    return {"kind": workload.kind, "namespace": workload.namespace, "name": workload.name}


def to_json_documents(objects: Iterable[Any]) -> str:
    """Return objects as a stream of YAML documents, each written as JSON."""
    return "".join(f"---\n{to_json(each)}" for each in objects)


def to_json(data: Any) -> str:
    """Return data as JSON text. Characters that could act on a terminal are escaped."""
    import json  # noqa: PLC0415 - text needs none

    text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
    return _UNSAFE_IN_JSON.sub(_escape_in_json, text) + "\n"


def to_seconds(duration: timedelta) -> float:
    """Return a duration for machine-readable reports."""
    return round(duration.total_seconds(), 3)


class Report(Struct, dict=True):
    """The outcome of a check, for every format."""

    result: LintResult
    owners: Owners = Owners()
    #: Only findings are shown: no counts, nothing about the run.
    quiet: bool = False
    #: Everything that was not checked, and everything that is assumed, is named.
    verbose: bool = False
    #: The ref and the comparison of a run that reports only what a change made worse.
    since: tuple[str, Comparison] | None = None
    #: Files that were left out for their suffix, and that write a workload's kind.
    templates: list[str] = field(default_factory=list)
    #: The fixes of findings as text, by the number of the finding object.
    _replacements: dict[int, list[Replacement]] = field(default_factory=dict)

    @cached_property
    def _owner_lookup(self) -> OwnerLookup:
        from shutdownlint.linter.owner_lookup import OwnerLookup  # noqa: PLC0415 - not for text

        return OwnerLookup(self.owners, self.result.entries)

    def owner_of(self, finding: Finding) -> str:
        """Return the team that owns a finding; empty where nothing names one."""
        return self._owner_lookup.owner_of(finding)

    @cached_property
    def _verdicts(self) -> dict[tuple[str, ObjectId], WorkloadVerdict]:
        return {verdict.key: verdict for verdict in self.result.verdicts}

    def verdict_of(self, finding: Finding) -> WorkloadVerdict | None:
        """Return the verdict on the workload of a finding; None where it has none."""
        if finding.workload is None:
            return None
        return self._verdicts.get((finding.subject_file, finding.workload))

    def replacements(self, finding: Finding) -> list[Replacement]:
        """Return a finding's fix as text edits, verified once for all formats; empty if none."""
        found = self._replacements.get(id(finding))
        if found is None:
            from shutdownlint.fixes.replacements import list_replacements  # noqa: PLC0415 - not for text

            found = self._replacements[id(finding)] = list_replacements(finding)
        return found

    def description(self, reporter: str, file: str, workload: ObjectId | None) -> Any:
        """Return what a format asked of a pod (``Reporter.describe``); None if it is not a pod."""
        if workload is None:
            return None
        return self.result.descriptions.get((file, workload), {}).get(reporter)

    @property
    def findings(self) -> Sequence[Finding]:
        """The findings that are reported, one for each workload."""
        return self.result.findings

    @property
    def stats(self) -> ReadStats:
        """The counts of the reading."""
        return self.result.stats

    @cached_property
    def lines(self) -> SourceLines:
        """The lines of the files."""
        return SourceLines(self.result.inputs)

    @cached_property
    def renderings(self) -> set[str]:
        """The names of the files that a program has rendered."""
        return self.result.inputs.renderings

    def count(self, severity: Severity) -> int:
        """Count the findings of this severity; one that decides for several counts once."""
        return sum(finding.severity is severity for finding in self.placed)

    @cached_property
    def placed(self) -> list[Finding]:
        """The findings, one for each place that decides."""
        from shutdownlint.linter.grouping import group_by_place  # noqa: PLC0415 - seldom needed

        return group_by_place(self.findings)

    def format_counts(self) -> str:
        """Return the summary in one sentence."""
        parts = [
            plural(self.count(severity), severity.value)
            for severity in (Severity.ERROR, Severity.WARNING, Severity.NOTE)
            if self.count(severity)
        ]
        found = ", ".join(parts) if parts else self._no_findings()
        if self.result.known:
            found += f"; {self.result.known:,} known"
        suppressed = len(self.result.suppressed) - self.result.known
        if suppressed:
            found += f" ({suppressed:,} suppressed)"
        workloads = plural(self.result.workloads, "workload")
        documents = plural(self.stats.documents, "document")
        return f"{found}; {workloads} in {documents} of {plural(self.stats.files, 'file')}"

    def summary(self) -> list[str]:
        """Return the losses, their assumptions, what is not shown, and the counts, line by line."""
        return [*self.footnotes(), self.last_line()]

    def last_line(self) -> str:
        """Return the counts, or why nothing was checked."""
        if self.nothing_checked is not None:
            return self.nothing_checked
        failed = len(self.stats.unreadable)
        return f"{self.format_counts()}{f'; {failed} could not be read' if failed else ''}"

    def skipped_lines(self) -> list[str]:
        """Return lines on what was recognized and not checked, the most frequent reason first."""
        skipped = sorted(self.stats.skipped.items(), key=lambda item: -item[1])
        lines: list[str] = []
        shown: Counter[str] = Counter()
        more: Counter[str] = Counter()
        for reason, count in skipped:
            shown[reason.code] += 1
            if shown[reason.code] > _MOST_OF_A_KIND:
                more[reason.code] += count
                continue
            advice = f": {reason.advice}" if reason.advice else ""
            lines.append(f"skipped: {reason.text} ({count:,}){advice}")
        for code, count in more.items():
            others = shown[code] - _MOST_OF_A_KIND
            lines.append(f"skipped: {code} of {plural(others, 'more place')} ({count:,})")
        return lines

    def is_fixable(self, finding: Finding) -> bool:
        """Whether a fix can be written: a rendering is not a file."""
        if finding.fix is None or not finding.fix.changes or finding.template:
            return False
        return finding.region.file not in self.renderings

    def fixable_line(self) -> str | None:
        """Return a line on how many findings can be fixed with which option."""
        fixes = [f.fix for f in self.placed if f.fix is not None and self.is_fixable(f)]
        safe = sum(fix.safe for fix in fixes)
        counts = ((safe, "--fix"), (len(fixes) - safe, "--unsafe-fixes"))
        parts = [f"{count:,} with {option}" for count, option in counts if count]
        return f"fixable: {', '.join(parts)}" if parts else None

    def notes_line(self) -> str | None:
        """Return the notes that are not shown, counted by rule."""
        hidden = self.result.hidden
        if not hidden:
            return None
        names = {rule.id: rule.name for rule in self.result.rules}
        ordered = sorted(hidden.items(), key=lambda item: (-item[1], item[0]))
        first = ", ".join(f"{names.get(rule, rule)} {n:,}" for rule, n in ordered[:_MOST_RULES])
        more = len(ordered) - _MOST_RULES
        rest = f" and {plural(more, 'more rule')}" if more > 0 else ""
        return f"{plural(sum(hidden.values()), 'note')} ({first}{rest}): --notes"

    def left_out_line(self) -> str | None:
        """Return a line on what is not shown because somebody wants it so."""
        result, parts = self.result, []
        if result.unsure:
            findings = plural(result.unsure, "finding")
            parts.append(f"{findings} of lower confidence (--min-confidence low)")
        if result.ignored:
            parts.append(f"{plural(result.ignored, 'finding')} that the configuration ignores")
        if result.left_out:
            parts.append(f"the findings of {plural(result.left_out, 'rule')} (select, ignore)")
        return f"not shown: {', '.join(parts)}" if parts else None

    def footnotes(self) -> list[str]:
        """Return what a reader of the findings must know: the losses, and what they depend on."""
        lines = (
            *self._about_verdicts(),
            self.unchecked_line(),
            self.notes_line(),
            self.left_out_line(),
            self.fixable_line(),
        )
        everything = self.verbose or self.nothing_checked is not None
        skipped = self.skipped_lines() if everything else ()
        return [*(line for line in lines if line), *skipped]

    @cached_property
    def _summary(self) -> ModuleType:
        """The texts about losses; their module is imported only for files with workloads."""
        from shutdownlint.reports import run_summary  # noqa: PLC0415 - see above

        return run_summary

    def _about_verdicts(self) -> list[str]:
        """Return what a change makes worse, the losses of stops, and what they depend on."""
        verdicts, texts = self.result.verdicts, []
        if self.since is not None:
            texts += self._summary.describe_change(*self.since)
        if not verdicts:
            return texts
        lines = (
            self._summary.describe_losses(verdicts),
            self._summary.describe_assumptions(verdicts),
            self._summary.describe_webhooks(verdicts),
        )
        texts += [line for line in lines if line]
        return texts + ([*self._summary.list_open_questions(verdicts)] if self.verbose else [])

    def unchecked_line(self) -> str | None:
        """Return a line on what was not checked and may hold reportable problems."""
        found: Counter[tuple[str, tuple[str, str]]] = Counter()
        for reason, count in self.stats.skipped.items():
            if reason.thing[0] and count:
                found[reason.option, reason.thing] += 1 if reason.is_one else count
        by_option: dict[str, list[str]] = {}
        for (option, (one, several)), count in found.items():
            by_option.setdefault(option, []).append(plural(count, one, several))
        parts = [
            f"{', '.join(things)}{f' ({option})' if option else ''}"
            for option, things in sorted(by_option.items(), reverse=True)
        ]
        return f"not checked: {', '.join(parts)}" if parts else None

    @property
    def nothing_checked(self) -> str | None:
        """Why nothing was checked; None where something was."""
        if self.result.workloads or not self.result.complete:
            return None
        if self.stats.unreadable and not self.result.objects:
            return f"nothing could be checked: {len(self.stats.unreadable)} could not be read"
        pods = [reason for reason in self.stats.skipped if reason.holds_pods]
        if pods and not self.result.objects:
            reasons = ", ".join(f"{r.text} ({self.stats.skipped[r]:,})" for r in pods)
            parts = all(reason is POD_PART for reason in pods)
            how = f"Check one alone with {POD_PART.option}" if parts else "Render them"
            return f"nothing could be checked: {reasons}. {how}, or leave them out (--exclude)"
        if self.is_empty:
            templates = ", ".join(map(safe, self.templates))
            named = f"; left out for their suffix: {templates}" if templates else ""
            return f"no Kubernetes manifests found{named}"
        elsewhere = any(r.thing[0] and r is not EXCLUDED for r in self.stats.skipped)
        unchecked = self.unchecked_line() if elsewhere else None
        return f"nothing was checked: {unchecked.partition(': ')[2]}" if unchecked else None

    @property
    def is_empty(self) -> bool:
        """Whether there was no Kubernetes object at all."""
        others = (NOT_KUBERNETES, EMPTY)
        kubernetes = self.stats.documents - sum(self.stats.skipped[reason] for reason in others)
        patches = sum(self.stats.skipped[r] for r in (KUSTOMIZE_PATCH, PATCH_BY_NAME, FRAGMENT))
        return not self.result.workloads and not self.result.objects and kubernetes <= patches

    def _no_findings(self) -> str:
        if not self.result.workloads:
            return "no workloads to check"
        worse = len(self.since[1].worse) if self.since is not None else 0
        if worse:
            return f"{plural(worse, 'workload')} that {'loses' if worse == 1 else 'lose'} more"
        if self.result.known or self.since is not None:
            return "no new findings"
        nothing = self._summary.loses_nothing(self.result.verdicts)
        return "no findings" if nothing else "no errors, no warnings"
