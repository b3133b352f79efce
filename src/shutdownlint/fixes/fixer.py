"""Lint files and fix what can be fixed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from shutdownlint import files
from shutdownlint.fixes.apply import FixApplier
from shutdownlint.linter.linter import check
from shutdownlint.linter.result import LintResult
from shutdownlint.manifests.discovery import InputFile

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from shutdownlint.engine.finding import Finding
    from shutdownlint.fixes.apply import FixResult
    from shutdownlint.linter.options import LintOptions
    from shutdownlint.manifests.inputs import Inputs
    from shutdownlint.manifests.object_id import ObjectId


def fix_files(
    inputs: Inputs,
    options: LintOptions,
    *,
    unsafe: bool,
    only: Container[ObjectId] | None = None,
) -> tuple[LintResult, FixResult]:
    """Lint the files and fix what can be fixed; the result is that of the fixed files.

    ``only`` are the workloads whose findings are fixed, all by default. Nothing is written.
    """
    writable = {
        source.file.display_path: source.file
        for source in inputs.sources
        if isinstance(source.file, InputFile) and not source.context
        if source.file.path is not None or source.file.stdin
    }
    last = LintResult()

    def check_texts(texts: Mapping[str, bytes]) -> list[Finding]:
        nonlocal last
        last = check(inputs.with_texts(texts), options)
        return [*last.findings]

    def read(name: str) -> bytes:
        return original_bytes(writable[name])

    applier = FixApplier(check_texts, read, writable, unsafe=unsafe, only=only)
    result = applier.run()
    if result.refused:  # the last attempt may have been rolled back
        result = replace(result, remaining=check_texts(result.texts))
    stdin = {file.display_path: original_bytes(file) for file in writable.values() if file.stdin}
    return last, replace(result, originals={**result.originals, **stdin})


def original_bytes(file: InputFile) -> bytes:
    """Return the text of a file of the run before any fix. Raises ``OSError``."""
    if file.data is not None:
        return file.data
    return files.read_file(file.path) if file.path is not None else b""
