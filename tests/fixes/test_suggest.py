"""Suggestions on the example shop: as text, diff, patch and values; applied, the shop is clean."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from shutdownlint.cli.app import command_line
from shutdownlint.reports.suggest_patch import _values
from tests.helpers import check_files, rule_lines, user_facts

SHOP = Path(__file__).resolve().parents[2] / "examples" / "shop"


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(command_line(), ["suggest", *arguments])
    return result.exit_code, result.stdout, result.stderr


def test_text() -> None:
    code, out, _ = run(str(SHOP), "frontend", "--p99", "10s")
    assert code == 0
    switch = "EXIT_ON_ZERO_ACTIVE_CONNECTIONS of istio-proxy: false -> true"
    assert f"{switch}  requests are done by 25s" in out
    minimum = "MINIMUM_DRAIN_DURATION of istio-proxy: 5s -> 15s"
    assert f"{minimum}  the proxy must not check for connections before 15s" in out
    assert (
        "every request of up to 10s is served, in flight at deletion or arriving within 5s" in out
    )
    code, out, err = run(str(SHOP), "no-such-name")
    assert code == 2
    assert "no workload matches no-such-name" in err


def test_more_is_wanted_of_it() -> None:
    _, out, _ = run(str(SHOP), "frontend", "--p99", "20s", "--propagation", "25s")
    assert "frontend preStop: 15s -> 25s" in out
    assert "MINIMUM_DRAIN_DURATION of istio-proxy: 5s -> 25s" in out
    assert "terminationGracePeriodSeconds: 30s -> 50s" in out


def test_values_for_a_chart() -> None:
    _, out, _ = run(str(SHOP), "frontend", "--format", "helm")
    assert "# Deployment shop/frontend" in out
    (values,) = yaml.safe_load_all(out)
    written = yaml.safe_load(values["podAnnotations"]["proxy.istio.io/config"])
    assert written["proxyMetadata"] == {
        "EXIT_ON_ZERO_ACTIVE_CONNECTIONS": "true",
        "MINIMUM_DRAIN_DURATION": "15s",
    }


def test_values_of_one_hook_and_of_several() -> None:
    def spec(*names: str) -> dict[str, object]:
        hooks = [{"name": name, "lifecycle": name} for name in names]
        return {"spec": {"template": {"spec": {"containers": [*hooks, {"name": "no-hook"}]}}}}

    assert _values(spec("app")) == {"lifecycle": "app"}
    assert _values(spec("app", "log")) == {"app": {"lifecycle": "app"}, "log": {"lifecycle": "log"}}
    assert _values(spec()) == {}


def kustomize() -> list[str]:
    if shutil.which("kustomize"):
        return ["kustomize", "build"]
    if shutil.which("kubectl"):
        return ["kubectl", "kustomize"]
    pytest.skip("neither kustomize nor kubectl is here: the patch was not applied by the real one")


def test_the_patch_applied_by_kustomize_makes_the_shop_clean(tmp_path: Path) -> None:
    build = kustomize()
    for file in SHOP.glob("*.yaml"):
        shutil.copy(file, tmp_path)
    before = {p.name: p.read_text() for p in tmp_path.glob("*.yaml")}
    assert rule_lines(check_files(dict(before)).findings)
    code, patch, _ = run(str(tmp_path), "--format", "kustomize")
    assert code == 0
    (tmp_path / "patch.yaml").write_text(patch)
    resources = "".join(f"  - {name}\n" for name in sorted(before))
    patches = "".join(
        f"  - path: patch-{number}.yaml\n" for number, _ in enumerate(patch.split("---\n"))
    )
    for number, one in enumerate(patch.split("---\n")):
        (tmp_path / f"patch-{number}.yaml").write_text(one)
    (tmp_path / "kustomization.yaml").write_text(f"resources:\n{resources}patches:\n{patches}")
    built = subprocess.run(
        [*build, str(tmp_path)], capture_output=True, encoding="utf-8", check=True
    ).stdout
    left = check_files({"built.yaml": built}, user_facts()).findings
    assert [f.rule for f in left if f.severity != "note"] == []


def test_the_diff_is_one_that_git_applies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(SHOP, tmp_path / "shop")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(command_line(), ["suggest", "shop", "--format", "diff"])
    subprocess.run(
        ["git", "apply", "-"], input=result.stdout, cwd=tmp_path, encoding="utf-8", check=True
    )
    again = CliRunner().invoke(command_line(), ["suggest", "shop", "--format", "diff"])
    assert again.stdout == ""


def test_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: a, "
        "lifecycle: {preStop: {exec: {command: [sh, -c, 'sleep 4; echo done; sleep 3']}}}}]}\n"
    )
    _, out, _ = run(str(tmp_path), "--propagation", "20s")
    assert "not written as an edit: the value is part of a script" in out
    rendered = tmp_path / "pod.yaml"
    rendered.write_text(f"---\n# Source: a/templates/pod.yaml\n{rendered.read_text()}")
    _, out, _ = run(str(tmp_path), "--p99", "40s")
    assert "rendered from a/templates/pod.yaml" in out


BEHIND_A_SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: shop}
spec: {selector: {app: shop}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Pod
metadata: {name: shop, labels: {app: shop}}
spec:
  containers:
  - %s
"""


@pytest.mark.parametrize("written", ["name: app\n    image: i", "{name: app, image: i}"])
@pytest.mark.parametrize(
    ("version", "action"), [("1.27", "exec"), ("1.29", "exec"), ("1.30", "sleep")]
)
def test_a_cluster_without_the_sleep_action_gets_a_command(
    tmp_path: Path, written: str, version: str, action: str
) -> None:
    path = tmp_path / "shop.yaml"
    path.write_text(BEHIND_A_SERVICE % written)
    given = ["--kubernetes-version", version, str(path)]
    arguments = ["check", "--notes", "--select", "SL108", "--fix", "--unsafe-fixes", *given]
    CliRunner().invoke(command_line(), arguments)
    container = list(yaml.safe_load_all(path.read_text()))[1]["spec"]["containers"][0]
    hook = {"exec": {"command": ["sleep", "5"]}, "sleep": {"seconds": 5}}[action]
    assert container["lifecycle"]["preStop"] == {action: hook}
    again = CliRunner().invoke(command_line(), ["suggest", *given])
    assert "nothing to change" in again.stdout
    assert CliRunner().invoke(command_line(), ["check", *given]).exit_code == 0
