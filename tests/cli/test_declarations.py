"""A command line means the same to our reader as to the command-line library."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from shutdownlint.cli.app import _as_library_command
from shutdownlint.cli.declarations import COMMANDS, call, parameters_of, read_words

WORDS = st.sampled_from(
    [
        *("k8s", "-", "--", "--format", "json", "text=out", "--format=sarif", "-o", "out", "-oout"),
        *("-q", "--quiet", "--quiet=yes", "-qo", "--fail-on", "note", "never", "--fail-on=x"),
        *("--p99", "10s", "x", "-5s", "--p99=2s", "--mesh", "istio=1.26", "none", "--mesh=kuma"),
        *("--notes", "--no-notes", "--no-respect-gitignore", "--respect-gitignore", "--help"),
        *("--set", "a=b", "--set=", "--istio-version", "1.30", "--color=always", "--colour"),
        *("--min-confidence", "medium", "--select", "SL1,SL2", "--config", "", "--no-cache"),
    ]
)


def given_to(name: str, words: list[str]) -> tuple[list[Any], list[Any]]:
    """Return the arguments of a command: with our reader, and with the library."""
    original = import_module(f"shutdownlint.cli.{name}").command
    seen: list[Any] = []

    def command(**values: Any) -> None:
        seen.append(values)

    command.__annotations__ = original.__annotations__
    command.__kwdefaults__ = original.__kwdefaults__
    values = read_words(command, words)
    if values is None:
        return [], []
    call(command, values)
    ours, seen[:] = list(seen), []
    app = typer.Typer()
    app.command()(_as_library_command(command))
    CliRunner().invoke(app, words)
    return ours, seen


@given(words=st.lists(WORDS, max_size=6))
def test_the_words_of_a_check_mean_the_same_to_both(words: list[str]) -> None:
    ours, theirs = given_to("check", words)
    assert ours == theirs


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("words", [[], ["a"], ["a", "b"], ["--format", "json", "x"]])
def test_the_words_of_each_command_mean_the_same_to_both(name: str, words: list[str]) -> None:
    ours, theirs = given_to(name, words)
    assert ours == theirs


@pytest.mark.parametrize(
    "words",
    [
        ["--format", "json", "-o", "out.json", "k8s", "--fail-on", "error", "-q"],
        ["--mesh", "istio=1.26", "--mesh=none", "--p99", "10s", "--exclude", "a", "--exclude=b"],
        ["--no-respect-gitignore", "--color", "never", "-"],
    ],
)
def test_a_line_without_mistakes_is_read_without_the_library(words: list[str]) -> None:
    ours, theirs = given_to("check", words)
    assert ours == theirs != []


@pytest.mark.parametrize(
    "words", [["--help"], ["--nothing"], ["-qo", "x"], ["--p99", "soon"], ["--p99"], ["-ox"]]
)
def test_a_mistake_is_left_to_the_library(words: list[str]) -> None:
    assert read_words(import_module("shutdownlint.cli.check").command, words) is None


def test_every_option_is_declared_in_a_way_that_both_know() -> None:
    for name in COMMANDS:
        parameters = list(parameters_of(import_module(f"shutdownlint.cli.{name}").command))
        names = [word for each in parameters for names in each.names for word in names.split("/")]
        assert len(set(names)) == len(names)
