"""Work in two processes gives what it gives in one, whatever becomes of the second."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import pytest

from shutdownlint import halves
from shutdownlint.halves import in_two

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="processes are forked on Linux only"
)


@pytest.fixture(autouse=True)
def _two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(halves, "_possible", lambda: True)


def who(items: Sequence[int]) -> tuple[list[int], int]:
    return [item * 2 for item in items], os.getpid()


def test_the_second_half_is_done_elsewhere_and_the_order_stays() -> None:
    (first, here), (second, there) = in_two(range(7), who, worth=7)
    assert first + second == [0, 2, 4, 6, 8, 10, 12]
    assert here == os.getpid() != there


def test_little_work_is_not_shared() -> None:
    ((whole, here),) = in_two(range(6), who, worth=7)
    assert (whole, here) == ([0, 2, 4, 6, 8, 10], os.getpid())


def test_what_a_process_that_dies_leaves_undone_is_done_here() -> None:
    mine = os.getpid()

    def work(items: Sequence[int]) -> tuple[list[int], int]:
        if os.getpid() != mine:
            os._exit(9)
        return who(items)

    (first, _), (second, there) = in_two(range(4), work, worth=1)
    assert first + second == [0, 2, 4, 6]
    assert there == mine


def test_an_error_of_the_second_half_shows_as_without_it() -> None:
    def work(items: Sequence[int]) -> list[float]:
        return [1 / (3 - item) for item in items]

    with pytest.raises(ZeroDivisionError):
        in_two(range(4), work, worth=1)


def test_an_error_of_the_first_half_ends_the_second() -> None:
    mine = os.getpid()

    def work(items: Sequence[int]) -> int:
        if os.getpid() == mine:
            raise KeyboardInterrupt
        while True:  # ended by a signal
            pass

    with pytest.raises(KeyboardInterrupt):
        in_two(range(4), work, worth=1)
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_what_cannot_be_sent_is_done_here() -> None:
    def work(items: Sequence[int]) -> object:
        return lambda: list(items)

    first, second = in_two(range(4), work, worth=1)
    assert (first(), second()) == ([0, 1], [2, 3])  # type: ignore[operator]
