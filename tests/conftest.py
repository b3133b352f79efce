"""Fixtures for all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

from shutdownlint.engine.rule_loader import write_compiled_rules
from shutdownlint.installation import checkout_state
from shutdownlint.programs.known import write_compiled_programs

ROOT = Path(__file__).resolve().parents[1]

# The same examples on every machine and in every run; a long search is a command of its own.
settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("SHUTDOWNLINT_HYPOTHESIS", "fixed"))


def corpus_folder() -> Path | None:
    """Return the corpus of real manifests: test data that is not part of the project."""
    given = os.environ.get("SHUTDOWNLINT_CORPUS")
    folder = Path(given) if given else ROOT.parent / "shared" / "corpus"
    return folder if folder.is_dir() else None


def pytest_configure(config: pytest.Config) -> None:
    """Compile the rules of a checkout once: otherwise every process that a test starts does it."""
    if checkout_state() and not hasattr(config, "workerinput"):
        write_compiled_rules()
        write_compiled_programs()


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every test a cache folder of its own, so none sees what another wrote."""
    monkeypatch.setenv("SHUTDOWNLINT_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="session")
def corpus() -> Path:
    folder = corpus_folder()
    if folder is None:
        pytest.skip(
            "the corpus of real manifests is not here (SHUTDOWNLINT_CORPUS names it; "
            "python -m tests.public_corpus downloads one)"
        )
    return folder


@pytest.fixture(scope="session")
def selected_corpus(corpus: Path) -> Path:
    """Return the selection of files whose every finding was read: its list of sources is beside it."""
    if not (corpus / "SOURCES.tsv").exists():
        pytest.skip("the corpus is another selection of files, whose findings were not read")
    return corpus


@pytest.fixture
def root() -> Path:
    """Return the project's own folder."""
    return ROOT
