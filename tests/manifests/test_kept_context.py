"""What is kept of objects that give context: their texts are not parsed again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from shutdownlint.cache_folder import KeptEntries, cache_folder
from shutdownlint.manifests.kept_context import KeptContext
from tests.cli.test_run_cache import POD, Screen, own_folder, screen

if TYPE_CHECKING:
    from shutdownlint.manifests.context_objects import DescribedDocument

__all__ = ["own_folder", "screen"]
SERVICE = """\
# Source: chart/templates/service.yaml
apiVersion: v1
kind: Service
metadata: {name: s, labels: {weight: 1}}
spec: {selector: {app: a}, ports: [{port: %s}]}
"""
LIST = """\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: p, resourceVersion: "7", ownerReferences: [{kind: ReplicaSet, name: r, controller: true}]}
  spec: {containers: [{name: c, image: i}]}
- apiVersion: argoproj.io/v1alpha1
  kind: Application
  metadata: {name: a}
  spec: {source: {path: plain}, destination: {namespace: n}}
"""
VALUES = "global: {x: 1}\nterminationGracePeriodSeconds: 5\nmeshConfig: {a: b}\npilot: {}\n"


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For every text whether it was kept."""
    seen: list[bool] = []
    honest = KeptContext.find

    def find(self: KeptContext, key: str) -> list[DescribedDocument] | None:
        described = honest(self, key)
        seen.append(described is not None)
        return described

    monkeypatch.setattr(KeptContext, "find", find)
    return seen


def test_only_changed_texts_are_parsed_again(
    own_folder: Path, screen: Screen, found: list[bool]
) -> None:
    (own_folder / "plain").mkdir()
    (own_folder / "plain" / "pod.yaml").write_text(POD % (40, ""))
    (own_folder / "service.yaml").write_text(SERVICE % 80)
    (own_folder / "list.yaml").write_text(LIST)
    (own_folder / "values.yaml").write_text(VALUES)
    (own_folder / "Chart.yaml").write_text("apiVersion: v2\nname: c\n")
    words = (".", "--notes", "--format", "json")
    screen.run(*words)
    assert found == [False] * 3
    found.clear()
    (own_folder / "plain" / "pod.yaml").write_text(POD % (5, ""))
    assert screen.run(*words) == screen.run(*words, "--no-cache")
    assert found == [True] * 3
    found.clear()
    (own_folder / "service.yaml").write_text(f"# more\n---\n{SERVICE % '{'}")
    assert screen.run(*words) == screen.run(*words, "--no-cache")
    assert sorted(found) == [False, True, True]
    found.clear()
    (own_folder / "plain" / "pod.yaml").write_text(POD % (6, ""))
    assert screen.run(*words) == screen.run(*words, "--no-cache")
    assert sorted(found) == [False, True, True]  # what cannot be read is not kept


def test_what_another_version_kept_is_not_used(own_folder: Path, screen: Screen) -> None:
    (own_folder / "pod.yaml").write_text(POD % (40, ""))
    (own_folder / "service.yaml").write_text(SERVICE % 80)
    screen.run(".")
    (entry,) = (Path(str(cache_folder())) / "context").iterdir()
    entries = KeptEntries(str(entry.parent))
    data = entries.read(entry.name)
    assert data is not None
    for number, wrong in enumerate(
        (b"", b"\x00", data[:-3], data.replace(b"Service", b"\xc1" * 7))
    ):
        entries.write(entry.name, wrong)
        (own_folder / "pod.yaml").write_text(POD % (number, ""))
        assert screen.run(".") == screen.run(".", "--no-cache")
