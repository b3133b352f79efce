"""Maps findings in rendered charts to their template files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shutdownlint.manifests.rendering import CHART, template_file

if TYPE_CHECKING:
    from shutdownlint.engine.finding import Finding


def report_file(finding: Finding) -> tuple[str, bool]:
    """The file of the repository that a finding is shown at, and whether its lines are meant.

    A rendering is no file; its template is, and no line of that is known.
    """
    file = finding.region.file
    if finding.template and file.endswith(CHART):
        return template_file(file, finding.template), False
    return file, True
