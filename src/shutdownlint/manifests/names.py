"""Names and labels as Kubernetes takes them. Others are in no query and in no script."""

from __future__ import annotations

from typing import Final

from shutdownlint.patterns import lazy_pattern

_NAME: Final = lazy_pattern(r"[a-zA-Z0-9]([a-zA-Z0-9._-]{0,251}[a-zA-Z0-9])?")
_LABEL_KEY: Final = lazy_pattern(
    r"([a-zA-Z0-9][a-zA-Z0-9.-]{0,252}/)?[a-zA-Z0-9]([a-zA-Z0-9._-]{0,61}[a-zA-Z0-9])?"
)
_LABEL_VALUE: Final = lazy_pattern(r"([a-zA-Z0-9]([a-zA-Z0-9._-]{0,61}[a-zA-Z0-9])?)?")


def is_name(text: str) -> bool:
    """Whether it can be the name of an object or a namespace."""
    return _NAME.fullmatch(text) is not None


def is_label(key: str, value: str) -> bool:
    """Whether it can be a label."""
    return _LABEL_KEY.fullmatch(key) is not None and _LABEL_VALUE.fullmatch(value) is not None
