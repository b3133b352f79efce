"""Patterns that are compiled at their first use."""

from __future__ import annotations

import re
import sys

import pytest

from shutdownlint.library_imports import compiled_when_used, without_module
from shutdownlint.patterns import LazyPattern, lazy_pattern


def is_lazy(pattern: object) -> bool:
    return isinstance(pattern, LazyPattern)


def test_a_lazy_pattern_is_like_the_compiled_one() -> None:
    pattern = lazy_pattern("(?P<word>a+)b", re.IGNORECASE)
    assert is_lazy(pattern)
    assert pattern.groupindex == {"word": 1}
    assert pattern.flags & re.IGNORECASE
    assert pattern.subn("x", "AAb ab") == ("x x", 2)
    assert [found["word"] for found in pattern.finditer("AAb ab")] == ["AA", "a"]
    with pytest.raises(AttributeError):
        pattern.missing  # type: ignore[attr-defined]  # noqa: B018


def test_a_library_may_use_its_patterns_while_it_is_imported() -> None:
    with compiled_when_used():
        pattern = re.compile("a+")
        assert is_lazy(pattern)
        assert pattern.fullmatch("aaa")
    assert not is_lazy(re.compile("a+"))


def test_a_module_is_hidden_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "antigravity", raising=False)
    with without_module("antigravity"), pytest.raises(ImportError):
        import antigravity  # noqa: F401, PLC0415
    assert "antigravity" not in sys.modules
    with without_module("re"):
        assert sys.modules["re"] is re
