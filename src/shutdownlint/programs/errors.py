"""The exception for mistakes in files of program records."""

from __future__ import annotations

from shutdownlint.yaml_source.errors import SourceFileError


class ProgramFileError(SourceFileError):
    """A record that cannot be used."""
