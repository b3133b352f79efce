"""Fixes on real manifests and on mutated ones: nothing changes that was not meant to."""

from __future__ import annotations

import difflib
import io
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shutdownlint.config import Config
from shutdownlint.manifests.discover import Found, discover
from shutdownlint.manifests.gather import Source
from shutdownlint.run import mend
from shutdownlint.yamltext.compose import ComposeError, compose
from shutdownlint.yamltext.tree import Tree
from tests.helpers import given as said
from tests.helpers import rules

if TYPE_CHECKING:
    from pathlib import Path

    from shutdownlint.fixes.mend import Mended
    from shutdownlint.rules.rule import Rule


def everything() -> list[Rule]:
    return list(rules())


def comments(data: bytes) -> Counter[str]:
    """Every comment of a text, as PyYAML's scanner does not tell them: by the lines' ends."""
    found: Counter[str] = Counter()
    for line in io.StringIO(data.decode("utf-8-sig"), newline="").read().splitlines():
        before, mark, rest = line.partition(" #")
        if mark and before.count('"') % 2 == 0 and before.count("'") % 2 == 0:
            found[rest] += 1
    return found


@pytest.fixture(scope="module")
def corpus_mended(corpus: Path) -> tuple[list[Source], Mended]:
    sources = [Source(file) for file in discover([str(corpus)])]
    _, mended = mend(sources, Config().given(), rules=everything, unsafe=True)
    return sources, mended


def test_the_whole_corpus_is_mended(corpus_mended: tuple[list[Source], Mended]) -> None:
    _, mended = corpus_mended
    assert len(mended.texts) > 300
    assert len(mended.fixed) > 600
    # Helm's renderings are not written; little else cannot be mended
    others = [r.reason for r in mended.refused if "is rendered from" not in r.reason]
    assert len(others) <= 2, others


def test_only_meant_lines_change_and_comments_stay(
    corpus_mended: tuple[list[Source], Mended],
) -> None:
    _, mended = corpus_mended
    for name, new in mended.texts.items():
        old = mended.originals[name]
        before, after = (text.decode("utf-8-sig").splitlines() for text in (old, new))
        gone = [line for line in difflib.ndiff(before, after) if line.startswith("- ")]
        assert not comments(old) - comments(new) or any("#" in line for line in gone), name
        # what is gone was about shutdown, or part of an entry that was taken out whole
        assert len(gone) < 500, name
        assert new.endswith(b"\n") == old.endswith(b"\n"), name
        assert (b"\r\n" in new) == (b"\r\n" in old), name


def test_a_second_run_changes_nothing(corpus_mended: tuple[list[Source], Mended]) -> None:
    sources, mended = corpus_mended
    again = [
        Source(Found(s.file.path, s.file.shown, mended.texts.get(s.file.shown)), s.context)
        for s in sources
        if isinstance(s.file, Found)
    ]
    _, second = mend(again, Config().given(), rules=everything, unsafe=True)
    assert second.texts == {}


BASE = """\
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {istio-injection: enabled}}
---
# the shop
apiVersion: apps/v1
kind: Deployment
metadata:
  name: shop  # c1
  namespace: shop
spec:
  selector: {matchLabels: {app: shop}}
  template:
    metadata:
      labels: {app: shop}
      annotations:
        other: "1"  # c2
        proxy.istio.io/config: |
          terminationDrainDuration: 9s  # inner
          proxyMetadata:
            EXIT_ON_ZERO_ACTIVE_CONNECTIONS: true
    spec:
      terminationGracePeriodSeconds: 20  # c3
      containers:
        - name: app
          image: shop/app:1
          # c4
          lifecycle:
            preStop:
              exec:
                command: ["sleep", "20"]
        - {name: side, image: b, env: [{name: MINIMUM_DRAIN_DURATION, value: "5"}], lifecycle: {preStop: {tcpSocket: {port: 1}}}}
"""
PIECES = st.sampled_from(
    [
        ("9s", "90s"),
        ("9s  # inner", "9s"),
        ("true\n", "'true'\n"),
        ("true\n", "'yes'\n"),
        ("terminationDrainDuration", "terminationdrainduration"),
        ("proxyMetadata:\n", ""),
        ("20  # c3", "0"),
        ("20  # c3", "-5"),
        ("      terminationGracePeriodSeconds: 20  # c3\n", ""),
        ('["sleep", "20"]', "[sh, -c, 'sleep 20']"),
        ('["sleep", "20"]', "[sleep, 20s]"),
        (
            '              exec:\n                command: ["sleep", "20"]\n',
            "              sleep: {seconds: 25}\n",
        ),
        ('              exec:\n                command: ["sleep", "20"]\n', ""),
        ("          # c4\n", ""),
        ("\n", "\r\n"),
        ('        other: "1"  # c2\n', ""),
        ("proxy.istio.io/config: |\n", "proxy.istio.io/config: |-\n"),
        ("proxy.istio.io/config: |\n", "proxy.istio.io/config: >\n"),
        ("labels: {app: shop}\n      ann", "labels: &l {app: shop}\n      ann"),
        ("spec:\n      term", "spec: &s\n      term"),
        ("kind: Deployment", "kind: StatefulSet"),
        ("kind: Deployment", "kind: CronJob"),
        ("# the shop\n", "# Source: a/b.yaml\n"),
        ("name: side", "name: istio-proxy"),
        ("{name: side, image: b,", "{name: side, image: b, # c5\n          "),
        ("livenessProbe", "x"),
        (
            "image: shop/app:1\n",
            "image: shop/app:1\n          readinessProbe: {terminationGracePeriodSeconds: 3}\n",
        ),
        (
            "image: shop/app:1\n",
            "image: shop/app:1\n          livenessProbe:\n            terminationGracePeriodSeconds: 3\n",
        ),
        ("matchLabels: {app: shop}", "matchLabels: {app: 5}"),
        ('other: "1"', "other: 1"),
        ("  annotations:", "  annotations: &a"),
        ("        - name: app\n", "        - name: app # first\n"),
    ]
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(PIECES, max_size=5), st.sampled_from([None, "7s", "30s"]), st.booleans())
def test_mutated_manifests_stay_what_they_are(
    pieces: list[tuple[str, str]], p99: str | None, unsafe: bool
) -> None:
    text = BASE
    for piece, instead in pieces:
        text = text.replace(piece, instead)
    data = text.encode()
    source = Source(Found(None, "<stdin>", data))
    result, mended = mend([source], said(p99, istio="1.26"), rules=everything, unsafe=unsafe)
    assert "fails on it" not in " ".join(u.reason for u in result.scene.reading.unreadable)
    new = mended.texts.get("<stdin>")
    if new is None:
        return
    try:
        before, after = values(data.decode()), values(new.decode())
    except ComposeError:
        pytest.fail(f"does not parse: {new.decode()}")
    assert len(before) == len(after)
    for one, other in zip(before, after, strict=True):
        assert stripped(one) == stripped(other)
    yaml.compose_all(new.decode())


def values(text: str) -> list[Any]:
    return [Tree(root).plain() for root in compose(text)]


#: What a fix may touch.
TOUCHED = {
    "terminationGracePeriodSeconds",
    "lifecycle",
    "proxy.istio.io/config",
    "readinessProbe",
    "livenessProbe",
    "env",
    "annotations",
    "command",
}


def stripped(data: Any) -> Any:
    """Everything that no fix may touch."""
    if isinstance(data, dict):
        return {
            key: stripped(value)
            if not isinstance(value, int | bool) or key == "port"
            else str(value)
            for key, value in data.items()
            if key not in TOUCHED
        }
    return [stripped(item) for item in data] if isinstance(data, list) else data
