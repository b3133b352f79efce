"""The report on the losses of a mesh without a rule file, with a fix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from shutdownlint.fixes.fixer import fix_files
from shutdownlint.platforms import registry
from tests.helpers import check_text, lint_options, user_facts, write_sources
from tests.platforms.new_mesh import ENTRY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SHOP = """
    apiVersion: v1
    kind: Service
    metadata: {name: shop, namespace: shop}
    spec: {selector: {app: shop}, ports: [{port: 80}]}
    ---
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: shop, namespace: shop%s}
    spec:
      selector: {matchLabels: {app: shop}}
      template:
        metadata:
          labels: {app: shop}
          annotations: {mesh.example/inject: "true"%s}
        spec:
          terminationGracePeriodSeconds: 40
          containers:
          - {name: app, image: shop/app:1, lifecycle: {preStop: {sleep: {seconds: %d}}}}
    """


@pytest.fixture(autouse=True)
def _with_the_mesh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(registry, "PLATFORMS", (*registry.PLATFORMS, ENTRY))
    registry.mesh_names.cache_clear()
    yield
    registry.mesh_names.cache_clear()


def reported(text: str, p99: str | None = None) -> dict[str, str]:
    """Return the messages of errors and warnings, by rule and severity."""
    found = check_text(text, user_facts(p99)).findings
    return {f"{f.severity.value} {f.rule}": f.message for f in found if f.severity != "note"}


def test_a_proxy_that_ends_before_the_app() -> None:
    (message,) = (reported(SHOP % ("", "", 8))).values()
    assert message.startswith("example-proxy stops 3s after termination starts (drain 3s, ")
    assert "the app's own calls fail, requests longer than 3s are cut" in message


def test_a_proxy_that_cuts_what_is_in_flight() -> None:
    drain = ', mesh.example/drain-seconds: "12"'
    found = reported(SHOP % ("", drain, 8), "10s")
    assert "example-proxy cuts requests 12s after termination starts" in found["error SL202"]
    assert reported(SHOP % ("", drain, 8), "3s") == {}


def test_a_drain_that_never_comes_to_its_end() -> None:
    (message,) = reported(SHOP % ("", ', mesh.example/drain-seconds: "90"', 8)).values()
    assert "lets example-proxy go on until 90s" in message.replace("1m30s", "90s")
    assert "SIGKILL comes at 40s" in message


def test_annotations_without_effect() -> None:
    owner = ', annotations: {mesh.example/drain-seconds: "20"}'
    found = reported(SHOP % (owner, ", mesh.example/drain: 5s", 8))
    assert "on the Deployment itself" in found["warning SL214"]
    assert found["warning SL220"] == "annotation mesh.example/drain has no effect: it is old"


def test_the_fix_is_written_into_its_own_annotation(tmp_path: Path) -> None:
    sources = write_sources({"a.yaml": SHOP % ("", "", 8)}, tmp_path)
    result, fixes = fix_files(sources, lint_options(user_facts("10s")), unsafe=True)
    assert b"mesh.example/drain-seconds: '19'" in fixes.texts["a.yaml"]
    assert [f for f in result.findings if f.severity != "note"] == []
    assert [verdict.lost for verdict in result.verdicts] == ["none"]
