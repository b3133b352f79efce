"""``check``: lint manifests, fix them, show what would be fixed."""

# No postponed annotations here: the command line would compile each of them at every start.
import sys
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

from msgspec.structs import replace

from shutdownlint import files, limits
from shutdownlint.cli.declarations import Option, OptionGroup
from shutdownlint.cli.options import (
    FILES,
    FIXES,
    OUTPUT,
    RULES,
    EnvironmentOptions,
    FileOptions,
    Paths,
    ScreenOptions,
    choice,
)
from shutdownlint.cli.output import (
    CLEAN,
    FINDINGS,
    INCOMPLETE,
    check_outputs,
    read_small_file,
    usage_error,
    warn,
    write_output,
)
from shutdownlint.cli.session import Session, rule_errors, split_commas
from shutdownlint.engine.finding import Severity
from shutdownlint.engine.selection import CONFIDENCES
from shutdownlint.linter.linter import check
from shutdownlint.manifests.discovery import STDIN, STDIN_NAME, find_templates
from shutdownlint.manifests.skips import ELSEWHERE
from shutdownlint.reports.registry import (
    CHECK_REPORTERS,
    Reporter,
    find_reporter,
    pod_description,
)
from shutdownlint.wording import did_you_mean, internal_error, plural

if TYPE_CHECKING:
    from shutdownlint.fixes.apply import FixResult
    from shutdownlint.linter.compare import Comparison
    from shutdownlint.linter.result import LintResult
    from shutdownlint.manifests.inputs import Inputs
    from shutdownlint.reports.report import Report

_NEVER = "never"
_TEXT = "text"
_GITHUB = "github"
_STATISTICS = "statistics"
if TYPE_CHECKING:
    from enum import StrEnum as FailOn
    from enum import StrEnum as MinConfidence
else:
    FailOn = choice("FailOn", [*Severity, _NEVER])
    MinConfidence = choice("MinConfidence", CONFIDENCES[::-1])
_FORMATS = ", ".join(reporter.name for reporter in CHECK_REPORTERS)


class ReportOptions(OptionGroup):
    """The reports to write."""

    format: Annotated[
        list[str] | None,
        Option(
            panel=OUTPUT,
            metavar="NAME[=FILE]",
            help=f"Output format: {_FORMATS}. With =FILE it is written there; repeat for several "
            "reports.  \\[default: text]",
        ),
    ] = None
    output: Annotated[
        list[str] | None,
        Option(
            names=(
                "--output",
                "-o",
            ),
            panel=OUTPUT,
            metavar="FILE",
            help="Write the report to a file: the first --output is for the first --format, and so "
            "on. The text report goes to the terminal as well.",
        ),
    ] = None
    quiet: Annotated[
        bool,
        Option(
            names=(
                "--quiet",
                "-q",
            ),
            panel=OUTPUT,
            help="Print findings only: no counts, nothing about the run.",
        ),
    ] = False
    verbose: Annotated[
        bool,
        Option(
            names=(
                "--verbose",
                "-v",
            ),
            panel=OUTPUT,
            help="Also list everything that was skipped, and what the verdicts assume.",
        ),
    ] = False
    statistics: Annotated[
        bool,
        Option(
            panel=OUTPUT,
            help="Count findings by rule instead of showing them; short for --format statistics.",
        ),
    ] = False


class RuleOptions(OptionGroup):
    """The rules to evaluate, and the conditions under which the run fails."""

    select: Annotated[
        list[str] | None,
        Option(
            panel=RULES,
            metavar="RULE",
            help="Only these rules: ids, prefixes or names (SL201, SL1, grace-too-short).",
        ),
    ] = None
    ignore: Annotated[
        list[str] | None,
        Option(panel=RULES, metavar="RULE", help="Skip these rules."),
    ] = None
    fail_on: Annotated[
        FailOn | None,
        Option(
            panel=RULES,
            help="Minimum severity that makes the exit code 1.  \\[default: warning]",
        ),
    ] = None
    min_confidence: Annotated[
        MinConfidence | None,
        Option(
            panel=RULES,
            help="Count findings of a lower confidence, and do not report them.  \\[default: low]",
        ),
    ] = None
    notes: Annotated[
        bool,
        Option(panel=RULES, help="Report notes (advice) as well."),
    ] = False
    allow_empty: Annotated[
        bool,
        Option(
            panel=RULES,
            help="Exit with 0 where there are no manifests; without it that is exit code 2.",
        ),
    ] = False


class FixOptions(OptionGroup):
    """Whether to fix files, and the findings that are already known."""

    since: Annotated[
        str | None,
        Option(
            panel=FIXES,
            metavar="REF",
            help="Report only what the files make worse compared with a commit of their git "
            "repository: findings that are new, and losses that grew.",
        ),
    ] = None

    fix: Annotated[
        bool,
        Option(
            panel=FIXES,
            help="Apply safe fixes to the files, then report what remains.",
        ),
    ] = False
    unsafe_fixes: Annotated[
        bool,
        Option(
            panel=FIXES,
            help="Also apply fixes that change the pod's behaviour (a sleep, mesh settings); "
            "implies --fix.",
        ),
    ] = False
    diff: Annotated[
        bool,
        Option(
            panel=FIXES,
            help="Show what --fix would change, and write nothing; exit with 1 if there are "
            "changes.",
        ),
    ] = False
    add_ignore: Annotated[
        str | None,
        Option(
            panel=FIXES,
            metavar="REASON",
            help="Write an ignore comment with this reason at each reported line; --select narrows "
            "it down.",
        ),
    ] = None
    baseline: Annotated[
        str | None,
        Option(
            panel=RULES,
            metavar="FILE",
            help="Report only findings that are not in this baseline file.",
        ),
    ] = None
    write_baseline: Annotated[
        str | None,
        Option(
            panel=RULES,
            metavar="FILE",
            help="Write all findings to a baseline file, and exit with 0.",
        ),
    ] = None


def command(
    *,
    paths: Paths = None,
    files: FileOptions,
    # Asked for before this is imported: cli/run_cache.py looks for the word.
    no_cache: Annotated[
        bool,
        Option(
            panel=FILES,
            help="Check everything again, also where nothing has changed since an earlier run.",
        ),
    ] = False,
    environment: EnvironmentOptions,
    rules: RuleOptions,
    fixes: FixOptions,
    report: ReportOptions,
    screen: ScreenOptions,
) -> None:
    """Check manifests for settings that lose requests when pods shut down.

    Every .yaml, .yml and .json file below the paths is read, and all files are analysed together:
    Namespaces, Services and mesh configuration are used from any file. Unrendered templates are
    skipped.

    A finding is an error (certain), a warning (loss under ordinary traffic, or a setting that does
    not do what its author thinks) or a note (advice). 'shutdownlint rule SL102' explains a rule.
    A comment '# shutdownlint: ignore[SL102] reason' at the end of the reported line hides the
    finding.

    Examples:

      shutdownlint check k8s/

      helm template my-chart | shutdownlint check --p99 10s -

      shutdownlint check --format sarif --output shutdown.sarif .

      shutdownlint check --write-baseline known.json . && shutdownlint check --baseline known.json .

      shutdownlint check --diff k8s/
    """
    session = Session.of(files, environment)
    _CheckCommand(paths or ["."], report, rules, fixes, screen, session).run()


class _CheckCommand:
    def __init__(
        self,
        paths: list[str],
        report: ReportOptions,
        rules: RuleOptions,
        fixes: FixOptions,
        screen: ScreenOptions,
        session: Session,
    ) -> None:
        self.paths = paths
        self.fixes = fixes
        self.quiet, self.verbose = report.quiet, report.verbose
        self.color = screen.color.value
        formats = report.format or ([_STATISTICS] if report.statistics else [])
        if report.statistics and report.format:
            raise usage_error("--statistics is a format of its own: use --format statistics=FILE")
        self.reports = _plan_reports(formats, report.output)
        config = session.config
        self.fail_on: str = rules.fail_on.value if rules.fail_on else config.fail_on
        chosen = config.selection
        confidence = rules.min_confidence.value if rules.min_confidence else chosen.min_confidence
        selection = replace(
            chosen,
            select=(*chosen.select, *split_commas(rules.select)),
            ignore=(*chosen.ignore, *split_commas(rules.ignore)),
            # A note that makes the run fail must be visible.
            notes=chosen.notes or rules.notes or self.fail_on == Severity.NOTE,
            min_confidence=confidence,
        )
        self.session = session.with_config(replace(config, selection=selection))
        self.allow_empty = rules.allow_empty
        #: The text of the baseline.
        self.known = ""
        self.comparison: Comparison | None = None
        #: Whether a report could not be made.
        self._failed = False

    def run(self) -> NoReturn:
        """Check, fix, report; the exit code says how it went."""
        from shutdownlint.reports.report import Report  # noqa: PLC0415 - not for usage errors

        unsafe = self.fixes.unsafe_fixes
        if self.fixes.fix or unsafe or self.fixes.add_ignore is not None:
            files.disable_caching("it changes what it reads")
        self._check_files()
        self._check_usage()
        with rule_errors():
            if self.fixes.diff:
                self._show_diff(unsafe=unsafe)
            if self.fixes.fix or unsafe:
                result = self._fix(unsafe=unsafe)
                if self.paths == ["-"]:
                    raise SystemExit(self._exit_code(Report(result)))
            elif self.fixes.since is None:
                result = self._check()
            else:
                self.comparison = self._compare(self.fixes.since)
                result = self.comparison.result
        if self.fixes.write_baseline is not None:
            _write_baseline(result, self.fixes.write_baseline)
            raise SystemExit(CLEAN)
        if self.fixes.baseline is not None:
            result = self._apply_baseline(result, self.fixes.baseline)
        if self.fixes.add_ignore is not None:
            done = self._add_ignores(result, self.fixes.add_ignore)
            raise SystemExit(CLEAN if result.complete and done else INCOMPLETE)
        owners = self.session.config.owners
        report = Report(result, owners, quiet=self.quiet, verbose=self.verbose)
        if self.fixes.since is not None and self.comparison is not None:
            report.since = self.fixes.since, self.comparison
        if report.is_empty:
            folders = [path for path in self.paths if path != STDIN]
            found = find_templates(folders, self.session.search)
            report.templates = [*islice(found, limits.MAX_NAMED_TEMPLATES)]
        self.session.warn_unmatched(self.paths, result.entries)
        self._write_reports(report)
        raise SystemExit(self._exit_code(report))

    def _check_usage(self) -> None:
        """Refuse options that do nothing together."""
        fixes = self.fixes
        writes = fixes.diff or fixes.fix or fixes.unsafe_fixes or fixes.write_baseline is not None
        if fixes.add_ignore is not None:
            if not _is_one_line(fixes.add_ignore):
                raise usage_error("--add-ignore needs a reason, in one line")
            if writes:
                raise usage_error("--add-ignore goes with no other option that writes")
        if fixes.since is not None:
            if writes or fixes.add_ignore is not None:
                raise usage_error("--since goes with no option that writes")
            if self.session.config.render.enabled or STDIN in self.paths:
                raise usage_error("--since goes neither with --render nor with standard input")
        if self.quiet and self.verbose:
            raise usage_error("--quiet and --verbose exclude each other")
        if self.session.stdin_name != STDIN_NAME and STDIN not in self.paths:
            raise usage_error("--stdin-filename names standard input: add - to the paths")

    def _check_files(self) -> None:
        """Check the files of the command line before anything is written."""
        outputs = [output for _, output in self.reports]
        if self.fixes.write_baseline is not None:
            outputs.append(self.fixes.write_baseline)
        check_outputs(outputs)
        if self.fixes.baseline is not None:
            self.known = read_small_file(self.fixes.baseline)

    def _add_ignores(self, result: "LintResult", reason: str) -> bool:
        """Write an ignore comment at the line of each reported finding; whether all could be."""
        from shutdownlint.fixes.add_ignores import add_ignores  # noqa: PLC0415 - seldom used

        added = add_ignores(result.findings, result.inputs, reason)
        for finding, why in added.refused:
            warn(f"{finding.region}: {finding.rule} not ignored: {why}")
        written, complete = _write_texts(result.inputs, added.originals, added.texts)
        count = sum(number for name, number in added.added.items() if name in written)
        findings, files = plural(count, "finding"), plural(len(written), "file")
        warn(f"ignored {findings} in {files}")
        return complete and not added.refused

    def _is_incomplete(self, report: "Report") -> bool:
        """Whether a part of the job was not done: unreadable input, or nothing to check."""
        if not report.result.complete or self.session.config.refusals or self._failed:
            return True
        if report.nothing_checked is None:
            return False
        # Pods that are here, and could be rendered, are no empty run.
        here = bool(report.templates)
        here |= any(r.holds_pods and r.code != ELSEWHERE for r in report.stats.skipped)
        return here or not self.allow_empty

    def _check(self) -> "LintResult":
        describe = pod_description(reporter for reporter, _ in self.reports)
        with self.session.progress(self.paths) as (inputs, options):
            return check(inputs, replace(options, describe=describe))

    def _compare(self, ref: str) -> "Comparison":
        """Check the files, and those of a commit; what is new is left."""
        from shutdownlint.cli.since import compare_with_commit  # noqa: PLC0415 - seldom used

        describe = pod_description(reporter for reporter, _ in self.reports)
        return compare_with_commit(self.session, self.paths, ref, describe)

    def _write_reports(self, report: "Report") -> None:
        for text in () if self.quiet else report.result.warnings:
            warn(text)
        shown = any(reporter.name in (_TEXT, _STATISTICS) for reporter, _ in self.reports)
        if not shown or self.quiet:  # the text report ends with the same lines
            for line in () if self.quiet else report.footnotes():
                warn(line)
            if report.nothing_checked is not None:
                warn(report.nothing_checked)
        for reporter, output in self.reports:
            self._write_report(report, reporter, output)

    def _write_report(self, report: "Report", reporter: Reporter, file: str | None) -> None:
        """Write a report; where it fails, the others are still written."""
        from shutdownlint.reports.output import ReportOutput  # noqa: PLC0415 - not for usage errors

        try:
            text = reporter.render(report, ReportOutput(file, self.color))
        except (OSError, MemoryError):
            raise
        except Exception as error:
            if self.session.options().debug:
                raise
            self._failed = True
            warn(f"the {reporter.name} report cannot be made: {internal_error(error)}")
        else:
            write_output(text, file, commands=reporter.name == _GITHUB)

    def _exit_code(self, report: "Report") -> int:
        if self._is_incomplete(report):
            return INCOMPLETE
        if self.fail_on == _NEVER:
            return CLEAN
        rank = Severity(self.fail_on).rank
        failed = any(finding.severity.rank >= rank for finding in report.findings)
        # A loss that grew has its finding already: it counts as a warning.
        worse = self.comparison.worse if self.comparison is not None else ()
        grown = any(each.is_sure for each in worse)
        failed |= grown and Severity.WARNING.rank >= rank
        return FINDINGS if failed else CLEAN

    def _apply_baseline(self, result: "LintResult", file: str) -> "LintResult":
        """Suppress the baseline's findings, and warn about those that are not reported any more."""
        from shutdownlint.linter.baseline import BaselineError, apply_baseline  # noqa: PLC0415 - rare

        try:
            left, stale = apply_baseline(result, self.known)
        except BaselineError as error:
            raise usage_error(f"{file}: {error}") from None
        evaluated = {rule.id for rule in result.rules}
        # About what this run did not look at nothing is known. Each variant has an entry.
        gone = {
            (entry.file, entry.rule, entry.digest): None
            for entry in stale
            if entry.rule in evaluated and any(_is_inside(entry.file, p) for p in self.paths)
        }
        for name, rule, _ in gone:
            text = f"{rule} of the baseline is no longer reported; update the baseline"
            warn(f"{name}: {text}")
        return left

    def _run_fixes(self, *, unsafe: bool) -> "tuple[LintResult, FixResult]":
        from shutdownlint.fixes.fixer import fix_files  # noqa: PLC0415 - seldom used

        inputs = self.session.read(self.paths)
        result, fix_result = fix_files(inputs, self.session.options(), unsafe=unsafe)
        for refused in fix_result.refused:
            finding = refused.finding
            warn(f"{finding.region}: {finding.rule} not fixed: {refused.reason}")
        return result, fix_result

    def _show_diff(self, *, unsafe: bool) -> NoReturn:
        from shutdownlint.reports.diff import (  # noqa: PLC0415 - seldom used
            UnsafeDiffError,
            unified_diff,
        )

        result, fixed = self._run_fixes(unsafe=unsafe)
        complete = result.complete
        for name in sorted(fixed.texts):
            try:
                write_output(unified_diff(name, fixed.originals[name], fixed.texts[name]), None)
            except UnsafeDiffError as error:
                warn(str(error))
                complete = False
        changed = FINDINGS if fixed.texts else CLEAN
        raise SystemExit(changed if complete else INCOMPLETE)

    def _fix(self, *, unsafe: bool) -> "LintResult":
        """Fix, write, and give what remains. Text from standard input goes to standard output."""
        result, fixed = self._run_fixes(unsafe=unsafe)
        if not _write_fixed(result.inputs, fixed):
            result = replace(result, written=False)
        if self.paths == ["-"]:  # the report goes to stderr then
            from shutdownlint.reports.report import full_message  # noqa: PLC0415 - seldom used

            name = self.session.stdin_name
            text = fixed.texts.get(name, fixed.originals.get(name, b""))
            sys.stdout.buffer.write(text)
            for finding in result.findings:
                level = finding.severity.value
                warn(f"{finding.region}: {level} {finding.rule} {full_message(finding)}")
        return result


def _plan_reports(
    formats: list[str], outputs: list[str] | None
) -> list[tuple[Reporter, str | None]]:
    """Return each report with its destination; at most one goes to standard output."""
    formats, outputs = formats or [_TEXT], list(outputs or [])
    written = [text.partition("=") for text in formats]
    if any(equals for _, equals, _ in written):
        if outputs:
            raise usage_error("--output goes with --format NAME, not with --format NAME=FILE")
        if not all(equals for _, equals, _ in written[:-1]):
            written.sort(key=lambda part: not part[1])
        outputs = [file for _, equals, file in written if equals]
    formats = [name for name, _, _ in written]
    known = [reporter.name for reporter in CHECK_REPORTERS]
    for name in formats:
        if name not in known:
            hint = did_you_mean(name, known)
            raise usage_error(f"--format {name}: no such format{hint} ({', '.join(known)})")
    if len(outputs) > len(formats):
        raise usage_error(f"--output {outputs[len(formats)]} has no --format")
    unnamed = formats[len(outputs) :]
    if len(unnamed) > 1:
        raise usage_error(f"--format {unnamed[1]} needs its own --output")
    # "-" is standard output.
    to_stdout = [output in ("-", "/dev/stdout") for output in outputs]
    if sum(to_stdout) + len(unnamed) > 1:
        raise usage_error("only one report can go to standard output")
    if not unnamed and _TEXT not in formats and not any(to_stdout):
        unnamed = [_TEXT]
    planned: list[tuple[str, str | None]] = [*zip(formats, outputs, strict=False)]
    planned += [(name, None) for name in unnamed]
    return [(find_reporter(CHECK_REPORTERS, name), output) for name, output in planned]


def _is_one_line(text: str) -> bool:
    return bool(text.strip()) and text.isprintable()


def _write_baseline(result: "LintResult", file: str) -> None:
    from shutdownlint.linter.baseline import baseline_text  # noqa: PLC0415 - seldom used

    text, count = baseline_text(result)
    write_output(text, file)
    warn(f"{file}: wrote a baseline with {plural(count, 'finding')}")


def _is_inside(file: str, path: str) -> bool:
    folder = path.removeprefix("./").rstrip("/")
    return folder in ("", ".", file) or file.startswith(f"{folder}/")


def _write_fixed(inputs: "Inputs", fixed: "FixResult") -> bool:
    """Write the fixed files; false where one could not be written."""
    written, complete = _write_texts(inputs, fixed.originals, fixed.texts)
    findings = sum(finding.region.file in written for finding in fixed.fixed)
    if findings:
        warn(f"fixed {plural(findings, 'finding')} in {plural(len(written), 'file')}")
    return complete


def _write_texts(
    inputs: "Inputs", originals: dict[str, bytes], texts: dict[str, bytes]
) -> tuple[set[str], bool]:
    """Write changed files; which could be written, and whether all could."""
    from shutdownlint.atomic_write import update_file  # noqa: PLC0415 - seldom used

    written: set[str] = set()
    paths: dict[str, Any] = {file.display_path: file.path for file in inputs.files}
    for name in sorted(texts):
        try:
            if paths[name] is not None:
                update_file(paths[name], originals[name], texts[name])
            written.add(name)
        except OSError as error:
            warn(f"{name}: not written: {error.strerror or error}")
    return written, written == set(texts)
