"""Read: from paths to inputs, the files of a run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from msgspec.structs import replace

from shutdownlint import files, limits
from shutdownlint.manifests.discovery import STDIN_NAME, InputError, InputFile, discover
from shutdownlint.manifests.inputs import Inputs, InputSource

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
    checked = _read_stdin(discover(paths, search, stdin_name=stdin_name))
    for_context = discover(context, search)
    return Inputs(
        (*map(InputSource, checked), *(InputSource(file, context=True) for file in for_context))
    )


def _read_stdin(
    found: Iterable[InputFile | InputError | IgnoredInput],
) -> Iterator[InputFile | InputError | IgnoredInput]:
    for file in found:
        if isinstance(file, InputFile) and file.stdin:
            files.disable_caching("it reads standard input")
            try:
                data = sys.stdin.buffer.read(limits.MAX_FILE_BYTES)
            except OSError as error:
                yield InputError(file.display_path, error.strerror or "cannot be read")
            else:
                yield replace(file, data=data)
        else:
            yield file
