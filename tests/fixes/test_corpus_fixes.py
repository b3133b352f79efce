"""Fixes on real manifests and on mutated ones: nothing changes that was not meant to."""

from __future__ import annotations

import difflib
import io
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shutdownlint.fixes.apply import FixResult
from shutdownlint.fixes.fixer import fix_files
from shutdownlint.linter.read import read
from shutdownlint.manifests.discovery import FileSearch
from shutdownlint.manifests.inputs import Inputs
from shutdownlint.shutdown.durations import ORDINARY_REQUEST
from tests.fuzz.targets import FIXABLE, FIXING, check_fixes
from tests.helpers import lint_options

pytestmark = pytest.mark.slow


def comments(data: bytes) -> Counter[str]:
    """Every comment of a text, found by the ends of lines, since PyYAML's scanner drops them."""
    found: Counter[str] = Counter()
    for line in io.StringIO(data.decode("utf-8-sig"), newline="").read().splitlines():
        before, mark, rest = line.partition(" #")
        if mark and before.count('"') % 2 == 0 and before.count("'") % 2 == 0:
            found[rest] += 1
    return found


@pytest.fixture(scope="module")
def corpus_fixed(corpus: Path) -> tuple[Inputs, FixResult]:
    inputs = read([str(corpus)], FileSearch())
    _, fix_result = fix_files(inputs, lint_options(), unsafe=True)
    return inputs, fix_result


def test_the_whole_corpus_is_fixed(corpus_fixed: tuple[Inputs, FixResult]) -> None:
    _, fix_result = corpus_fixed
    assert len(fix_result.texts) > 300
    assert len(fix_result.fixed) > 600
    # Helm's renderings are not written; little else cannot be fixed: a mesh configuration of which
    # other pods need something else, clients that sleep without end
    others = [r.reason for r in fix_result.refused if "is rendered from" not in r.reason]
    assert len(others) <= 16, others


def test_only_meant_lines_change_and_comments_stay(
    corpus_fixed: tuple[Inputs, FixResult],
) -> None:
    _, fix_result = corpus_fixed
    for name, new in fix_result.texts.items():
        old = fix_result.originals[name]
        before, after = (text.decode("utf-8-sig").splitlines() for text in (old, new))
        gone = [line for line in difflib.ndiff(before, after) if line.startswith("- ")]
        assert not comments(old) - comments(new) or any("#" in line for line in gone), name
        # what is gone was about shutdown, or part of an entry that was taken out whole
        assert len(gone) < 500, name
        assert new.endswith(b"\n") == old.endswith(b"\n"), name
        assert (b"\r\n" in new) == (b"\r\n" in old), name


def test_a_second_run_changes_nothing(corpus_fixed: tuple[Inputs, FixResult]) -> None:
    """And no finding is on a line that a fix wrote, but that requests of unusual length are cut."""
    inputs, fix_result = corpus_fixed
    again = inputs.with_texts(fix_result.texts)
    result, second = fix_files(again, lint_options(), unsafe=True)
    assert second.texts == {}
    found = []
    for finding in result.findings:
        if finding.loss is not None and finding.loss.longer_than >= ORDINARY_REQUEST:
            continue
        new = fix_result.texts.get(finding.region.file)
        if new is not None:
            old = set(fix_result.originals[finding.region.file].decode("utf-8-sig").splitlines())
            line = new.decode("utf-8-sig").splitlines()[finding.region.line - 1]
            if line not in old:
                found.append(f"{finding.region} {finding.rule} {line.strip()}")
    assert not found, "\n".join(found)


PIECES = st.sampled_from(FIXING)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(PIECES, max_size=5), st.sampled_from([None, "7s", "30s"]), st.booleans())
def test_mutated_manifests_stay_what_they_are(
    pieces: list[tuple[str, str]], p99: str | None, unsafe: bool
) -> None:
    text = FIXABLE
    for piece, instead in pieces:
        text = text.replace(piece, instead)
    check_fixes(text.encode(), p99, unsafe=unsafe)
