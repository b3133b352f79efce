"""A real client of the server over standard input and output, as an editor has one."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from lsprotocol import types
from pygls.lsp.client import LanguageClient

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")
#: The longest that an answer may take, in seconds: a bound for what hangs, not a measurement.
PATIENCE = 60


class Editor:
    """An editor with the files below a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.client = LanguageClient("test", "1")
        self.shown: dict[str, list[types.Diagnostic]] = {}
        self.messages: list[str] = []
        self.published = asyncio.Event()
        self.texts: dict[str, str] = {}
        self._versions: dict[str, int] = {}

        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)  # type: ignore[untyped-decorator]
        def published(params: types.PublishDiagnosticsParams) -> None:
            name = Path(params.uri.removeprefix("file://")).relative_to(folder).as_posix()
            self.shown[name] = list(params.diagnostics)
            self.published.set()

        @self.client.feature(types.WINDOW_SHOW_MESSAGE)  # type: ignore[untyped-decorator]
        def message(params: types.ShowMessageParams) -> None:
            self.messages.append(params.message)

        @self.client.feature(types.WORKSPACE_CODE_LENS_REFRESH)  # type: ignore[untyped-decorator]
        def refresh(_params: Any) -> None:
            return None

    async def start(self, *options: str) -> None:
        """Start the server in the folder."""
        words = ("-m", "shutdownlint", "server", *options)
        await self.client.start_io(sys.executable, *words, cwd=str(self.folder))
        root = self.folder.as_uri()
        params = types.InitializeParams(types.ClientCapabilities(), root_uri=root)
        await self.client.initialize_async(params)
        self.client.initialized(types.InitializedParams())

    async def stop(self) -> None:
        """End the server as an editor does."""
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await asyncio.sleep(0)
        await self.client.stop()  # type: ignore[no-untyped-call]

    def uri(self, name: str) -> str:
        """Return the address of a file."""
        return (self.folder / name).as_uri()

    def open(self, name: str) -> None:
        """Open a file."""
        text = self.texts[name] = (self.folder / name).read_text()
        self._versions[name] = 1
        item = types.TextDocumentItem(self.uri(name), "yaml", 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def change(self, name: str, text: str) -> None:
        """Give an open file another text."""
        self.texts[name] = text
        self._versions[name] += 1
        where = types.VersionedTextDocumentIdentifier(self._versions[name], self.uri(name))
        whole = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(where, [whole]))

    async def until(self, name: str, holds: Callable[[list[str]], bool]) -> list[str]:
        """Wait until the rules that are shown of a file are as asked."""

        async def wait() -> list[str]:
            while not (name in self.shown and holds(self.rules(name))):
                self.published.clear()
                await self.published.wait()
            return self.rules(name)

        return await asyncio.wait_for(wait(), PATIENCE)

    def rules(self, name: str) -> list[str]:
        """Return the rules of the findings that are shown of a file."""
        return [str(each.code) for each in self.shown.get(name, ())]

    async def hover(self, name: str, line: int, character: int = 0) -> str:
        """Return what is shown over a place."""
        params = types.HoverParams(self._at(name), types.Position(line, character))
        found = await self.client.text_document_hover_async(params)
        if found is None:
            return ""
        assert isinstance(found.contents, types.MarkupContent)
        return found.contents.value

    async def actions(self, name: str, line: int) -> dict[str, types.CodeAction]:
        """Return what can be done about a line, by title."""
        place = types.Range(types.Position(line, 0), types.Position(line, 0))
        params = types.CodeActionParams(self._at(name), place, types.CodeActionContext([]))
        found = await self.client.text_document_code_action_async(params)
        return {each.title: each for each in found or () if isinstance(each, types.CodeAction)}

    async def lenses(self, name: str) -> dict[int, str]:
        """Return the texts above lines."""
        params = types.CodeLensParams(self._at(name))
        found = await self.client.text_document_code_lens_async(params)
        return {each.range.start.line: each.command.title for each in found or () if each.command}

    async def completions(self, name: str, line: int) -> dict[str, str]:
        """Return the keys that may be at a line, with their documentation."""
        params = types.CompletionParams(self._at(name), types.Position(line, 0))
        found = await self.client.text_document_completion_async(params)
        assert isinstance(found, list)
        return {each.label: str(each.documentation) for each in found}

    def apply(self, action: types.CodeAction) -> None:
        """Make the edits of an action in the open files."""
        assert action.edit is not None
        for uri, edits in (action.edit.changes or {}).items():
            name = Path(uri.removeprefix("file://")).relative_to(self.folder).as_posix()
            text = self.texts[name]
            for edit in edits:
                assert isinstance(edit, types.TextEdit)
                begin = _offset(text, edit.range.start)
                end = _offset(text, edit.range.end)
                text = text[:begin] + edit.new_text + text[end:]
            self.change(name, text)

    def _at(self, name: str) -> types.TextDocumentIdentifier:
        return types.TextDocumentIdentifier(self.uri(name))


def _offset(text: str, place: types.Position) -> int:
    """Return the offset of a place that counts in UTF-16."""
    lines = text.split("\n")
    before = sum(len(line) + 1 for line in lines[: place.line])
    line = lines[place.line] if place.line < len(lines) else ""
    units = 0
    for number, letter in enumerate(line):
        if units >= place.character:
            return before + number
        units += 2 if ord(letter) > 0xFFFF else 1
    return before + len(line)


def in_editor(folder: Path, act: Callable[[Editor], Awaitable[T]], *options: str) -> T:
    """Do something in an editor with a server of its own, and end both."""

    async def session() -> T:
        editor = Editor(folder)
        await editor.start(*options)
        try:
            return await asyncio.wait_for(act(editor), PATIENCE)
        finally:
            await editor.stop()

    return asyncio.run(session())
