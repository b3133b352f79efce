"""What is kept of the pods: only what has changed, and what that concerns, is checked again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from shutdownlint.cache_folder import KeptEntries, RunEntries, cache_folder
from shutdownlint.fixes.apply import locate
from shutdownlint.linter.check_run import WorldRun
from shutdownlint.linter.kept_data import CheckedFile
from shutdownlint.linter.kept_pods import KeptPods
from shutdownlint.linter.rule_examples import example_facts
from shutdownlint.manifests.document import EmbeddedNodeRef, NodeRef
from shutdownlint.manifests.skips import EMPTY
from tests.cli.test_run_cache import (
    IGNORE,
    KUSTOMIZATION,
    OWN_RULE,
    PATCH,
    POD,
    Screen,
    own_folder,
    screen,
)
from tests.helpers import check_files, rules, schema

if TYPE_CHECKING:
    from shutdownlint.engine.finding import Finding
    from shutdownlint.linter.kept_data import FindDocument
    from shutdownlint.manifests.document import Document

__all__ = ["own_folder", "screen"]
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {selector: {app: %s}, ports: [{port: 80}]}\n"
#: A Service whose load balancer sends requests for longer than the pods accept them.
BALANCED = """\
apiVersion: v1
kind: Service
metadata:
  name: balanced
  annotations:
    service.beta.kubernetes.io/aws-load-balancer-type: external
    service.beta.kubernetes.io/aws-load-balancer-nlb-target-type: instance
    service.beta.kubernetes.io/aws-load-balancer-healthcheck-interval: "20"
spec:
  type: LoadBalancer
  externalTrafficPolicy: Local
  selector: {app: a}
  ports: [{port: 80}]
"""
OVERLAY = "resources: [../base.yaml]\nnamePrefix: %s-\n"


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For every file with workloads whether it was kept."""
    seen: list[bool] = []
    honest = KeptPods.find

    def find(self: KeptPods, key: str, find_document: FindDocument) -> CheckedFile | None:
        checked = honest(self, key, find_document)
        seen.append(checked is not None)
        return checked

    monkeypatch.setattr(KeptPods, "find", find)
    return seen


@pytest.fixture
def folder(own_folder: Path) -> Path:
    for number in range(4):
        (own_folder / f"{number}.yaml").write_text((POD % (5, "")).replace("one", f"app{number}"))
    (own_folder / "service.yaml").write_text(SERVICE % "b")
    return own_folder


def test_a_changed_file_is_checked_again_and_no_other(
    folder: Path, screen: Screen, found: list[bool]
) -> None:
    screen.run(".")
    assert found == [False] * 4
    found.clear()
    (folder / "2.yaml").write_text(POD % (6, ""))
    assert screen.run(".") == screen.run(".", "--no-cache")
    assert found == [True, True, False, True]
    found.clear()
    (folder / "new.yaml").write_text(POD % (7, ""))
    assert screen.run(".") == screen.run(".", "--no-cache")
    assert found == [True, True, True, True, False]


def test_with_another_context_every_pod_is_checked_again(
    folder: Path, screen: Screen, found: list[bool]
) -> None:
    screen.run(".")
    found.clear()
    (folder / "service.yaml").write_text(SERVICE % "a")
    assert screen.run(".") == screen.run(".", "--no-cache")
    (folder / "shutdownlint.toml").write_text('p99 = "20s"\n')
    assert screen.run(".") == screen.run(".", "--no-cache")
    assert found == [False] * 8


@pytest.mark.parametrize("form", ["text", "json"])
def test_fixes_and_ignores_are_kept(
    folder: Path, screen: Screen, found: list[bool], form: str
) -> None:
    words = (".", "--format", form)
    (folder / "0.yaml").write_text(POD % (40, ""))  # a fix
    (folder / "1.yaml").write_text(POD % (40, IGNORE))
    (folder / "2.yaml").write_text(POD % (5, "  # shutdownlint: ignore[SL102] used by nothing"))
    metadata = "metadata: {name: one, annotations: {shutdownlint.dev/ignore: SL102}}"
    both = POD.replace("metadata: {name: one}", metadata)
    rendered = (POD % (40, "")).replace("one", "two")
    (folder / "more.yaml").write_text(f"{both % (40, '')}---\n# Source: x/y.yaml\n{rendered}")
    first = screen.run(*words)
    assert "SL102" in first[1]
    found.clear()
    (folder / "3.yaml").write_text(POD % (6, ""))
    assert screen.run(*words) == screen.run(*words, "--no-cache")
    assert found == [True, True, True, False, True]


def test_a_fix_in_another_file_is_not_kept(folder: Path, screen: Screen, found: list[bool]) -> None:
    (folder / "base.yaml").write_text(POD % (5, ""))
    (folder / "over").mkdir()
    (folder / "over" / "kustomization.yaml").write_text(KUSTOMIZATION % "../base.yaml")
    grace = (PATCH % 3).replace("shop", "one")
    (folder / "over" / "patch.yaml").write_text(grace)
    assert "over/patch.yaml:4" in screen.run(".")[1]
    found.clear()
    (folder / "3.yaml").write_text(POD % (6, ""))
    assert screen.run(".") == screen.run(".", "--no-cache")
    assert sorted(found) == [False, False, True, True, True]


def test_overlays_are_kept_each_on_its_own(folder: Path, screen: Screen, found: list[bool]) -> None:
    (folder / "base.yaml").write_text(POD % (8, ""))
    for name in ("blue", "green"):
        (folder / name).mkdir()
        (folder / name / "kustomization.yaml").write_text(OVERLAY % name)
    screen.run(".")
    found.clear()
    (folder / "3.yaml").write_text(POD % (6, ""))
    assert screen.run(".") == screen.run(".", "--no-cache")
    assert sorted(found) == [False, True, True, True, True, True]
    found.clear()
    (folder / "base.yaml").write_text(POD % (9, ""))
    assert screen.run(".") == screen.run(".", "--no-cache")
    assert found == [True] * 4 + [False] * 2
    found.clear()
    (folder / "blue" / "kustomization.yaml").write_text(OVERLAY % "red")
    assert screen.run(".") == screen.run(".", "--no-cache")
    assert not any(found)


def test_what_names_a_moved_object_is_checked_again(
    folder: Path, screen: Screen, found: list[bool]
) -> None:
    for number in (2, 3):  # the Service does not select them
        pod = (folder / f"{number}.yaml").read_text()
        (folder / f"{number}.yaml").write_text(pod.replace("app: a", "app: other"))
    mixed = f"{POD % (6, '')}---\n{BALANCED}"
    (folder / "mixed.yaml").write_text(mixed)
    assert screen.run(".", "--notes")[1].count("mixed.yaml:19)") == 2
    found.clear()
    (folder / "mixed.yaml").write_text(mixed.replace("spec:\n", "spec:\n  # more\n", 1))
    after = screen.run(".", "--notes")
    assert after == screen.run(".", "--notes", "--no-cache")
    assert after[1].count("mixed.yaml:20)") == 2
    assert found == [False, False, True, True, False]


def test_what_another_version_kept_is_not_used(
    folder: Path, screen: Screen, found: list[bool]
) -> None:
    screen.run(".")
    (entry,) = (Path(str(cache_folder())) / "pods").iterdir()
    entries = KeptEntries(str(entry.parent))
    kept = KeptPods(RunEntries(str(cache_folder()), entry.name))
    data = entries.read(entry.name)
    assert data is not None
    for wrong in (b"", b"\x00", data[:-3], data.replace(b"app", b"\xc1\xc1\xc1")):
        entries.write(entry.name, wrong)
        (folder / "3.yaml").write_text(POD % (6 + len(wrong) % 7, ""))
        assert screen.run(".") == screen.run(".", "--no-cache")
    kept.use("another", {})
    assert kept.find("0 x", no_document) is None


def test_after_a_rule_has_failed_nothing_kept_is_used(folder: Path, screen: Screen) -> None:
    (folder / "rules").mkdir()
    condition = "(preStop < duration('8s') || hookCommand[5] == 'x')"
    rule = OWN_RULE.replace("preStop < duration('15s')", condition)
    (folder / "rules" / "own.yaml").write_text(rule)
    (folder / "shutdownlint.toml").write_text('rules = ["rules"]\n')
    assert screen.run(".")[1].count("a rule of our own") == 4
    (folder / "0.yaml").write_text(POD % (9, ""))
    kept = screen.run(".")
    assert kept == screen.run(".", "--no-cache")
    assert "a rule of our own" not in kept[1]


def no_document(start: int, number: int) -> Document:
    raise LookupError(start, number)


def placed(finding: Finding) -> tuple[object, ...]:
    """A finding with the places of its changes, for comparisons."""
    changes = finding.fix.changes if finding.fix is not None else ()
    places = [
        (locate(each).key_path, each.target.location.region(), each.target.format)
        for each in changes
        if each.target is not None
    ]
    without = tuple(replace(change, target=None) for change in changes)
    fix = replace(finding.fix, changes=without) if finding.fix is not None else None
    return replace(finding, fix=fix), *places


def written_documents(findings: list[Finding]) -> dict[tuple[int, int], Document]:
    """The documents that their fixes change."""
    changes = [change for f in findings if f.fix is not None for change in f.fix.changes]
    places = [change.target.location for change in changes if change.target is not None]
    refs = [each.host if isinstance(each, EmbeddedNodeRef) else each for each in places]
    documents = [ref.document for ref in refs if isinstance(ref, NodeRef)]
    return {(each.start, each.number): each for each in documents}


def test_what_every_rule_reports_comes_back_as_it_was(tmp_path: Path) -> None:
    kept, compared, fixed = KeptPods(RunEntries(str(tmp_path), "x")), 0, 0
    for rule in rules():
        for number, example in enumerate(schema(rule.id).examples):
            key = f"{rule.id} {number}"
            result = check_files({"a.yaml": example.bad}, example_facts(example.options))
            findings = result.findings
            documents = written_documents(findings)
            checked = CheckedFile(3, ((EMPTY, 2),), findings, result.entries, [], ("istio",), 1, 0)
            kept.add(key, checked, "a.yaml")
            kept._kept = kept.current
            found = kept.find(key, lambda *place, known=documents: known[place])
            assert found is not None
            assert [*map(placed, found.findings)] == [*map(placed, findings)]
            assert replace(found, findings=[]) == replace(checked, findings=[])
            compared += len(findings) + len(result.entries)
            fixed += sum(f.fix is not None and bool(f.fix.changes) for f in findings)
    assert compared > 250
    assert fixed > 75


def test_a_file_is_checked_once(
    folder: Path, screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[int] = []
    honest = WorldRun._check_all

    def check_all(self: WorldRun, *arguments: object, **options: object) -> object:
        part = honest(self, *arguments, **options)  # type: ignore[arg-type]
        checked.append(len(part.entries))
        return part

    monkeypatch.setattr(WorldRun, "_check_all", check_all)
    screen.run(".")
    assert checked == [1, 1, 1, 1, 0]
    checked.clear()
    (folder / "3.yaml").write_text(POD % (6, ""))
    screen.run(".")
    assert checked == [1, 0]
