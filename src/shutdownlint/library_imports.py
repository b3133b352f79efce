"""Libraries imported without the parts of them that a run does not need.

Only what is imported here at once may be imported.
"""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager

from shutdownlint.patterns import lazy_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def without_module(name: str) -> Iterator[None]:
    """Prevent the import of a module that a library can do without, unless already imported."""
    if name in sys.modules:
        yield
        return
    # The import system's own mark of a module that does not exist.
    sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[name]


@contextmanager
def compiled_when_used() -> Iterator[None]:
    """Delay compiling a library's patterns during its import until they are first used."""
    compile_now = re.compile
    re.compile = lazy_pattern  # type: ignore[assignment]
    try:
        yield
    finally:
        re.compile = compile_now


def import_msgspec() -> None:
    """Import msgspec without typing_extensions, half of the time that it takes.

    It uses what Python 3.11 and later have in typing instead.
    """
    try:
        with compiled_when_used(), without_module("typing_extensions"):
            import msgspec  # noqa: F401, PLC0415 - the point of the function
    except ImportError:  # then another release of it does need the module
        pass
