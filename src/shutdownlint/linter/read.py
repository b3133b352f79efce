"""Read: from paths to inputs, the files of a run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from msgspec.structs import replace

from shutdownlint import files, limits
from shutdownlint.manifests.discovery import STDIN_NAME, InputError, InputFile, discover
from shutdownlint.manifests.inputs import Inputs, InputSource
from shutdownlint.manifests.reader import too_large

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shutdownlint.manifests.discovery import FileSearch, IgnoredInput


def read(
    paths: Sequence[str],
    search: FileSearch,
    *,
    context: Sequence[str] = (),
    stdin_name: str = STDIN_NAME,
) -> Inputs:
    """Find the files below the paths, and those that are read for context only.

    Standard input is read here, the files themselves when they are needed. Bad input never raises;
    it is among the sources.
    """
    found = [*_read_stdin(discover(paths, search, stdin_name=stdin_name))]
    checked = {file.display_path for file in found}
    for_context = [
        file
        for file in _read_stdin(discover(context, search, stdin_name=stdin_name))
        if file.display_path not in checked  # what is checked gives context as well
    ]
    return Inputs(
        (*map(InputSource, found), *(InputSource(file, context=True) for file in for_context)),
        (*paths, *context),
    )


def _read_stdin(
    found: Iterable[InputFile | InputError | IgnoredInput],
) -> Iterator[InputFile | InputError | IgnoredInput]:
    for file in found:
        yield _with_input(file) if isinstance(file, InputFile) and file.stdin else file


def _with_input(file: InputFile) -> InputFile | InputError:
    """Return standard input with its text."""
    files.disable_caching("it reads standard input")
    try:
        data = sys.stdin.buffer.read(limits.MAX_FILE_BYTES + 1)
    except OSError as error:
        return InputError(file.display_path, error.strerror or "cannot be read")
    if len(data) > limits.MAX_FILE_BYTES:
        return InputError(file.display_path, too_large())
    return replace(file, data=data)
