"""Load rules: those that come with shutdownlint from compiled data, the user's own from files.

Bundled rules are compiled when the package is built (``compile_rules``): checking rule files takes
longer than a small run. In a checkout the data may be missing, or older than the files; then the
files are compiled in memory.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import DecodeError, Raw, Struct, msgpack
from msgspec.structs import replace

from shutdownlint import files
from shutdownlint.engine.errors import RuleFileError
from shutdownlint.engine.rule import Rule, bundled_folder
from shutdownlint.installation import checkout_state, read_compiled_rules

if TYPE_CHECKING:
    from collections.abc import Iterable

#: The folder of rules about the run itself; it belongs to no platform.
GENERAL_FOLDER: Final = "general"


class CompiledRules(Struct, array_like=True, frozen=True):
    """The bundled rules by folder, and the state of the checkout that they were compiled from.

    Their files are relative to the folder of the rules.
    """

    state: str
    folders: dict[str, Raw]


def load_bundled(folders: Iterable[str]) -> list[Rule]:
    """Return the rules that come with shutdownlint, of these platforms' folders."""
    compiled, root = _compiled(), bundled_folder()
    rules = [
        rule
        for name in (GENERAL_FOLDER, *folders)
        if name in compiled.folders
        for rule in msgpack.decode(compiled.folders[name], type=list[Rule])
    ]
    placed = [
        replace(
            rule,
            file=str(root / rule.file),
            region=replace(rule.region, file=str(root / rule.file)),
        )
        for rule in rules
    ]
    return sorted(placed, key=lambda rule: rule.id)


def load_all_bundled() -> list[Rule]:
    """Return every rule that comes with shutdownlint."""
    return load_bundled(sorted({*_compiled().folders} - {GENERAL_FOLDER}))


def load_folder(folder: Path) -> list[Rule]:
    """Return the user's own rules. Raises ``RuleFileError``."""
    from shutdownlint.engine.loader import full_vocabulary, load_rules  # noqa: PLC0415 - pydantic

    found = rule_files(folder)
    if not found:
        reason = "has no rule files (*.yaml)" if files.is_folder(folder) else "is not a folder"
        raise RuleFileError(str(folder), 1, reason)
    return load_rules(found, full_vocabulary())


def rule_files(folder: Path) -> list[Path]:
    """Return the rule files in and below a folder; links to folders are not followed."""
    found = []
    for top, _, names, _ in files.walk(folder, (".yaml",)):
        found += [Path(top) / name for name in names if name.endswith(".yaml")]
    return sorted(found)


@cache
def _compiled() -> CompiledRules:
    try:
        compiled = msgpack.decode(read_compiled_rules(), type=CompiledRules)
    except (OSError, DecodeError):
        compiled = None
    if compiled is not None and compiled.state == checkout_state():
        return compiled
    from shutdownlint.engine.compile_rules import compile_rules  # noqa: PLC0415 - in checkouts

    return msgpack.decode(compile_rules(in_checkout=True), type=CompiledRules)
