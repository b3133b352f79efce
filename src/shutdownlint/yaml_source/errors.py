"""The exceptions of reading YAML, separate from the parser, which is slow to import."""

from __future__ import annotations

from typing import Final

#: Why a document is not used whose aliases repeat too much.
TOO_MANY_VALUES: Final = "too many values after expanding YAML aliases"


class BudgetExceededError(Exception):
    """Aliases of the document would write out to more values than its length allows."""


class SourceFileError(Exception):
    """A file of the user that cannot be used: ``file:line: reason``."""

    def __init__(self, file: str, line: int, reason: str) -> None:
        super().__init__(f"{file}:{line}: {reason}")
        self.file = file
        self.line = line
        self.reason = reason
