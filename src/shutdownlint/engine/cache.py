"""Bundled and user rules, cached between runs: checking rule files takes longer than a small run.

The cache is in the user's cache folder. An entry is used only while every rule file of its folder,
and the code that checks them, is unchanged. It holds data only; what cannot be read or written
there is done without.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

from msgspec import DecodeError, Struct, msgpack

from shutdownlint import __version__
from shutdownlint.atomic_write import replace_file
from shutdownlint.engine.errors import RuleFileError
from shutdownlint.engine.rule import Rule, bundled_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shutdownlint.engine.vocabulary import Vocabulary

#: Names another folder for the cache; empty: nothing is cached.
CACHE_VARIABLE = "SHUTDOWNLINT_CACHE_DIR"
#: The folder of rules about the run itself; it belongs to no platform.
GENERAL_FOLDER = "general"


class _CacheEntry(Struct, array_like=True):
    state: tuple[str, ...]
    rules: list[Rule]


class RuleLoader:
    """Loads rules, from the cache where that is possible."""

    def __init__(self) -> None:
        self._vocabulary: Vocabulary | None = None
        self._code_state: tuple[str, ...] | None = None

    def load_bundled(self, folders: Iterable[str]) -> list[Rule]:
        """The rules that come with shutdownlint, of these platforms' folders."""
        bundled = bundled_folder()
        rules: list[Rule] = []
        for name in (GENERAL_FOLDER, *folders):
            rules += self._load(bundled / name, name)
        return sorted(rules, key=lambda rule: rule.id)

    def load_all_bundled(self) -> list[Rule]:
        """Every rule that comes with shutdownlint."""
        names = (entry.name for entry in bundled_folder().iterdir() if entry.is_dir())
        return self.load_bundled(sorted(set(names) - {GENERAL_FOLDER}))

    def load_folder(self, folder: Path) -> list[Rule]:
        """The user's own rules. Raises ``RuleFileError``."""
        if not list(_rule_files(folder)):
            reason = "has no rule files (*.yaml)" if folder.is_dir() else "is not a folder"
            raise RuleFileError(str(folder), 1, reason)
        return self._load(folder, "")

    def _load(self, folder: Path, name: str) -> list[Rule]:
        if not folder.is_dir():
            return []
        cache = _cache_folder()
        if cache is None:
            return self._check(folder, name)
        file = cache / f"rules-{crc32(os.fsencode(folder)):08x}"
        state = self._state(folder)
        try:
            entry = msgpack.decode(file.read_bytes(), type=_CacheEntry)
        except (OSError, DecodeError):
            entry = None
        if entry is not None and entry.state == state:
            return entry.rules
        rules = self._check(folder, name)
        try:
            cache.mkdir(parents=True, exist_ok=True)
            replace_file(file, msgpack.encode(_CacheEntry(state, rules)), mode=0o600)
        except OSError:
            return rules
        return rules

    def _check(self, folder: Path, name: str) -> list[Rule]:
        from shutdownlint.engine.loader import (  # noqa: PLC0415 - needs pydantic
            full_vocabulary,
            load_rules,
        )

        if self._vocabulary is None:
            self._vocabulary = full_vocabulary()
        return load_rules(_rule_files(folder), self._vocabulary, name)

    def _state(self, folder: Path) -> tuple[str, ...]:
        """What the rules were made of: files by name, size and time."""
        if self._code_state is None:
            engine = Path(__file__).parent
            packages = [engine, *_packages(engine.parent / "platforms")]
            self._code_state = (
                __version__,
                *(line for package in packages for line in _describe_code(package)),
            )
        return (*self._code_state, str(folder), *map(_describe_file, _rule_files(folder)))


def _rule_files(folder: Path) -> list[Path]:
    """The rule files of a folder and the folders below it; links to folders are not followed."""
    found = []
    for top, _, names in os.walk(folder):
        found += [Path(top) / name for name in names if name.endswith(".yaml")]
    return sorted(found)


def _packages(folder: Path) -> list[Path]:
    with os.scandir(folder) as entries:
        inner = sorted(e.path for e in entries if e.is_dir() and not e.name.startswith("_"))
    return [folder, *map(Path, inner)]


def _describe_code(folder: Path) -> Iterator[str]:
    with os.scandir(folder) as entries:
        found = [(e.name, e.stat()) for e in entries if e.name.endswith(".py")]
    for name, stat in sorted(found):
        yield f"{name} {stat.st_size} {stat.st_mtime_ns}"


def _describe_file(path: Path) -> str:
    try:
        stat = path.stat()
    except OSError:  # reading it will say what is wrong
        return f"{path} unreadable"
    return f"{path} {stat.st_size} {stat.st_mtime_ns}"


def _cache_folder() -> Path | None:
    try:
        return _user_cache_folder()
    except RuntimeError:  # there is no home folder
        return None


def _user_cache_folder() -> Path | None:
    named = os.environ.get(CACHE_VARIABLE)
    if named is not None:
        return Path(named) if named else None
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) / "shutdownlint" / "cache" if local else None
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "shutdownlint"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "shutdownlint"
