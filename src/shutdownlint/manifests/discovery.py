"""The selection of files that a run reads."""

from __future__ import annotations

import os
import stat
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint import files, limits
from shutdownlint.patterns import lazy_pattern
from shutdownlint.repository_root import find_repository_root, is_below

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: The endings that a folder walk selects; a file that is named directly is always read.
SUFFIXES: Final = (".yaml", ".yml", ".json")
#: The endings of templates for manifests, which other tools fill in.
TEMPLATE_SUFFIXES: Final = (
    *(".tmpl", ".tpl", ".gotmpl", ".j2", ".jinja", ".jinja2", ".erb", ".template"),
    *(".jsonnet", ".libsonnet", ".cue"),
)
_WORKLOAD: Final = lazy_pattern(
    rb"""["']?\bkind["']?\s{0,9}:\s{0,9}["']?"""
    rb"""(?:Deployment|StatefulSet|DaemonSet|Pod|Job|CronJob|Rollout)\b"""
)
#: The file that makes a folder a Helm chart.
CHART_FILE: Final = "Chart.yaml"
#: Folders that hold no manifests of one's own and can be huge.
SKIPPED_FOLDERS: Final = frozenset(
    (".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", ".terraform", ".tox")
)
STDIN: Final = "-"
#: The name of standard input in reports.
STDIN_NAME: Final = "<stdin>"
KUSTOMIZATION_NAMES: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")


class InputFile(Struct, frozen=True):
    """A file to read. ``display_path`` is its path as the user wrote it, with forward slashes.

    ``data``, where set, is read instead of the file. ``chart`` is the folder of its chart.
    ``stdin``: it is standard input, whatever it is called.
    """

    path: Path | None
    display_path: str
    data: bytes | None = None
    chart: str | None = None
    stdin: bool = False

    @property
    def is_kustomization(self) -> bool:
        """Whether its name makes it a kustomization."""
        return self.display_path.rpartition("/")[2] in KUSTOMIZATION_NAMES


class InputError(Struct, frozen=True):
    """A path that could not be used, and why."""

    display_path: str
    reason: str


class IgnoredInput(Struct, frozen=True):
    """A file or folder that is not read: a .gitignore names it, or a pattern that excludes it."""

    display_path: str
    excluded: bool = False


class FileSearch(Struct, frozen=True):
    """The search for files below folders: patterns of what is left out, and endings.

    ``gitignore``: what git ignores is left out as well.
    """

    exclude: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = SUFFIXES
    gitignore: bool = True


#: With the usual endings, and without what git ignores.
_USUAL_SEARCH: Final = FileSearch()


def discover(
    paths: Sequence[str], search: FileSearch = _USUAL_SEARCH, *, stdin_name: str = STDIN_NAME
) -> Iterator[InputFile | InputError | IgnoredInput]:
    """All files below ``paths``, each once, in a stable order; ``-`` is standard input.

    Links to folders are not followed (they may loop), links to files are. What git ignores is read
    if it is one of the paths. ``stdin_name`` is what standard input is called.
    """
    seen: set[str] = set()
    for argument in paths:
        if argument == STDIN:
            found_below: Iterator[InputFile | InputError | IgnoredInput]
            found_below = iter([InputFile(None, stdin_name, stdin=True)])
        else:
            found_below = _below(argument, search)
        for found in found_below:
            if isinstance(found, InputError):
                yield found
            elif isinstance(found, IgnoredInput):
                if not is_excluded(found.display_path, search.exclude):
                    yield found
            elif found.path is not None and is_excluded(found.display_path, search.exclude):
                yield IgnoredInput(found.display_path, excluded=True)
            else:
                identity = str(found.path and os.path.abspath(found.path))  # noqa: PTH100 - links stay
                if identity not in seen:
                    seen.add(identity)
                    yield found


def display_path(path: str | Path) -> str:
    """Return a path as reports write it: as the user wrote it, with forward slashes."""
    return str(path).replace(os.sep, "/")


def find_repository(file: Path) -> Path:
    """Return the repository that a file is in: the folder with ``.git`` above it.

    Without one it is the current folder where the file is in it, else the file's own folder and
    those beside it.
    """
    folder = Path(files.real_path(file)).parent
    root = find_repository_root(folder)
    if root is not None:
        return root
    here = Path(files.real_path("."))
    return here if folder.is_relative_to(here) else folder.parent.parent


def is_excluded(shown: str, patterns: Sequence[str]) -> bool:
    """Whether a path is one of those that the patterns exclude."""
    below = f"/{shown}"
    wanted = [pattern.removeprefix("./").rstrip("/") for pattern in patterns]
    return any(
        fnmatch(shown, one)
        or fnmatch(below, one)  # */testdata/* means the topmost folder too
        or fnmatch(below, f"*/{one}")
        or fnmatch(below, f"*/{one}/*")
        for one in wanted
    )


def _below(argument: str, search: FileSearch) -> Iterator[InputFile | InputError | IgnoredInput]:
    path = Path(argument)
    try:
        found = files.type_of(path)
    except OSError as error:
        yield InputError(display_path(argument), error.strerror or "cannot be read")
        return
    if found == stat.S_IFREG:
        parents = [*path.parents][: limits.MAX_PARENT_FOLDERS]
        chart = next((each for each in parents if files.is_file(each / CHART_FILE)), None)
        folder = display_path(chart) if chart is not None else None
        yield InputFile(path, display_path(argument), chart=folder)
    elif found == stat.S_IFDIR:
        yield from _walk(argument, search)
    else:
        yield InputError(display_path(argument), "neither a file nor a folder")


def find_templates(paths: Sequence[str], search: FileSearch = _USUAL_SEARCH) -> Iterator[str]:
    """Yield files below folders whose ending is a template's, and that write a workload's kind."""
    for root in paths:
        for folder, folders, names, _ in files.walk(root, TEMPLATE_SUFFIXES):
            folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
            for name in sorted(names):
                shown = display_path(os.path.join(folder, name).removeprefix("./"))  # noqa: PTH118
                if not is_excluded(shown, search.exclude) and _writes_workload(shown):
                    yield shown


def _writes_workload(path: str) -> bool:
    try:
        return _WORKLOAD.search(files.read_file(path, limits.MAX_TEMPLATE_BYTES)) is not None
    except OSError:
        return False


def _problem_of(path: str, inside: tuple[str, ...]) -> str:
    """Return why a found path is not read: it is not a file, or a link out of the repository."""
    try:
        own = files.own_type_of(path)
        if own != stat.S_IFLNK:
            return "" if own == stat.S_IFREG else "not a regular file"
        target = files.type_of(path)
        if target != stat.S_IFREG:
            return "" if target == stat.S_IFDIR else "a link to what is not a regular file"
    except OSError as error:
        return f"a link that leads nowhere ({error.strerror or 'it cannot be followed'})"
    real = files.real_path(path)
    below = any(is_below(real, folder) for folder in inside)
    return "" if below else "a link out of the repository, which is not followed"


def _walk(root: str, search: FileSearch) -> Iterator[InputFile | InputError | IgnoredInput]:
    from shutdownlint.manifests.ignored_files import (  # noqa: PLC0415 - for folders
        IGNORE_FILE,
        IgnoredFiles,
    )

    unreadable: list[InputError] = []

    def note(error: OSError) -> None:
        name = display_path(error.filename or root)
        unreadable.append(InputError(name, error.strerror or "cannot be read"))

    def shown(path: str) -> str:
        return display_path(path.removeprefix("." + os.sep) if root == "." else path)

    inside = (files.real_path(root), str(find_repository(Path(root) / CHART_FILE)))
    chart_of: dict[str, str] = {}
    ignored = IgnoredFiles(root, SKIPPED_FOLDERS) if search.gitignore else None
    endings = (*search.suffixes, CHART_FILE.lower(), IGNORE_FILE)
    for folder, folders, found, others in files.walk(root, endings, note):
        names = [name for name in found if name.lower().endswith(search.suffixes)]
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
        if ignored is not None:
            ignored.enter(found, folders)
            for left_out in ignored.remove(folder, folders) + ignored.remove(folder, names):
                yield IgnoredInput(shown(left_out))
        # Charts in a chart are rendered with it.
        chart = chart_of.get(os.path.dirname(folder))  # noqa: PTH120 - no pathlib
        if chart is None and CHART_FILE in found:
            chart = shown(folder)
        if chart is not None:
            chart_of[folder.rstrip(os.sep)] = chart
        for name in sorted(names):
            argument = os.path.join(folder, name)  # noqa: PTH118 - Path would drop the user's ./
            problem = _problem_of(argument, inside) if name in others else ""
            if problem:
                yield InputError(shown(argument), problem)
            else:
                yield InputFile(Path(argument), shown(argument), chart=chart)
    if ignored is not None and ignored.unreadable is not None:
        reason = "a link, no file, or too large: what it names is not left out"
        yield InputError(shown(ignored.unreadable), reason)
    yield from unreadable
