"""``check --since``: only what a change makes worse, and nothing of the repository is run."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import dedent, run

POD = dedent("""
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: %s, namespace: shop}
    spec:
      replicas: 2
      selector: {matchLabels: {app: %s}}
      template:
        metadata: {labels: {app: %s}}
        spec:
          terminationGracePeriodSeconds: 30
          containers:
            - name: app
              image: shop/app:1
              ports: [{containerPort: 80}]
              lifecycle: {preStop: {exec: {command: [sleep, "%s"]}}}
""")
MESH = dedent("""
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: istio, namespace: istio-system}
    data:
      mesh: |
        defaultConfig: {terminationDrainDuration: %s}
    ---
    apiVersion: v1
    kind: Namespace
    metadata: {name: shop, labels: {istio-injection: enabled}}
""")


def git(*words: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    git("init", "-q")
    write("cart", 10)
    write("orders", 40)
    commit()
    return tmp_path


def write(name: str, seconds: int) -> None:
    Path(f"{name}.yaml").write_text(POD % (name, name, name, seconds))


def commit() -> None:
    git("add", "-A")
    git("commit", "-qm", "x")


def check(*words: str) -> dict[str, Any]:
    code, out, err = run("check", "--since", "HEAD", "--mesh=none", "--format=json", *words)
    data: dict[str, Any] = json.loads(out)
    data["code"], data["errors"] = code, err
    return data


def test_nothing_changed() -> None:
    code, out, _ = run("check", "--since", "HEAD", "--mesh=none")
    assert code == 0
    assert "since HEAD: 0 files changed; 0 workloads lose more" in out
    assert "no new findings; 1 known" in out
    assert run("check", "--mesh=none")[0] == 1


def test_only_what_is_new_is_reported() -> None:
    write("cart", 35)
    write("new", 40)
    found = check()
    assert found["code"] == 1
    assert {(f["rule"], f["file"]) for f in found["findings"]} == {
        ("SL102", "cart.yaml"),
        ("SL102", "new.yaml"),
    }
    since = found["summary"]["since"]
    assert since["changed_files"] == ["cart.yaml", "new.yaml"]
    assert {(w["workload"]["name"], w["before"]) for w in since["worse"]} >= {("new", None)}


def test_what_is_better_is_no_finding() -> None:
    write("orders", 5)
    found = check()
    assert (found["code"], found["findings"]) == (0, [])
    assert found["summary"]["since"]["better"] == 1
    Path("orders.yaml").unlink()
    found = check()
    assert (found["code"], found["findings"]) == (0, [])
    assert found["summary"]["since"]["changed_files"] == ["orders.yaml"]


def test_a_file_that_reaches_others() -> None:
    Path("mesh.yaml").write_text(MESH % "20s")
    commit()
    Path("mesh.yaml").write_text(MESH % "2s")
    code, out, _ = run("check", "--since", "HEAD", "--mesh=istio=1.24")
    assert code == 1
    assert "since HEAD: 1 file changed" in out
    assert "2 workloads of other files among them" in out
    assert "loses more: Deployment shop/cart (cart.yaml:" in out
    assert "(its own file is unchanged)" in out


def test_a_comment_for_a_pull_request() -> None:
    write("cart", 35)
    _, out, _ = run("check", "--since", "HEAD", "--mesh=none", "--format=markdown")
    assert out.startswith("<!-- shutdownlint: since -->\n")
    assert "SL102" in out


def test_paths_and_renamed_files(repository: Path) -> None:
    (repository / "k8s").mkdir()
    git("mv", "orders.yaml", "k8s/renamed.yaml")
    assert check()["findings"] == []
    commit()
    write("cart", 35)
    assert check("k8s")["findings"] == []
    assert len(check("cart.yaml")["findings"]) == 1
    assert len(check("./", "k8s/renamed.yaml")["findings"]) == 1


@pytest.mark.parametrize(
    "ref", ["nope", "--upload-pack=x", "-h", "", "HEAD:cart.yaml", "a\nb", "@{99999}"]
)
def test_what_names_no_commit(ref: str) -> None:
    code, out, err = run("check", f"--since={ref}")
    assert (code, out) == (2, "")
    assert "names no commit" in err


def test_without_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path("/") if (tmp_path / ".git").exists() else tmp_path
    monkeypatch.setattr("shutdownlint.rendering.commit_files.find_repository_root", lambda _: None)
    code, _, err = run("check", "--since", "HEAD", str(folder / "nothing.yaml"))
    assert code == 2
    assert "is in no git repository" in err


@pytest.mark.parametrize(
    "words", [["--fix"], ["--diff"], ["--write-baseline", "a"], ["--render"], ["-"]]
)
def test_options_that_do_not_go_with_it(words: list[str]) -> None:
    code, _, err = run("check", "--since", "HEAD", *words)
    assert code == 2
    assert "--since goes" in err


def test_nothing_of_the_repository_is_run(repository: Path) -> None:
    evil = repository / "evil.sh"
    evil.write_text(f"#!/bin/sh\ntouch {repository}/was-run\ncat\n")
    evil.chmod(0o755)
    (repository / ".gitattributes").write_text("*.yaml filter=evil diff=evil export-ignore ident\n")
    for name in (
        "post-checkout",
        "post-index-change",
        "reference-transaction",
        "fsmonitor-watchman",
    ):
        hook = repository / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(evil.read_text())
        hook.chmod(0o755)
    (repository / ".gitmodules").write_text('[submodule "x"]\n path = x\n url = ext::sh -c evil\n')
    (repository / "link.yaml").symlink_to("/etc/passwd")
    commit()
    for key in ("filter.evil.clean", "filter.evil.smudge", "diff.evil.textconv", "core.fsmonitor",
                "core.pager", "diff.external", "core.sshCommand", "core.askPass"):  # fmt: skip
        git("config", key, str(evil))
    (repository / "was-run").unlink(missing_ok=True)
    write("cart", 35)
    found = check()
    assert [f["file"] for f in found["findings"] if f["rule"] == "SL102"] == ["cart.yaml"]
    assert not (repository / "was-run").exists()
