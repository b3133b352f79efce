"""What an editor may send, and what becomes of it."""

from __future__ import annotations

import urllib.parse
from typing import TYPE_CHECKING

from lsprotocol import types

from shutdownlint.server import own_files
from shutdownlint.server.actions import actions_at
from shutdownlint.server.positions import split_lines
from shutdownlint.server.protocol import Server
from shutdownlint.server.texts import (
    hover_of_pod,
    hover_of_rule,
    hover_of_service,
    lenses,
    name_of,
    pod_at,
)

if TYPE_CHECKING:
    from shutdownlint.server.workspace import Load


def make_server(load: Load) -> Server:
    """Return the server; ``load`` reads the configuration and finds the files."""
    server = Server(load)
    _take_texts(server)
    _answer_requests(server)
    return server


def _take_texts(server: Server) -> None:
    """Follow the texts of the editor."""

    def take(uri: str) -> None:
        name = name_of(uri)
        if server.files is not None and name:
            server.files.texts[name] = server.workspace.get_text_document(uri).source
            server.edited(name)

    @server.feature(types.INITIALIZED)
    def initialized(_params: types.InitializedParams) -> None:
        folders = list(server.workspace.folders.values())
        uri = folders[0].uri if folders else server.workspace.root_uri
        with server.contained():
            server.open_workspace(urllib.parse.unquote(urllib.parse.urlsplit(uri or "").path))

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        with server.contained():
            name = name_of(params.text_document.uri)
            if server.files is not None and name and name not in server.files.names():
                server.reload()  # it is new
            take(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        with server.contained():
            take(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def did_save(params: types.DidSaveTextDocumentParams) -> None:
        with server.contained():
            server.reload()  # other programs may have written files as well
            take(params.text_document.uri)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def did_change_files(_params: types.DidChangeWatchedFilesParams) -> None:
        with server.contained():
            server.reload()
            for name in server.files.texts if server.files is not None else ():
                server.edited(name)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        with server.contained():
            name = name_of(params.text_document.uri)
            if server.files is not None and server.files.texts.pop(name, None) is not None:
                server.edited(name)


def _answer_requests(server: Server) -> None:
    """Answer what the editor asks about a place of a text."""

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> types.Hover | None:
        text = ""
        with server.contained():
            text = _hover(server, params)
        kind = types.MarkupKind.Markdown
        return types.Hover(types.MarkupContent(kind, text)) if text else None

    @server.feature(types.TEXT_DOCUMENT_COMPLETION)
    def completion(params: types.CompletionParams) -> list[types.CompletionItem]:
        items: list[types.CompletionItem] = []
        with server.contained():
            name = name_of(params.text_document.uri)
            if server.is_own_file(name):
                items += own_files.complete(name, server.text_of(name), params.position.line)
        return items

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(
            [
                types.CodeActionKind.QuickFix,
                types.CodeActionKind.Refactor,
                types.CodeActionKind.RefactorRewrite,
            ]
        ),
    )
    def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        actions: list[types.CodeAction] = []
        with server.contained():
            name = name_of(params.text_document.uri)
            found = server.current(name)
            if server.files is not None and found is not None:
                actions += actions_at(server.files, name, found, params.range)
        return actions

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    def code_lens(params: types.CodeLensParams) -> list[types.CodeLens]:
        shown: list[types.CodeLens] = []
        with server.contained():
            found = server.current(name_of(params.text_document.uri))
            shown += lenses(found) if found is not None else ()
        return shown


def _hover(server: Server, params: types.HoverParams) -> str:
    name, place = name_of(params.text_document.uri), params.position
    files, text = server.files, server.text_of(name)
    if server.is_own_file(name):
        return own_files.hover(name, text, place.line)
    lines = split_lines(text)
    if files is None or place.line >= len(lines):
        return ""
    page = hover_of_rule(lines[place.line], place.character)
    pod = None if page else pod_at(files.plan_file(name), place.line + 1)
    if page or pod is not None:
        return page or (hover_of_pod(pod) if pod is not None else "")
    if "Service" not in text:
        return ""
    return hover_of_service(files.plan_all(), name, place.line + 1)
