"""Charts and kustomizations, rendered by the real tools where they are installed."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from shutdownlint.cli.app import command_line
from shutdownlint.rendering import tools
from tests.helpers import POD, dedent
from tests.tools import need, search_path

TEMPLATE = """\
# the deployment
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
spec:
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec:
      terminationGracePeriodSeconds: {{ .Values.grace }}
      containers:
      - name: app
        image: i
        lifecycle: {preStop: {exec: {command: [sleep, "20"]}}}
"""


def run(*arguments: str, command: str = "check") -> tuple[int, str, str]:
    result = CliRunner().invoke(command_line(), [command, *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", search_path())
    for name, text in {
        "charts/shop/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
        "charts/shop/values.yaml": "grace: 20\n",
        "charts/shop/templates/app.yaml": TEMPLATE,
        "long.yaml": "grace: 60\n",
        "base/kustomization.yaml": "resources: [pod.yaml]\nnamePrefix: my-\n",
        "base/pod.yaml": POD,
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_a_chart_is_rendered_with_helm(folder: Path) -> None:
    need("helm")
    code, out, _ = run("--render", "charts")
    assert code == 1
    assert "--> charts/shop/templates/app.yaml:15:" in out
    assert 'lifecycle: {preStop: {exec: {command: [sleep, "20"]}}}' in out
    _, sarif, _ = run("--render", "--format", "sarif", "charts")
    (result,) = json.loads(sarif)["runs"][0]["results"]
    location = result["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "charts/shop/templates/app.yaml"
    assert run("--render", "--values", "long.yaml", "charts")[0] == 0
    (folder / "shutdownlint.toml").write_text('render = true\nvalues = ["long.yaml"]\n')
    code, _, err = run("charts/shop")
    assert (code, "shutdownlint.toml: render is ignored" in err) == (2, True), "nothing is run"
    assert run("--config", "shutdownlint.toml", "charts/shop")[0] == 0
    (folder / "charts/shop/templates/app.yaml").write_text("{{ fail }}")
    code, out, _ = run("--render", "charts")
    assert code == 2
    assert "helm template: " in out


def test_a_kustomization_is_built(folder: Path) -> None:
    need("kustomize", "kubectl")
    code, out, _ = run("--render", "base")
    assert code == 1
    assert "--> base/pod.yaml:7:" in out
    assert "Pod my-shop" in out
    assert "1 workload in 2 documents of 2 files" in out
    before = (folder / "base/pod.yaml").read_text()
    _, _, err = run("--render", "--fix", "base")
    assert "the file is rendered from base/pod.yaml" in err
    assert (folder / "base/pod.yaml").read_text() == before
    (folder / "base/kustomization.yaml").write_text("resources: [none.yaml]\n")
    assert run("--render", "base")[0] == 2


def test_without_the_option_nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    code, out, _ = run("-v", ".")
    assert "not checked: 1 chart" in out
    assert "unrendered templates of the chart charts/shop (1)" in out
    assert code == 1  # the pod below base


def test_a_tool_that_is_missing_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(folder))
    code, out, _ = run("--render", "charts")
    assert code == 2
    assert "helm is not installed to render it with" in out
    assert "neither kustomize nor kubectl is installed" in run("--render", "base")[1]


def test_a_tool_that_fails_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = folder / "helm"
    tool.write_text(
        dedent("""
        #!/bin/sh
        echo 'Error: \x1b[31mno such chart' >&2
        exit 3
        """)
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    code, out, _ = run("--render", "charts")
    assert code == 2
    assert "helm template: Error: \\u001b[31mno such chart" in out


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        # As helm 3.16.4 says it.
        ("chart requires kubeVersion: >=1.99.0 which is incompatible with Kubernetes v1.20.0",
         "Say which the cluster has: --kubernetes-version"),
        ("An error occurred while checking for chart dependencies. You may need to run",
         "Run 'helm dependency build charts/shop' first"),
        ("execution error at (shop/templates/app.yaml:3:21): tenant is needed", "--values FILE"),
        ("executing x at <.Values.a.b>: nil pointer evaluating interface {}.b", "--values FILE"),
    ],
)  # fmt: skip
def test_errors_of_helm_lead_on(
    error: str, advice: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = folder / "helm"
    tool.write_text(f"#!/bin/sh\necho 'Error: {error}' >&2\nexit 1\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    code, out, _ = run("--render", "charts")
    assert code == 2
    assert error in out
    assert advice in out


def test_what_is_rendered_is_explained_and_suggested_for() -> None:
    need("helm")
    status, stdout, _ = run("--render", "charts", command="explain")
    assert status == 0
    assert "Deployment shop  charts/shop/templates/app.yaml:8" in stdout
    arguments = ("--render", "--values", "long.yaml", "charts", "--p99", "45s", "--format")
    status, patch, _ = run(*arguments, "kustomize", command="suggest")
    assert status == 0
    assert "terminationGracePeriodSeconds: 70" in patch
    _, _, stderr = run(*arguments, "diff", command="suggest")
    assert "rendered from long.yaml:1: change that" in stderr


@pytest.mark.parametrize(("most", "data", "full"), [(10, b"x" * 10, False), (9, b"", True)])
def test_no_more_is_read_of_a_program_than_the_limit(most: int, data: bytes, full: bool) -> None:
    output = tools._Output(bytearray())
    tools._read(BytesIO(b"x" * 10), output, most, SimpleNamespace(kill=lambda: None))  # type: ignore[arg-type]
    assert (bytes(output.data), output.full) == (data, full)
