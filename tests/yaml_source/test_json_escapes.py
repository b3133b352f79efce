"""Characters that JSON writes as two escapes, and YAML does not."""

from __future__ import annotations

import pytest

from shutdownlint.yaml_source.composer import ComposeError, compose


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'{"a": "\ud83d\ude00"}', "\U0001f600"),
        (r'{"a": "x\uD83D\uDE00y\ud800\udc00"}', "x\U0001f600y\U00010000"),
        (r'{"a": "\\\ud83d\ude00"}', "\\\U0001f600"),
        (r'{"a": "\\ud83d\\ude00"}', r"\ud83d\ude00"),
        (r'{"\ud83d\ude00": "a"}', "a"),
        (r'{"a": "\ud83d"}', "\ufffd"),
        (r'{"a": "\ude00\ud83dx"}', "\ufffd\ufffdx"),
    ],
)
def test_json_writes_characters_as_two_escapes(text: str, value: str) -> None:
    (root,) = compose(text)
    ((key, node),) = root.value
    assert node.value == value
    assert text[node.start_mark.index] == '"'
    assert text[node.end_mark.index :] == "}"
    assert key.value in ("a", "\U0001f600")


@pytest.mark.parametrize("text", [r'a: "\ud83d\ude00"', r'["\ud83d\ude00"]'])
def test_yaml_does_not(text: str) -> None:
    with pytest.raises(ComposeError, match="escape"):
        compose(text)
