"""Compile the bundled rules into data that loads fast, when the package is built."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Raw, msgpack
from msgspec.structs import replace

from shutdownlint import files
from shutdownlint.engine.errors import RuleFileError
from shutdownlint.engine.loader import full_vocabulary, load_rules
from shutdownlint.engine.rule import bundled_folder
from shutdownlint.engine.rule_loader import CompiledRules, rule_files
from shutdownlint.installation import COMPILED_RULES, checkout_state

if TYPE_CHECKING:
    from shutdownlint.engine.rule import Rule


def compile_rules(*, in_checkout: bool) -> bytes:
    """Return the rule files of the installation as data for ``rule_loader``.

    ``in_checkout``: it is used only as long as the files of the checkout stay the same. Raises
    ``RuleFileError`` for a mistake in a file, and for an id that two files have.
    """
    with files.without_recording():
        folders = _compile()
    return msgpack.encode(CompiledRules(checkout_state() if in_checkout else "", folders))


def _compile() -> dict[str, Raw]:
    root, vocabulary = bundled_folder(), full_vocabulary()
    taken: dict[str, Rule] = {}
    folders: dict[str, Raw] = {}
    for folder in sorted(path for path in root.iterdir() if path.is_dir()):
        rules = load_rules(rule_files(folder), vocabulary, folder.name)
        for rule in rules:
            other = taken.setdefault(rule.id, rule)
            if other is not rule:
                reason = f"id {rule.id} is taken by {other.file}"
                raise RuleFileError(rule.file, rule.region.line, reason)
        folders[folder.name] = Raw(msgpack.encode([_relative(rule, root) for rule in rules]))
    return folders


def _relative(rule: Rule, root: Path) -> Rule:
    file = Path(rule.file).relative_to(root).as_posix()
    return replace(rule, file=file, region=replace(rule.region, file=file))


def write_compiled_rules() -> None:
    """Write the compiled rules of a checkout, where they are read."""
    Path(COMPILED_RULES).write_bytes(compile_rules(in_checkout=True))


if __name__ == "__main__":
    write_compiled_rules()
