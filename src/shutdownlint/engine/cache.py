"""Rules kept between runs as they were checked: reading and checking the rule files takes longer
than a small run.

What is kept stands in the user's cache folder and is used only while every rule file, and the
code that checks them, is the same as it was. It holds data only; what cannot be read or written
there is done without.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from zlib import crc32

from msgspec import DecodeError, Struct, msgpack

from shutdownlint import __version__
from shutdownlint.atomic_write import replace_file
from shutdownlint.engine.rule import Rule  # noqa: TC001 - decoded by type

#: Names another folder to keep them in; set to nothing, none are kept.
VARIABLE = "SHUTDOWNLINT_CACHE_DIR"


class _CacheEntry(Struct, array_like=True):
    state: tuple[str, ...]
    rules: list[Rule]


def load_cached_rules(folder: Path) -> list[Rule]:
    """All rules of a folder, by id. Raises ``RuleFileError``."""
    location = _folder()
    if location is None:
        return _load(folder)
    file = location / f"rules-{crc32(os.fsencode(folder)):08x}"
    try:
        state = _state(folder)
        kept = msgpack.decode(file.read_bytes(), type=_CacheEntry)
    except (OSError, DecodeError):
        kept = None
    if kept is not None and kept.state == state:
        return kept.rules
    rules = _load(folder)
    try:
        location.mkdir(parents=True, exist_ok=True)
        replace_file(file, msgpack.encode(_CacheEntry(_state(folder), rules)), mode=0o600)
    except OSError:
        return rules
    return rules


def _load(folder: Path) -> list[Rule]:
    from shutdownlint.engine.loader import load_rules  # noqa: PLC0415 - needs pydantic

    return load_rules(folder)


def _state(folder: Path) -> tuple[str, ...]:
    """What the rules were made of: files by name, size and time."""
    found = [str(folder), __version__]
    for region in (folder, Path(__file__).parent):
        with os.scandir(region) as entries:
            for entry in entries:
                if entry.name.endswith((".yaml", ".py")):
                    stat = entry.stat()
                    found.append(f"{entry.name} {stat.st_size} {stat.st_mtime_ns}")
    return tuple(sorted(found))


def _folder() -> Path | None:
    try:
        return _users()
    except RuntimeError:  # there is no home
        return None


def _users() -> Path | None:
    named = os.environ.get(VARIABLE)
    if named is not None:
        return Path(named) if named else None
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) / "shutdownlint" / "cache" if local else None
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "shutdownlint"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "shutdownlint"
