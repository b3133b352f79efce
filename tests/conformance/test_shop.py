"""The page about measuring and verifying shows what its commands print now."""

from __future__ import annotations

import shutil

import pytest

from tests.conformance.envoy import VERSIONS
from tests.conformance.shop import PAGE, pages, without_times
from tests.conformance.test_conformance import have
from tests.measurement.server import find_program

pytestmark = [
    pytest.mark.network,
    pytest.mark.slow,
    pytest.mark.skipif(
        any(find_program(name) is None for name in ("prometheus", "promtool"))
        or any(shutil.which(name) is None for name in ("curl", "patch")),
        reason="Prometheus, curl or patch is not installed",
    ),
]


def test_every_command_of_the_page_prints_what_it_shows() -> None:
    have(VERSIONS[0])
    written = pages()
    for path, text in written.items():
        assert without_times(path.read_text(encoding="utf-8")) == without_times(text), path.name
    assert "UNLIKE" not in written[PAGE]
