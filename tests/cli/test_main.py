"""Tests of how the process ends."""

from __future__ import annotations

import sys
from collections.abc import Callable
from io import StringIO
from typing import NoReturn

import pytest

from shutdownlint import __main__ as program


class EndedError(Exception):
    """Raised where the process would end."""


def raising(error: BaseException) -> Callable[[], NoReturn]:
    def run() -> NoReturn:
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SystemExit(0), 0),
        (SystemExit(None), 0),
        (SystemExit(2), 2),
        (SystemExit("a message"), 1),
        (KeyboardInterrupt(), 130),
        (BrokenPipeError(), 1),
    ],
)
def test_the_exit_code(error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []

    def end(number: int) -> NoReturn:
        ended.append(number)
        raise EndedError

    monkeypatch.setattr(program, "run", raising(error))
    monkeypatch.setattr("os._exit", end)
    with pytest.raises(EndedError):
        program.main()
    assert ended == [code]


def test_what_is_written_is_flushed_before_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stream(StringIO):
        flushed = False

        def flush(self) -> None:
            self.flushed = True

    streams = Stream(), Stream()
    monkeypatch.setattr(sys, "stdout", streams[0])
    monkeypatch.setattr(sys, "stderr", streams[1])
    monkeypatch.setattr(program, "run", raising(SystemExit(0)))
    monkeypatch.setattr("os._exit", raising_number)
    with pytest.raises(EndedError):
        program.main()
    assert streams[0].flushed
    assert streams[1].flushed


def raising_number(_: int) -> NoReturn:
    raise EndedError


def test_an_internal_error_names_its_place(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["shutdownlint", "check", "."])
    monkeypatch.setattr(
        "shutdownlint.cli.start.run_command", raising(RuntimeError("something went wrong"))
    )
    with pytest.raises(SystemExit) as caught:
        program.run()
    assert caught.value.code == 2
    assert "internal error; please report it" in capsys.readouterr().err
