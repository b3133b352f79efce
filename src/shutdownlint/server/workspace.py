"""The files of a workspace with the unsaved texts of its editors, and what is found in them.

An edit is checked against the other files as they were read; a check of everything follows when the
person pauses. Both are runs like any other: nothing of a run is kept but its findings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from shutdownlint.linter.expand import EditedFile
from shutdownlint.linter.explained_pods import plan_explained
from shutdownlint.linter.linter import check, check_expanded, plan_workloads
from shutdownlint.linter.plan import with_built_images

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from shutdownlint.engine.finding import Finding
    from shutdownlint.linter.options import LintOptions
    from shutdownlint.linter.result import LintResult
    from shutdownlint.linter.verdicts import WorkloadVerdict
    from shutdownlint.manifests.inputs import Inputs
    from shutdownlint.platforms.planned_pod import PlannedPod

    #: Reads the configuration and finds the files.
    Load = Callable[[], tuple[Inputs, LintOptions]]


class WorkspaceError(Exception):
    """A workspace whose configuration or files cannot be read; the message says why."""


class FoundInFile(Struct, frozen=True):
    """The findings and verdicts of one file, and the text that they are about."""

    text: str
    findings: Sequence[Finding] = ()
    verdicts: Sequence[WorkloadVerdict] = ()


class Workspace:
    """The files below the current folder. ``texts`` are those of open editors, by file name."""

    def __init__(self, load: Load) -> None:
        self.texts: dict[str, str] = {}
        self._load = load
        self.reload()

    def reload(self) -> None:
        """Read the configuration, and find the files. Raises what ``load`` raises."""
        inputs, options = self._load()
        self.options = with_built_images(options, inputs)
        self._inputs = replace(inputs, roots=())
        self._edited: tuple[str, EditedFile | None] | None = None

    @property
    def inputs(self) -> Inputs:
        """The files with the texts of open editors."""
        return self._inputs.with_texts(self.data)

    @property
    def data(self) -> dict[str, bytes]:
        """The texts of open editors as bytes."""
        return {name: text.encode(errors="replace") for name, text in self.texts.items()}

    def names(self) -> set[str]:
        """Return the names of the files that are checked."""
        return {source.file.display_path for source in self._inputs.sources if not source.context}

    def check_all(self) -> LintResult:
        """Check every file."""
        return check(self.inputs, self.options)

    def check_file(self, name: str) -> FoundInFile | None:
        """Check the text of one open file; None where only a check of everything can."""
        edited, text = self._find_edited(name), self.texts.get(name)
        if edited is None or text is None:
            return None
        result = check_expanded(edited.expand(text.encode(errors="replace")), self.options)
        return found_in(result, name, text)

    def plan_file(self, name: str) -> Sequence[PlannedPod]:
        """Return the pods of an open file with all that explains them."""
        edited, text = self._find_edited(name), self.texts.get(name)
        if text is None:
            return ()
        if edited is not None:
            data = text.encode(errors="replace")
            return plan_explained(edited.expand(data), self.options).pods
        return [pod for pod in self.plan_all() if pod.ref.region().file == name]

    def plan_all(self) -> Sequence[PlannedPod]:
        """Return the pods of all files with all that explains them."""
        return plan_workloads(self.inputs, self.options).pods

    def check_changed(self, texts: Mapping[str, bytes]) -> LintResult:
        """Check every file, some with other texts, for what a fix would do."""
        if len(texts) == 1:
            ((name, data),) = texts.items()
            edited = self._find_edited(name)
            if edited is not None:
                return check_expanded(edited.expand(data), self.options)
        return check(self._inputs.with_texts({**self.data, **texts}), self.options)

    def _find_edited(self, name: str) -> EditedFile | None:
        """Return a file among the others as they are now; they are read again for another one."""
        if self._edited is None or self._edited[0] != name:
            self._edited = name, EditedFile.find(self.inputs, name, self.options)
        return self._edited[1]


def found_in(result: LintResult, name: str, text: str) -> FoundInFile:
    """Return what a run has found in one file."""
    return FoundInFile(
        text,
        [finding for finding in result.findings if finding.region.file == name],
        [verdict for verdict in result.verdicts if verdict.region.file == name],
    )
