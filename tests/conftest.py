"""Fixtures for all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def corpus_folder() -> Path | None:
    """The corpus of real manifests: test data that is not part of the project."""
    given = os.environ.get("SHUTDOWNLINT_CORPUS")
    folder = Path(given) if given else ROOT.parent / "shared" / "corpus"
    return folder if folder.is_dir() else None


@pytest.fixture(scope="session")
def corpus() -> Path:
    folder = corpus_folder()
    if folder is None:
        pytest.skip("the corpus of real manifests is not here (SHUTDOWNLINT_CORPUS names it)")
    return folder


@pytest.fixture
def root() -> Path:
    """The project's own folder."""
    return ROOT
