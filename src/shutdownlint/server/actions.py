"""Quick fixes: the fixes of findings, what ``suggest`` writes, ignore comments, a stated p99."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from lsprotocol import types

from shutdownlint.engine.finding import Change, EditAction
from shutdownlint.fixes.apply import splice, verified_edits
from shutdownlint.fixes.suggest import make_suggestions
from shutdownlint.fixes.verify import VerificationError
from shutdownlint.manifests.suppressions import add_to_line
from shutdownlint.platforms.edit_target import EditTarget
from shutdownlint.platforms.user_facts import OWN_PREFIX
from shutdownlint.server.positions import split_lines, text_edit, to_range
from shutdownlint.server.texts import diagnostic, pod_at, uri_of
from shutdownlint.yaml_source.editor import EditError
from shutdownlint.yaml_source.errors import BudgetExceededError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from shutdownlint.engine.finding import Finding
    from shutdownlint.server.workspace import FoundInFile, Workspace
    from shutdownlint.yaml_source.editor import Edit

_IGNORE_REASON: Final = "TODO: say why"
_P99: Final = f"{OWN_PREFIX}p99"
_EXAMPLE: Final = "10s"


def actions_at(
    workspace: Workspace, name: str, found: FoundInFile, place: types.Range
) -> Iterator[types.CodeAction]:
    """Yield what can be done about the findings and the workload at a place of a file."""
    lines = split_lines(found.text)
    here = [f for f in found.findings if _touches(to_range(f.region, lines), place)]
    for finding in here:
        yield from _fix(workspace, name, found, finding, lines)
    for finding in here:
        yield from _ignore(name, found, finding, lines)
    yield from _suggest(workspace, name, place)


def _touches(one: types.Range, other: types.Range) -> bool:
    return one.start.line <= other.end.line and other.start.line <= one.end.line


def _fix(
    workspace: Workspace, name: str, found: FoundInFile, finding: Finding, lines: Sequence[str]
) -> Iterator[types.CodeAction]:
    """Yield the fix of a finding, where the model agrees that it ends the finding."""
    if finding.fix is None or not finding.fix.changes:
        return
    new = _changed(workspace, finding.fix.changes)
    if new is None or not _helps(workspace, new, found, finding, name):
        return
    unsafe = "" if finding.fix.safe else " (changes the pod's behaviour)"
    yield types.CodeAction(
        f"{finding.rule}: {finding.fix.description}{unsafe}",
        types.CodeActionKind.QuickFix,
        [diagnostic(finding, lines)],
        finding.fix.safe,
        edit=_workspace_edit(workspace, new),
    )


def _changed(workspace: Workspace, changes: Sequence[Change]) -> dict[str, bytes] | None:
    """Return the files with these changes; None where one cannot be written."""
    try:
        by_file: dict[str, dict[int, list[Edit]]] = {}
        for (file, start), edits in verified_edits(changes).items():
            by_file.setdefault(file, {})[start] = edits
        known = workspace.data
        if any(file not in known for file in by_file):
            return None  # only what is open is edited: its text is known
        return {file: splice(known[file], parts) for file, parts in by_file.items()}
    except (EditError, VerificationError, BudgetExceededError, ValueError):
        return None


def _helps(
    workspace: Workspace,
    new: Mapping[str, bytes],
    found: FoundInFile,
    finding: Finding,
    name: str,
) -> bool:
    """Whether a fix ends its finding, and brings none of another rule."""
    after = [f for f in workspace.check_changed(new).findings if f.region.file == name]
    kinds, left = Counter(map(_kind, found.findings)), Counter(map(_kind, after))
    return left[_kind(finding)] < kinds[_kind(finding)] and not left - kinds


def _kind(finding: Finding) -> tuple[str, str, str | None]:
    return finding.rule, str(finding.workload), finding.container


def _workspace_edit(workspace: Workspace, new: Mapping[str, bytes]) -> types.WorkspaceEdit:
    changes = {
        uri_of(file): [text_edit(workspace.texts[file], data.decode(errors="replace"))]
        for file, data in new.items()
    }
    return types.WorkspaceEdit(changes)


def _ignore(
    name: str, found: FoundInFile, finding: Finding, lines: Sequence[str]
) -> Iterator[types.CodeAction]:
    """Yield a comment that ignores a finding, with a place for the reason."""
    number = finding.region.line - 1
    if not 0 <= number < len(lines) or found.text.lstrip()[:1] in ("{", "["):
        return
    changed = add_to_line(lines[number], (finding.rule,), _IGNORE_REASON)
    if changed is None:
        return
    new = [*lines]
    new[number] = changed
    edit = text_edit("\n".join(lines), "\n".join(new))
    yield types.CodeAction(
        f"{finding.rule}: ignore with a reason",
        types.CodeActionKind.QuickFix,
        [diagnostic(finding, lines)],
        edit=types.WorkspaceEdit({uri_of(name): [edit]}),
    )


def _suggest(workspace: Workspace, name: str, place: types.Range) -> Iterator[types.CodeAction]:
    """Yield the settings with which the workload at a place serves every request, and its p99."""
    pod = pod_at(workspace.plan_file(name), place.start.line + 1)
    if pod is None or pod.plan is None:
        return
    for suggestion in make_suggestions((pod,)):
        if not suggestion.edits:
            continue
        by_file: dict[str, dict[int, list[Edit]]] = {}
        for (file, start), edits in suggestion.edits.items():
            by_file.setdefault(file, {})[start] = edits
        known = workspace.data
        try:
            new = {file: splice(known[file], parts) for file, parts in by_file.items()}
        except (EditError, LookupError):
            continue
        yield types.CodeAction(
            f"Set what {pod.id} needs to serve every request at a stop",
            types.CodeActionKind.RefactorRewrite,
            edit=_workspace_edit(workspace, new),
        )
    if pod.plan.gets_requests and pod.plan.p99 is None:
        place_of_p99 = EditTarget(pod.workload.annotations / _P99)
        changed = _changed(workspace, [Change(EditAction.SET, "p99", place_of_p99, _EXAMPLE)])
        if changed is not None:
            yield types.CodeAction(
                f"Say how long the slowest requests to {pod.id} take",
                types.CodeActionKind.Refactor,
                edit=_workspace_edit(workspace, changed),
            )
