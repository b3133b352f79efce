"""Bundled and user rules, cached between runs: checking rule files takes longer than a small run.

The cache is in the user's cache folder. An entry is used only while every rule file of its folder,
and the installation, is unchanged. It holds data only; what cannot be read or written
there is done without.
"""

from __future__ import annotations

import os
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import DecodeError, Struct, msgpack

from shutdownlint import files
from shutdownlint.cache_folder import KeptEntries, cache_folder
from shutdownlint.engine.errors import RuleFileError
from shutdownlint.engine.rule import Rule, bundled_folder
from shutdownlint.installation import installation_state

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shutdownlint.engine.vocabulary import Vocabulary

#: The folder of rules about the run itself; it belongs to no platform.
GENERAL_FOLDER = "general"


class _CacheEntry(Struct, array_like=True):
    state: tuple[str, ...]
    rules: list[Rule]


class RuleLoader:
    """Loads rules, from the cache where that is possible."""

    def __init__(self) -> None:
        self._vocabulary: Vocabulary | None = None

    @cached_property
    def _entries(self) -> KeptEntries | None:
        """The cache of rules; None if nothing is cached."""
        folder = cache_folder()
        return KeptEntries(folder) if folder is not None else None

    def load_bundled(self, folders: Iterable[str]) -> list[Rule]:
        """Return the rules that come with shutdownlint, of these platforms' folders."""
        bundled = bundled_folder()
        rules: list[Rule] = []
        for name in (GENERAL_FOLDER, *folders):
            rules += files.without_notes(partial(self._load, bundled / name, name))
        return sorted(rules, key=lambda rule: rule.id)

    def load_all_bundled(self) -> list[Rule]:
        """Every rule that comes with shutdownlint."""
        names = (entry.name for entry in bundled_folder().iterdir() if entry.is_dir())
        return self.load_bundled(sorted(set(names) - {GENERAL_FOLDER}))

    def load_folder(self, folder: Path) -> list[Rule]:
        """Return the user's own rules. Raises ``RuleFileError``."""
        found = _rule_files(folder)
        if not found:
            reason = "has no rule files (*.yaml)" if folder.is_dir() else "is not a folder"
            raise RuleFileError(str(folder), 1, reason)
        try:
            state = [f"{path} {files.digest(files.read_file(path))}" for path in found]
        except OSError:  # checking it says what is wrong
            return self._check(folder, "")
        return self._load(folder, "", state)

    def _load(self, folder: Path, name: str, state: Iterable[str] = ()) -> list[Rule]:
        """Return rules of a folder; ``state`` is what they depend on beyond the installation."""
        if self._entries is None:
            return self._check(folder, name)
        key = f"rules-{files.digest(os.fsencode(folder.absolute()))[:8]}"
        wanted = (installation_state(), str(folder), *state)
        try:
            entry = msgpack.decode(self._entries.read(key) or b"", type=_CacheEntry)
        except DecodeError:
            entry = None
        if entry is not None and entry.state == wanted:
            return entry.rules
        rules = self._check(folder, name)
        self._entries.write(key, msgpack.encode(_CacheEntry(wanted, rules)))
        return rules

    def _check(self, folder: Path, name: str) -> list[Rule]:
        from shutdownlint.engine.loader import (  # noqa: PLC0415 - needs pydantic
            full_vocabulary,
            load_rules,
        )

        if self._vocabulary is None:
            self._vocabulary = full_vocabulary()
        return load_rules(_rule_files(folder), self._vocabulary, name)


def _rule_files(folder: Path) -> list[Path]:
    """Return the rule files of a folder and its subfolders, without following folder links."""
    found = []
    for top, _, names in files.walk(folder, (".yaml",)):
        found += [Path(top) / name for name in names if name.endswith(".yaml")]
    return sorted(found)
