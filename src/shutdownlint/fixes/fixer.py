"""Lint files and fix what can be fixed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from shutdownlint import files
from shutdownlint.fixes.apply import FixApplier
from shutdownlint.linter.lint_run import LintResult
from shutdownlint.linter.linter import check
from shutdownlint.manifests.discovery import InputFile

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from shutdownlint.engine.finding import Finding
    from shutdownlint.fixes.apply import FixResult
    from shutdownlint.linter.lint_run import LintOptions
    from shutdownlint.manifests.loader import InputSource
    from shutdownlint.manifests.object_id import ObjectId


def fix_files(
    sources: Sequence[InputSource],
    options: LintOptions,
    *,
    unsafe: bool,
    only: Container[ObjectId] | None = None,
) -> tuple[LintResult, FixResult]:
    """Lint the files and fix what can be fixed; the result is that of the fixed files.

    ``only`` are the workloads whose findings are fixed, all by default. Nothing is written.
    """
    return _Fixer(sources, options).run(unsafe=unsafe, only=only)


class _Fixer:
    def __init__(self, sources: Sequence[InputSource], options: LintOptions) -> None:
        self.sources = sources
        self.options = options
        self.last = LintResult()
        self.stdin: dict[str, bytes] = {}
        files = (source.file for source in sources)
        self.stdin_name = next(
            (f.display_path for f in files if isinstance(f, InputFile) and f.stdin), ""
        )
        self.files: dict[str, InputFile] = {
            source.file.display_path: source.file
            for source in sources
            if isinstance(source.file, InputFile) and _is_writable(source, source.file)
        }

    def run(
        self, *, unsafe: bool, only: Container[ObjectId] | None
    ) -> tuple[LintResult, FixResult]:
        applier = FixApplier(self.check, self.read, self.files, unsafe=unsafe, only=only)
        result = applier.run()
        if result.refused:  # the last attempt may have been rolled back
            result.remaining = self.check(result.texts)
        result.originals.update(self.stdin)
        return self.last, result

    def check(self, texts: Mapping[str, bytes]) -> list[Finding]:
        """Check the files, some of them with other texts."""
        known = {**self.stdin, **texts}
        self.last = check([with_text(s, known) for s in self.sources], self.options)
        if self.last.stats.stdin:
            self.stdin.setdefault(self.stdin_name, self.last.stats.stdin)
        return self.last.findings

    def read(self, file: str) -> bytes:
        """Return the original text of a file."""
        found = self.files[file]
        if found.data is not None:
            return found.data
        return self.stdin[file] if found.path is None else files.read_file(found.path)


def _is_writable(source: InputSource, file: InputFile) -> bool:
    return not source.context and (file.path is not None or file.stdin)


def with_text(source: InputSource, texts: Mapping[str, bytes]) -> InputSource:
    """Return the same file with the text that ``texts`` has for it."""
    if not isinstance(source.file, InputFile) or source.file.display_path not in texts:
        return source
    data = texts[source.file.display_path]
    return replace(source, file=replace(source.file, data=data))
