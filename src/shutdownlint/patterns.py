"""Regular expressions that are compiled when they are first used.

A run of one file uses few of some hundred, and compiling all of them would take as long as the
check itself.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr

#: Not looked up at the call: libraries are imported while it is replaced.
_compile = re.compile
_METHODS = ("match", "search", "fullmatch", "sub", "findall", "finditer", "split")


class LazyPattern:
    """A pattern that is compiled at the first use; it has the methods of the compiled one then."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text = text
        self._flags = flags

    def compiled(self) -> re.Pattern[Any]:
        """Return the pattern itself."""
        return _compile(self._text, self._flags)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = self.compiled()
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a regular expression for a module: compiled when it is first used."""
    made: Any = LazyPattern(pattern, flags)
    lazy: re.Pattern[AnyStr] = made
    return lazy
