"""``check --since``: the files compared with those of a commit."""

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from shutdownlint import files
from shutdownlint.cli.output import usage_error
from shutdownlint.cli.session import Session
from shutdownlint.linter.compare import Comparison, compare
from shutdownlint.linter.linter import check
from shutdownlint.rendering.commit_files import CommitFiles, read_commit
from shutdownlint.rendering.tools import ToolError


def compare_with_commit(
    session: Session, paths: list[str], ref: str, describe: Callable[..., dict[str, Any]] | None
) -> Comparison:
    """Check the files below paths as they are, and as they were in a commit.

    Raises the exit of a usage error.
    """
    files.disable_caching("it reads a commit")
    try:
        earlier = CommitFiles(read_commit(ref, paths[0]), session.search)
        with session.progress(paths) as (inputs, options):
            before = check(earlier.inputs(inputs, paths, session.config.context), options)
            now = check(inputs, replace(options, describe=describe))
    except ToolError as error:
        raise usage_error(f"--since {ref}: {error}") from None
    return compare(now, before, earlier.changed)
