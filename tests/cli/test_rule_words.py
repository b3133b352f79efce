"""``rule WORD`` lists first what the word is about."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from shutdownlint.cli.app import command_line


def listed(word: str) -> list[str]:
    result = CliRunner().invoke(command_line(), ["rule", word])
    assert result.exit_code == 0
    return [line.split()[0] for line in result.output.splitlines()]


@pytest.mark.parametrize(
    ("word", "rule"),
    [
        ("retry", "SL202"),
        ("websocket", "SL203"),
        ("GOAWAY", "SL203"),
        ("excludeInboundPorts", "SL202"),
        ("kubeproxy_sync_proxy_rules_duration_seconds", "SL108"),
        ("metricRelabelings", "SL216"),
    ],
)
def test_words_of_the_field_find_a_rule(word: str, rule: str) -> None:
    assert rule in listed(word)


def test_titles_come_before_texts() -> None:
    lines = CliRunner().invoke(command_line(), ["rule", "drain"]).output.splitlines()
    named = ["drain" in line.lower() for line in lines]
    assert named == sorted(named, reverse=True)
    assert True in named
    assert False in named
