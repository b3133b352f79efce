from __future__ import annotations

import math

import pytest

from shutdownlint.yaml_source.composer import compose
from shutdownlint.yaml_source.scalars import read_scalar, resolve_plain


@pytest.mark.parametrize(
    ("text", "value"),
    [
        # facts: sigs.k8s.io/yaml v1.6.0, run with the real library
        *((word, True) for word in ("yes", "on", "y", "Y", "true", "True", "ON")),
        *((word, False) for word in ("no", "off", "n", "N", "false", "FALSE")),
        *((word, None) for word in ("~", "null", "Null", "")),
        ("0777", 511),
        ("012", 10),
        ("0o10", 8),
        ("1_000", 1000),
        ("0x1F", 31),
        ("0b11", 3),
        ("+1", 1),
        ("-5", -5),
        ("0", 0),
        ("08", 8.0),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("1:30", "1:30"),
        ("12:30", "12:30"),
        ("2001-12-14", "2001-12-14"),
        ("=", "="),
        ("30s", "30s"),
        ("-", "-"),
        ("0x", "0x"),
        ("yEs", "yEs"),
    ],
)
def test_plain_scalars_as_kubernetes_reads_them(text: str, value: object) -> None:
    found = resolve_plain(text)
    assert found == value
    assert type(found) is type(value)


def test_infinity_and_not_a_number() -> None:
    assert resolve_plain(".inf") == math.inf
    nan = resolve_plain(".nan")
    assert isinstance(nan, float)
    assert math.isnan(nan)


@pytest.mark.parametrize(
    ("text", "value"),
    [("'true'", "true"), ('"30"', "30"), ("!!str 30", "30"), ("|\n  30\n", "30\n"), ("30", 30)],
)
def test_quotes_and_tags_keep_text(text: str, value: object) -> None:
    (node,) = compose(f"a: {text}")
    assert read_scalar(node.value[0][1]) == value
