"""A plain run imports what it needs, and nothing that it does not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import served

_RUN = """
import sys
sys.argv = ["shutdownlint", *sys.argv[1:]]
from shutdownlint.__main__ import run
try:
    run()
except SystemExit:
    sys.stderr.write("\\n".join(sys.modules))
"""
#: The modules that a check of sound manifests does not need: for drawing, configuration and rule
#: files, servers, comparing names, fixes, and everything that the input does not use.
_FORBIDDEN = (
    "pydantic",
    "rich",
    "rignore",
    "ruamel",
    "secrets",
    "tomli_w",
    "tomllib",
    "tree_sitter",
    "cel_expr_python",
    "inspect",
    "typing_extensions",
    "typer",
    "urllib3",
    "multiprocessing",
    "shutdownlint.config.load",
    "shutdownlint.engine.loader",
    "shutdownlint.fixes",
    "shutdownlint.gitops.read",
    "shutdownlint.gitops.argo_cd",
    "shutdownlint.kustomize",
    "shutdownlint.linter.deployed_files",
    "shutdownlint.linter.owner_lookup",
    "shutdownlint.measurement",
    "shutdownlint.platforms.consul",
    "shutdownlint.platforms.dapr",
    "shutdownlint.platforms.istio",
    "shutdownlint.platforms.kuma",
    "shutdownlint.platforms.kyverno",
    "shutdownlint.platforms.linkerd",
    "shutdownlint.rendering.render",
    "shutdownlint.reports.explanation",
    "shutdownlint.reports.text_findings",
    "shutdownlint.verification",
)


def _imported(*arguments: str, folder: Path) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", _RUN, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.split("\n"))


@pytest.mark.parametrize("arguments", [("check", "shop.yaml"), ("check", "-q", ".")])
def test_a_plain_run_imports_nothing_that_it_does_not_use(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "shop.yaml").write_text(served(sleep=10))
    imported = _imported(*arguments, folder=tmp_path)
    assert "shutdownlint.linter.evaluate" in imported
    found = {name for name in imported for bad in _FORBIDDEN if f"{name}.".startswith(f"{bad}.")}
    assert found == set()


def test_a_file_without_workloads_does_not_import_the_model(tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n")
    imported = _imported("check", ".", folder=tmp_path)
    assert not any(name.startswith("shutdownlint.shutdown.simulation") for name in imported)
    assert not any(name.split(".")[0] in ("yaml", "cel_expr_python") for name in imported)


def test_a_run_of_which_nothing_has_changed_imports_next_to_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHUTDOWNLINT_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "k8s"
    folder.mkdir()
    (folder / "a.yaml").write_text(served(sleep=10))
    first = _imported("check", "a.yaml", folder=folder)
    second = _imported("check", "a.yaml", folder=folder)
    expensive = {"re", "typing", "pathlib", "shutdownlint.linter.linter"}
    assert expensive < first
    assert not expensive & second
