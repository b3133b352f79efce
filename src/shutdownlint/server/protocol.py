"""The server: what editors ask, answered from the workspace. It writes no file."""

from __future__ import annotations

import asyncio
import contextlib
import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import TYPE_CHECKING, Final

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from shutdownlint import __version__, files
from shutdownlint.linter.linter import check
from shutdownlint.server import own_files
from shutdownlint.server.checker import begin_process
from shutdownlint.server.texts import diagnostics, uri_of
from shutdownlint.server.workspace import FoundInFile, Workspace, WorkspaceError, found_in
from shutdownlint.wording import internal_error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.linter.result import LintResult
    from shutdownlint.server.workspace import Load

#: After an edit its file is checked so much later (s), everything after a longer pause.
_SOON: Final = 0.02
_PAUSE: Final = 0.7


class Server(LanguageServer):
    """The state of one editor: its workspace, and what was shown of each file."""

    def __init__(self, load: Load) -> None:
        super().__init__("shutdownlint", __version__)
        self.load = load
        self.files: Workspace | None = None
        self.found: dict[str, FoundInFile] = {}
        self.shown: set[str] = set()
        #: Counts edits: a result of an older text is not shown.
        self.edits = 0
        self._soon: dict[str, asyncio.Task[None]] = {}
        self._later: asyncio.Task[None] | None = None
        self._pool: ProcessPoolExecutor | None = None
        #: A check of everything, which cannot be stopped.
        self._running: asyncio.Future[LintResult] | None = None

    def open_workspace(self, folder: str) -> None:
        """Begin with the files below a folder."""
        if folder:
            os.chdir(folder)
        self.reload()

    def reload(self) -> None:
        """Read the configuration and find the files; say what is wrong, and go on without."""
        texts = self.files.texts if self.files is not None else {}
        try:
            self.files = Workspace(self.load)
            self.files.texts.update(texts)
        except (WorkspaceError, OSError) as error:
            self.say(str(error))
        except Exception as error:  # a workspace must not end the server
            self.say(internal_error(error))

    def text_of(self, name: str) -> str:
        """Return the text of an open file; empty where it is not open."""
        return self.files.texts.get(name, "") if self.files is not None else ""

    def is_own_file(self, name: str) -> bool:
        """Whether a file is a configuration, or a rule of the user's."""
        if own_files.is_configuration(name):
            return True
        return self.files is not None and own_files.is_rule(
            name, self.files.options.selection.folders
        )

    def say(self, message: str) -> None:
        """Show a message."""
        level = types.MessageType.Warning
        self.window_show_message(types.ShowMessageParams(level, message))

    @contextlib.contextmanager
    def contained(self) -> Iterator[None]:
        """Say what fails unforeseen, and go on."""
        try:
            yield
        except Exception as error:  # the server outlives any input
            self.say(internal_error(error))

    def edited(self, name: str) -> None:
        """Check a file soon, and everything when the person pauses."""
        self.edits += 1
        waiting = self._soon.get(name)
        if waiting is None or waiting.done():
            self._soon[name] = asyncio.ensure_future(self._check_soon(name))
        if self._later is not None:
            self._later.cancel()
        self._later = asyncio.ensure_future(self._check_later())

    async def _check_soon(self, name: str) -> None:
        await asyncio.sleep(_SOON)
        with self.contained():
            self.check_file(name)

    async def _check_later(self) -> None:
        await asyncio.sleep(_PAUSE)
        if self._running is not None:
            await asyncio.wait([self._running])
        edits, workspace = self.edits, self.files
        if workspace is None:
            return
        with self.contained():
            run = partial(check, workspace.inputs, workspace.options)
            self._running = asyncio.get_running_loop().run_in_executor(self._other_process(), run)
            result = await asyncio.shield(self._running)
            if edits == self.edits:
                self.show_all(result)

    def _other_process(self) -> ProcessPoolExecutor:
        """Return a copy of this program, so that edits do not wait for a check of everything."""
        if self._pool is None or self._pool._broken:
            self._pool = ProcessPoolExecutor(1, get_context("spawn"), begin_process)
        return self._pool

    def close(self) -> None:
        """End what still runs."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def check_file(self, name: str) -> None:
        """Check the text of one file, and show what is found."""
        files = self.files
        if files is None or name not in files.texts:
            return
        text = files.texts[name]
        if own_files.is_configuration(name):
            self.publish(name, own_files.check_configuration(text))
        elif own_files.is_rule(name, files.options.selection.folders):
            self.publish(name, own_files.check_rule(name, text))
        else:
            found = files.check_file(name)
            if found is not None:
                self.found[name] = found
                self.publish(name, diagnostics(found))

    def show_all(self, result: LintResult) -> None:
        """Show what a check of everything has found, in each file."""
        files = self.files
        assert files is not None
        own = {n for n in files.texts if own_files.is_configuration(n)}
        named = {finding.region.file for finding in result.findings} | {*files.texts} | self.shown
        for name in sorted(named - own):
            if own_files.is_rule(name, files.options.selection.folders):
                continue
            text = files.texts.get(name)
            found = found_in(result, name, text if text is not None else _read(name))
            self.found[name] = found
            self.publish(name, diagnostics(found))
        with contextlib.suppress(Exception):  # not every editor has them
            self.workspace_code_lens_refresh(None)

    def publish(self, name: str, found: list[types.Diagnostic]) -> None:
        """Show the findings of a file."""
        if found:
            self.shown.add(name)
        else:
            self.shown.discard(name)
        params = types.PublishDiagnosticsParams(uri_of(name), found)
        self.text_document_publish_diagnostics(params)

    def current(self, name: str) -> FoundInFile | None:
        """Return what is found in the text that a file has now."""
        files, found = self.files, self.found.get(name)
        if files is None or name not in files.texts:
            return None
        if found is None or found.text != files.texts[name]:
            checked = files.check_file(name)
            if checked is None:
                text = files.texts[name]
                checked = found_in(files.check_all(), name, text)
            self.found[name] = found = checked
        return found


def _read(name: str) -> str:
    try:
        return files.read_file(name).decode(errors="replace")
    except OSError:
        return ""
