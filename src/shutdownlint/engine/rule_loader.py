"""Load rules: those that come with shutdownlint from compiled data, the user's own from files.

Bundled rules are compiled when the package is built: checking rule files takes longer than a small
run. In a checkout the data may be missing, or older than the files; then the files are compiled in
memory.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import DecodeError, Raw, Struct, msgpack
from msgspec.structs import replace

from shutdownlint import files
from shutdownlint.engine.errors import RuleFileError
from shutdownlint.engine.rule import Rule, bundled_folder, merge_rules
from shutdownlint.installation import COMPILED_RULES, checkout_state, read_compiled

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
    rules = [rule for name in (GENERAL_FOLDER, *folders) for rule in _rules_in(name)]
    return sorted(rules, key=lambda rule: rule.id)


@cache
def _rules_in(folder: str) -> tuple[Rule, ...]:
    """Return the rules of a folder; a server that checks again and again has them once."""
    compiled, root = _compiled(), bundled_folder()
    if folder not in compiled.folders:
        return ()
    rules = msgpack.decode(compiled.folders[folder], type=list[Rule])
    return tuple(_with_file(rule, str(root / rule.file)) for rule in rules)


def load_all_bundled() -> list[Rule]:
    """Return every rule that comes with shutdownlint."""
    return load_bundled(sorted({*_compiled().folders} - {GENERAL_FOLDER}))


def load_folder(folder: Path) -> list[Rule]:
    """Return the user's own rules. Raises ``RuleFileError``."""
    from shutdownlint.engine.loader import full_vocabulary, load_rules  # noqa: PLC0415 - pydantic

    found = _rule_files(folder)
    if not found:
        reason = "has no rule files (*.yaml)" if files.is_folder(folder) else "is not a folder"
        raise RuleFileError(str(folder), 1, reason)
    return load_rules(found, full_vocabulary())


def compile_rules(*, in_checkout: bool) -> bytes:
    """Compile the bundled rule files into the data that is read from the package.

    ``in_checkout``: it is used only as long as the files of the checkout stay the same. Raises
    ``RuleFileError`` for a mistake in a file, and for an id that two files have.
    """
    from shutdownlint.engine.loader import full_vocabulary, load_rules  # noqa: PLC0415 - pydantic

    root, vocabulary = bundled_folder(), full_vocabulary()
    known: list[Rule] = []
    folders: dict[str, Raw] = {}
    with files.without_recording():
        for folder in sorted(path for path in root.iterdir() if path.is_dir()):
            rules = load_rules(_rule_files(folder), vocabulary, folder.name)
            known = merge_rules(known, rules)
            relative = [_with_file(r, Path(r.file).relative_to(root).as_posix()) for r in rules]
            folders[folder.name] = Raw(msgpack.encode(relative))
    return msgpack.encode(CompiledRules(checkout_state() if in_checkout else "", folders))


def write_compiled_rules() -> None:
    """Write the compiled rules of a checkout, where they are read."""
    Path(COMPILED_RULES).write_bytes(compile_rules(in_checkout=True))


def _with_file(rule: Rule, file: str) -> Rule:
    return replace(rule, file=file, region=replace(rule.region, file=file))


def _rule_files(folder: Path) -> list[Path]:
    return sorted(map(Path, files.files_below(folder, ".yaml")))


@cache
def _compiled() -> CompiledRules:
    try:
        compiled = msgpack.decode(read_compiled(COMPILED_RULES), type=CompiledRules)
    except (OSError, DecodeError):
        compiled = None
    if compiled is None or compiled.state != checkout_state():
        compiled = msgpack.decode(compile_rules(in_checkout=True), type=CompiledRules)
    return compiled
