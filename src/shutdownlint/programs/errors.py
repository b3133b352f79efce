"""The exception for mistakes in files of program records."""

from __future__ import annotations


class ProgramFileError(Exception):
    """A record that cannot be used: ``file:line: reason``."""

    def __init__(self, file: str, line: int, reason: str) -> None:
        super().__init__(f"{file}:{line}: {reason}")
        self.file = file
        self.line = line
        self.reason = reason
