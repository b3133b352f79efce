"""Record files: read and checked. Mistakes name file and line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import ValidationError, convert
from msgspec.structs import fields

from shutdownlint import files
from shutdownlint.numbers import clip_whole
from shutdownlint.programs.errors import ProgramFileError
from shutdownlint.programs.record import Program
from shutdownlint.wording import did_you_mean
from shutdownlint.yaml_source.location import EntryPart
from shutdownlint.yaml_source.source_file import parse_mapping, read_source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.yaml_source.tree import Tree

_Path = tuple[str | int, ...]
#: The end of the library's messages, and a step of the path in it.
_AT: Final = re.compile(r" - at `(?:key in )?\$([^`]*)`$")
_STEP: Final = re.compile(r"\.([\w-]+)|\[([0-9]+)\]")
_MOST_ITEMS: Final = 10**6
_UNKNOWN_KEY: Final = re.compile(r"Object contains unknown field `(.*)`")


def load_folder(folder: Path) -> dict[str, Program]:
    """Return the user's own records by file. Raises ``ProgramFileError``."""
    found = sorted(map(Path, files.files_below(folder, ".yaml")))
    if not found:
        reason = "has no record files (*.yaml)" if files.is_folder(folder) else "is not a folder"
        raise ProgramFileError(str(folder), 1, reason)
    programs = {str(path): load_record(path) for path in found}
    for file, program in programs.items():
        if program.reader:
            raise ProgramFileError(file, 1, "reader: only records of shutdownlint have one")
    return programs


def load_record(path: Path) -> Program:
    """Return the record of a file. Raises ``ProgramFileError``."""
    return parse_record(read_source(path, ProgramFileError), str(path))


def parse_record(text: str, file: str) -> Program:
    """Return a record from its text. Raises ``ProgramFileError`` with the line of the mistake."""
    tree, data = parse_mapping(text, file, "a record file", ProgramFileError)
    try:
        program: Program = convert(data, Program)
    except ValidationError as error:
        raise _as_file_error(str(error), tree, file) from None
    for key_path, reason in _mistakes(program):
        raise ProgramFileError(file, _line(tree, key_path), f"{key_path[0]}: {reason}")
    return program


def _mistakes(program: Program) -> Iterator[tuple[_Path, str]]:
    """Yield what the types of the keys do not show."""
    ways = (program.programs, program.modules, program.evidence, program.images)
    settings = [name for each in program.settings for name in each.flags + each.properties]
    if not any(ways) and not settings:
        keys = "programs, modules, evidence, images, or a flag of its times"
        yield ("name",), f"nothing shows that it runs: write one of {keys}"
    needs = [each.value for each in program.at_signal.values() if each.value.startswith("needs")]
    if needs and not program.handler:
        yield ("at_signal",), f"'{needs[0]}' needs 'handler': what to look for in the code"
    if program.limit_finishes and program.limit is None:
        yield ("limit_finishes",), "needs a limit"
    if program.at_signal and "SIGTERM" not in program.at_signal:
        yield ("at_signal",), "needs SIGTERM, the signal that containers get by default"
    if not program.measured and not program.sources:
        yield ("name",), "needs 'measured' or 'sources': where the facts come from"
    for number, image in enumerate(program.images):
        if not (image.entrypoint or image.command or program.programs):
            text = "needs 'entrypoint' or 'command', since the record names no program"
            yield ("images", number), text


def _as_file_error(message: str, tree: Tree, file: str) -> ProgramFileError:
    """Return the library's message as one of ours, with the line that its path leads to."""
    at = _AT.search(message)
    steps = _STEP.findall(at[1]) if at is not None else []
    key_path: _Path = tuple(
        clip_whole(number, _MOST_ITEMS) if number else name for name, number in steps
    )
    reason = _AT.sub("", message)
    unknown = _UNKNOWN_KEY.match(reason)
    if unknown is not None:
        key = unknown[1]
        hint = did_you_mean(key, [each.encode_name for each in fields(Program)])
        reason, key_path = f"is not a key of program records{hint}", (*key_path, key)
    else:
        reason = reason[:1].lower() + reason[1:]
    name = ".".join(str(step) for step in key_path)
    return ProgramFileError(file, _line(tree, key_path), f"{name}: {reason}" if name else reason)


def _line(tree: Tree, key_path: _Path) -> int:
    return tree.region(key_path, EntryPart.VALUE, "", 1).line
