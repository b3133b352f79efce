"""Configuration and rule files in an editor: mistakes, completion and hover, by their schemas."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types
from pydantic import ValidationError

from shutdownlint.config import CONFIG_NAMES
from shutdownlint.config.load import ConfigForm
from shutdownlint.engine.errors import RuleFileError
from shutdownlint.engine.loader import full_vocabulary, parse_rule
from shutdownlint.engine.schema import RuleSchema
from shutdownlint.patterns import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_TABLE: Final = lazy_pattern(r"\s*\[\[?\s*([A-Za-z0-9_.-]+)\s*\]\]?\s*(?:#.*)?")
_KEY: Final = lazy_pattern(r"\s*(?:- )?[\"']?([A-Za-z][A-Za-z0-9_-]*)[\"']?\s*[=:]")
_LINE: Final = lazy_pattern(r":([0-9]{1,7})(?::([0-9]{1,7}))?")
_TOML_LINE: Final = lazy_pattern(r"\(at line ([0-9]+), column ([0-9]+)\)")


def is_configuration(name: str) -> bool:
    """Whether a file is the tool's own configuration."""
    return Path(name).name == CONFIG_NAMES[0]


def is_rule(name: str, folders: tuple[str, ...]) -> bool:
    """Whether a file is a rule of the configured folders."""
    return name.endswith((".yaml", ".yml")) and any(
        Path(name).absolute().is_relative_to(Path(folder).absolute()) for folder in folders
    )


def check_configuration(text: str) -> list[types.Diagnostic]:
    """Return the mistakes of a configuration."""
    try:
        ConfigForm.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        found = _TOML_LINE.search(str(error))
        line, column = (int(found[1]), int(found[2])) if found is not None else (1, 1)
        return [_mistake(str(error), line - 1, column - 1)]
    except ValidationError as error:
        return [_of_form(each, text) for each in error.errors(include_url=False)]
    return []


def _of_form(error: Mapping[str, Any], text: str) -> types.Diagnostic:
    """Return a mistake at the line of the key that it is about."""
    names = [str(part) for part in error["loc"] if isinstance(part, str)]
    message = f"{'.'.join(names)}: {error['msg']}"
    for number, line in enumerate(text.splitlines()):
        key = _KEY.match(line)
        table = _TABLE.fullmatch(line)
        if names and ((key and key[1] == names[-1]) or (table and table[1] == names[-1])):
            return _mistake(message, number, len(line) - len(line.lstrip()))
    return _mistake(message, 0, 0)


def check_rule(name: str, text: str) -> list[types.Diagnostic]:
    """Return the mistake of a rule file; the first one that is found."""
    try:
        parse_rule(text, name, full_vocabulary())
    except RuleFileError as error:
        found = _LINE.search(str(error))
        line = int(found[1]) if found is not None else 1
        return [_mistake(str(error), line - 1, 0)]
    return []


def _mistake(message: str, line: int, column: int) -> types.Diagnostic:
    place = types.Position(max(line, 0), max(column, 0))
    end = types.Position(place.line, place.character + 1)
    severity = types.DiagnosticSeverity.Error
    return types.Diagnostic(types.Range(place, end), message, severity, source="shutdownlint")


def complete(name: str, text: str, line: int) -> Iterator[types.CompletionItem]:
    """Yield the keys that may stand at a line, with their documentation."""
    for key, about in _keys_at(name, text, line).items():
        form = f"{key} = " if is_configuration(name) else f"{key}: "
        yield types.CompletionItem(
            key,
            kind=types.CompletionItemKind.Property,
            documentation=str(about.get("description", "")),
            insert_text=form,
        )


def hover(name: str, text: str, line: int) -> str:
    """Return the documentation of the key of a line; empty where it is none."""
    lines = text.splitlines()
    shown = lines[line] if line < len(lines) else ""
    found = _KEY.match(shown) or _TABLE.fullmatch(shown)
    if found is None:
        return ""
    keys = _keys_at(name, text, line)
    about = keys.get(found[1]) or _top(name)[1].get(found[1], {})
    description = str(about.get("description", ""))
    return f"**{found[1]}**: {description}" if description else ""


def _top(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the schema of a file, and its keys."""
    model = ConfigForm if is_configuration(name) else RuleSchema
    schema = model.model_json_schema()
    return schema, schema.get("properties", {})


def _keys_at(name: str, text: str, line: int) -> dict[str, Any]:
    """Return the keys of the table, or of the key with less indentation, that a line is in."""
    schema, keys = _top(name)
    lines = text.splitlines()
    path: list[str] = []
    if is_configuration(name):
        for above in reversed(lines[:line]):
            table = _TABLE.fullmatch(above)
            if table is not None:
                path = table[1].split(".")
                break
    else:
        shown = lines[line] if line < len(lines) else ""
        indent = len(shown) - len(shown.lstrip())
        for above in reversed(lines[:line]):
            own = len(above) - len(above.lstrip())
            key = _KEY.match(above)
            if key is not None and own < indent:
                path.insert(0, key[1])
                indent = own
    for part in path:
        keys = _below(schema, keys.get(part, {}))
    return keys


def _below(schema: dict[str, Any], entry: dict[str, Any]) -> dict[str, Any]:
    """Return the keys inside of an entry of a schema."""
    pending, found = [entry], {}
    while pending:
        current = pending.pop()
        if "$ref" in current:
            current = schema.get("$defs", {}).get(current["$ref"].rpartition("/")[2], {})
        found.update(current.get("properties", {}))
        pending += [each for each in current.get("anyOf", []) if isinstance(each, dict)]
        if isinstance(current.get("items"), dict):
            pending.append(current["items"])
    return found
