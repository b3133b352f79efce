"""The files of a commit, from git's own objects.

Only what reads objects is run (rev-parse, ls-tree, cat-file): they run no hook, no filter and no
other program, and follow no attribute of the repository. Nothing is fetched.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from shutdownlint import files, limits
from shutdownlint.manifests.discovery import (
    CHART_FILE,
    SKIPPED_FOLDERS,
    IgnoredInput,
    InputFile,
    display_path,
    is_excluded,
)
from shutdownlint.manifests.inputs import Inputs, InputSource
from shutdownlint.rendering.tools import ToolError, Tools
from shutdownlint.repository_root import find_repository_root

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shutdownlint.manifests.discovery import FileSearch

#: Before each command: what a configuration could start, or fetch.
_SAFELY: Final = (
    *("git", "--no-replace-objects", "--no-optional-locks"),
    *("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}"),
    *("-c", "protocol.allow=never"),
)
_FILE_MODES: Final = ("100644", "100755")
#: By the number of hexadecimal digits of an object's name.
_HASHES: Final = {40: hashlib.sha1, 64: hashlib.sha256}


class Commit(Struct, frozen=True):
    """A commit: its name, the folder of its repository, and the objects of its files by path."""

    name: str
    root: str
    blobs: dict[str, str]


def read_commit(ref: str, folder: str) -> Commit:
    """Return a commit of the repository that a folder is in. Raises ``ToolError``."""
    root = find_repository_root(Path(folder))
    if root is None:
        raise ToolError(f"{folder} is in no git repository")
    tools = Tools()
    if not ref or ref.startswith("-") or not ref.isprintable():
        raise ToolError(f"{ref} names no commit")
    at = (*_SAFELY, "-C", str(root))
    try:
        out = tools.run([*at, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}"])
    except ToolError:
        raise ToolError(f"{ref} names no commit of {root} (a shallow clone has few)") from None
    name = out.decode("ascii", "replace").strip()
    listed = tools.run([*at, "ls-tree", "-r", "-z", "--full-tree", name])
    return Commit(name, str(root), dict(_entries(listed)))


def _entries(listed: bytes) -> Iterator[tuple[str, str]]:
    """Yield path and object of each plain file; links and submodules are left out."""
    for entry in listed.split(b"\0"):
        head, _, path = entry.partition(b"\t")
        mode, _, rest = head.decode("ascii", "replace").partition(" ")
        if mode in _FILE_MODES:
            yield os.fsdecode(path), rest.partition(" ")[2]


class CommitFiles:
    """The files of a run as they were in a commit.

    ``changed`` are those that differ from the working tree, by the name in reports.
    """

    def __init__(self, commit: Commit, search: FileSearch) -> None:
        self.commit = commit
        self.search = search
        self.changed: set[str] = set()
        self._tools = Tools()

    def inputs(self, now: Inputs, paths: Sequence[str], context: Sequence[str]) -> Inputs:
        """Return the inputs of a run with the commit's files. Raises ``ToolError``."""
        here = [source for source in now.sources if isinstance(source.file, InputFile)]
        by_name = {(s.file.display_path, s.context): s for s in here}
        ignored = tuple(
            s.file.display_path for s in now.sources if isinstance(s.file, IgnoredInput)
        )
        found: dict[tuple[str, bool], InputSource] = {}
        for group, is_context in ((paths, False), (context, True)):
            for shown, path in self._below(group):
                left_out = any(shown == name or shown.startswith(f"{name}/") for name in ignored)
                if not left_out and (shown, False) not in found:
                    key = (shown, is_context)
                    found[key] = self._source(shown, path, by_name.get(key), is_context)
        gone = {name for name, is_context in by_name if (name, is_context) not in found}
        self.changed |= gone
        return Inputs(tuple(found.values()), now.roots)

    def _below(self, paths: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield the selected files below paths: the name in reports, and that in the commit."""
        for argument in paths:
            top = files.real_path(argument)
            if not (top == self.commit.root or top.startswith(f"{self.commit.root}{os.sep}")):
                continue
            prefix = display_path(top[len(self.commit.root) :]).strip("/")
            for path in self.commit.blobs:
                if path == prefix:
                    yield display_path(argument), path
                elif not prefix or path.startswith(f"{prefix}/"):
                    below = path[len(prefix) :].lstrip("/")
                    shown = below if argument == "." else posixpath.join(argument, below)
                    if self._is_selected(below, shown):
                        yield display_path(shown), path

    def _is_selected(self, below: str, shown: str) -> bool:
        *folders, name = below.split("/")
        return (
            name.lower().endswith(self.search.suffixes)
            and not SKIPPED_FOLDERS.intersection(folders)
            and not is_excluded(shown, self.search.exclude)
        )

    def _source(
        self, shown: str, path: str, now: InputSource | None, is_context: bool
    ) -> InputSource:
        blob = self.commit.blobs[path]
        if now is not None and isinstance(now.file, InputFile) and _is_same(now.file, blob):
            return now
        self.changed.add(shown)
        data = self._tools.run([*_SAFELY, "-C", self.commit.root, "cat-file", "blob", blob])
        file = InputFile(Path(shown), shown, data, chart=self._chart(shown, path))
        if now is not None and isinstance(now.file, InputFile):
            return replace(now, file=replace(now.file, data=data))
        return InputSource(file, context=is_context)

    def _chart(self, shown: str, path: str) -> str | None:
        """Return the outermost chart that a file is in, by the name in reports."""
        inner = path.split("/")[:-1]
        above = len(shown.split("/")) - len(path.split("/"))
        for depth in range(len(inner) + 1):
            if "/".join([*inner[:depth], CHART_FILE]) in self.commit.blobs:
                return "/".join(shown.split("/")[: above + depth]) or "."
        return None


def _is_same(file: InputFile, blob: str) -> bool:
    """Whether a file of the working tree has the contents of an object."""
    make = _HASHES.get(len(blob))
    try:
        data = files.read_file(file.path, limits.MAX_FILE_BYTES) if file.path is not None else b""
    except OSError:
        return False
    if make is None:
        return False
    found = make(b"blob %d\0" % len(data), usedforsecurity=False)
    found.update(data)
    return found.hexdigest() == blob
