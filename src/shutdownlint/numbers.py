"""Numbers in texts of the input. Each reader has a bound, so that nothing behind it needs one.

A text may have thousands of digits, digits of other scripts, an exponent or a sign. These readers
are the only way from such a text to a number; a test of the source says so.
"""

from __future__ import annotations

#: The digits of a number that anything here counts with.
_MOST_DIGITS = 9
_MOST_HEX_DIGITS = 11


def read_whole(text: str, digits: int = _MOST_DIGITS) -> int | None:
    """Return a whole number of so many digits at most; None for anything else, a sign too."""
    if not (text.isascii() and text.isdigit()):
        return None
    bare = text.lstrip("0") or "0"
    return int(bare) if len(bare) <= digits else None


def clip_whole(text: str, most: int) -> int:
    """Return the number of a text of digits, ``most`` where it is larger.

    Raises ``ValueError`` for any other text.
    """
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"{text[:20]!r} is not a whole number")
    number = read_whole(text, len(str(most)))
    return most if number is None else min(number, most)


def read_percentage(text: str) -> int | None:
    """Return the number of a percentage such as ``25%``; None for anything else."""
    return read_whole(text[:-1]) if text.endswith("%") else None


def clip_decimal(text: str, most: float) -> float:
    """Return the number of a text such as ``1.5``, ``most`` where it is larger.

    Raises ``ValueError`` for any other text, with an exponent or a sign.
    """
    if not text.isascii() or not text.replace(".", "", 1).isdigit():
        raise ValueError(f"{text[:20]!r} is not a number")
    return min(float(text), most)


def read_hex(text: str) -> int:
    """Return a number of up to eleven hexadecimal digits. Raises ``ValueError``."""
    if len(text) > _MOST_HEX_DIGITS or not text.isalnum():
        raise ValueError(f"{text[:20]!r} is not a hexadecimal number")
    return int(text, 16)
