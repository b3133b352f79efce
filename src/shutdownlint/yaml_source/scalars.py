"""Plain scalars as Kubernetes reads them.

It and most meshes read YAML through sigs.k8s.io/yaml, that is go-yaml v2, whose table differs
from every Python library's: ``y`` is true, ``0o10`` is 8, ``1:30`` is a string, ``08`` is a float.
Source: go.yaml.in/yaml/v2 resolve.go, read at v2.4; outcomes verified with the real library.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from shutdownlint import limits
from shutdownlint.patterns import lazy_pattern

if TYPE_CHECKING:
    from yaml.nodes import ScalarNode

Scalar = str | int | float | bool | None

_STR_TAG: Final = "tag:yaml.org,2002:str"
#: The tag that ``compose`` gives to every node that carries none of its own.
UNTAGGED: Final = "tag:shutdownlint,untagged"

_WORDS: Final[dict[str, Scalar]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "off", "Off", "OFF"), False),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_NUMBER_START: Final = frozenset("+-.0123456789")
_INTEGERS: Final = (
    (lazy_pattern(r"[-+]?0[xX][0-9a-fA-F]+"), 16),
    (lazy_pattern(r"[-+]?0[bB][01]+"), 2),
    (lazy_pattern(r"[-+]?0[oO][0-7]+"), 8),
    (lazy_pattern(r"[-+]?0[0-7]+"), 8),
    (lazy_pattern(r"[-+]?(?:0|[1-9][0-9]*)"), 10),
)
_FLOAT: Final = lazy_pattern(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_UINT64_MAX: Final = 2**64 - 1
_INT64_MIN: Final = -(2**63)


#: Words that YAML 1.2 reads as text, and 1.1 as true or false.
_TEXT_WORDS: Final = frozenset(
    (
        "y",
        "Y",
        "yes",
        "Yes",
        "YES",
        "on",
        "On",
        "ON",
        "n",
        "N",
        "no",
        "No",
        "NO",
        "off",
        "Off",
        "OFF",
    )
)


def read_as_text(node: ScalarNode, *, words_only: bool) -> None:
    """Make an unquoted scalar text; ``words_only``: only one that is true or false in YAML 1.1."""
    if node.tag == UNTAGGED and (not words_only or node.value in _TEXT_WORDS):
        node.tag = _STR_TAG


def resolve_plain(text: str) -> Scalar:
    """Return the value of an unquoted, untagged scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_START or len(text) > limits.MAX_NUMBER_LENGTH:
        return text
    digits = text.replace("_", "")
    for pattern, base in _INTEGERS:
        if pattern.fullmatch(digits):
            value = _integer(digits, base)
            if _INT64_MIN <= value <= _UINT64_MAX:
                return value
    if _FLOAT.fullmatch(digits):
        number = float(digits)
        return text if math.isinf(number) else number  # too large for a float: text
    return text


def _integer(digits: str, base: int) -> int:
    sign = -1 if digits.startswith("-") else 1
    bare = digits.lstrip("+-")
    if base in (16, 2):
        bare = bare[2:]
    elif base == 8:
        bare = bare.lstrip("0oO") or "0"
    return sign * int(bare, base)


def read_scalar(node: ScalarNode) -> Scalar:
    """Return the value that Kubernetes gives to a scalar node; never raises."""
    text: str = node.value
    if node.tag != UNTAGGED or node.style not in (None, ""):
        return _explicit(node.tag, text)
    return resolve_plain(text)


def _explicit(tag: str, text: str) -> Scalar:
    if tag in (UNTAGGED, _STR_TAG) or not tag.startswith("tag:yaml.org,2002:"):
        return text
    if not text:
        return None if tag.endswith(":null") else ""
    return text if tag.endswith(":binary") else resolve_plain(text)
