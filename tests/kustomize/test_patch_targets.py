"""Patches for names that nothing in a kustomization has."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers import run, served

PATCH = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME}
spec: {template: {spec: {terminationGracePeriodSeconds: 90}}}
"""


@pytest.fixture(autouse=True)
def _overlay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _write("base/kustomization.yaml", "resources: [d.yaml]\n")
    _write("base/d.yaml", served(sleep=10))
    _write("over/kustomization.yaml", "resources: [../base]\npatches: [{path: p.yaml}]\n")


def _write(name: str, text: str) -> None:
    path = Path(name)
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def _check(name: str) -> tuple[int, str]:
    _write("over/p.yaml", PATCH.replace("NAME", name))
    return run("check", "--format", "concise", ".")[:2]


def test_a_patch_for_nothing_is_reported_where_it_is() -> None:
    code, out = _check("shopp")
    assert code == 2
    assert out.startswith("over/p.yaml:1:1: error SL001 ")
    assert "no resource of over/kustomization.yaml is called shopp" in out


@pytest.mark.parametrize(
    ("file", "more"),
    [
        ("base/kustomization.yaml", "namePrefix: x-\n"),
        ("base/kustomization.yaml", "generators: [g.yaml]\n"),
        ("over/kustomization.yaml", "configMapGenerator: [{name: shopp}]\n"),
    ],
)
def test_where_other_names_may_come_from_nothing_is_claimed(file: str, more: str) -> None:
    Path(file).write_text(Path(file).read_text() + more)
    assert "is called shopp" not in _check("shopp")[1]


def test_a_patch_in_the_kustomization_itself_needs_its_target_as_well() -> None:
    text = "resources: [../base]\npatches:\n- patch: |-\n"
    patch = "".join(f"    {line}\n" for line in PATCH.splitlines())
    _write("over/kustomization.yaml", text + patch.replace("NAME", "shopp"))
    code, out = run("check", "--format", "concise", ".")[:2]
    assert code == 2
    assert "over/kustomization.yaml:4:5: error SL001 " in out
    _write("over/kustomization.yaml", text + patch.replace("NAME", "shop"))
    assert run("check", ".")[0] == 0
    made = "configMapGenerator: [{name: x}]\n"
    _write("over/kustomization.yaml", made + text + patch.replace("NAME", "shopp"))
    assert run("check", ".")[0] == 0


def test_replicas_of_what_is_not_there_are_reported() -> None:
    text = "resources: [../base]\nreplicas:\n- {name: shop, count: 2}\n"
    _write("over/kustomization.yaml", text)
    assert run("check", ".")[0] == 0
    _write("over/kustomization.yaml", f"{text}- {{name: shopp, count: 2}}\n")
    code, out = run("check", "--format", "concise", ".")[:2]
    assert code == 2
    assert out.startswith("over/kustomization.yaml:4:10: error SL001 ")


def test_a_patch_that_is_not_there_is_named() -> None:
    _write("over/kustomization.yaml", "resources: [../base]\npatches: [{path: none.yaml}]\n")
    assert (
        "over/none.yaml, which over/kustomization.yaml names" in run("check", "--verbose", ".")[1]
    )
    assert "not checked: 1 missing file of a kustomization" in run("check", ".")[1]


def test_a_patch_with_its_target_is_fine() -> None:
    assert _check("shop")[0] == 0
