"""The findings of a skeptical user of the fixes: each as the smallest manifest that shows it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from shutdownlint.cli.app import command_line
from tests.helpers import dedent

SIDECAR = """\
apiVersion: v1
kind: Pod
metadata:
  name: a
  labels: {sidecar.istio.io/inject: "true"}
%sspec:
  containers:
  - {name: a, image: a, lifecycle: {preStop: {exec: {command: [sleep, "60"]}}}}
"""
BOTH = """\
drainDuration: 60s
      proxyMetadata:
        MINIMUM_DRAIN_DURATION: 60s
        EXIT_ON_ZERO_ACTIVE_CONNECTIONS: 'true'
"""
ISTIO = ("--istio-version", "1.26")


def run(*arguments: str) -> str:
    result = CliRunner().invoke(command_line(), list(arguments))
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.stdout


def fix_result(tmp_path: Path, text: str, *options: str, name: str = "a.yaml") -> str:
    path = tmp_path / name
    path.write_text(text)
    report = run("check", "--fix", "--unsafe-fixes", *options, str(path))
    assert "SL004" not in report
    return path.read_text()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", f"  annotations:\n    proxy.istio.io/config: |\n      {BOTH}"),
        ("  annotations:\n", f"  annotations:\n    proxy.istio.io/config: |\n      {BOTH}"),
        (
            "  annotations:\n    proxy.istio.io/config:\n",
            f"  annotations:\n    proxy.istio.io/config: |\n      {BOTH}",
        ),
        (
            "  annotations:\n    proxy.istio.io/config: 'concurrency: 2'  # ask\n",
            f"  annotations:\n    proxy.istio.io/config: |-  # ask\n      {BOTH}      concurrency: 2\n",
        ),
        (
            "  annotations:\n    proxy.istio.io/config: >  # ask\n      concurrency: 2\n",
            f"  annotations:\n    proxy.istio.io/config: |  # ask\n      {BOTH}      concurrency: 2\n",
        ),
    ],
)
def test_two_settings_of_one_annotation(tmp_path: Path, before: str, after: str) -> None:
    text = fix_result(tmp_path, SIDECAR % before, *ISTIO)
    assert after in text
    assert "terminationGracePeriodSeconds: 75" in text
    (tmp_path / "a.yaml").write_text(SIDECAR % before)
    diff = run("suggest", "--format", "diff", *ISTIO, str(tmp_path / "a.yaml"))
    added = "".join(line[1:] for line in diff.splitlines(keepends=True) if line[:1] == "+")
    assert added.count("proxy.istio.io/config") == 1
    assert BOTH in added


POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}


@pytest.mark.parametrize("empty", [{}, None])
def test_json_stays_json(tmp_path: Path, empty: object) -> None:
    container = {"name": "a", "image": "a", "lifecycle": empty, "env": [{"name": "A", "value": 1}]}
    container["ports"] = [{"containerPort": 80}]
    metadata = {"name": "a", "annotations": empty, "labels": {"sidecar.istio.io/inject": "true"}}
    text = json.dumps({**POD, "metadata": metadata, "spec": {"containers": [container]}})
    now = json.loads(fix_result(tmp_path, text, *ISTIO, "--p99", "10s", name="a.json"))
    assert now["spec"]["containers"][0]["env"][0]["value"] == "1"
    assert "EXIT_ON_ZERO" in now["metadata"]["annotations"]["proxy.istio.io/config"]


def test_only_the_time_of_a_sleep_is_changed(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(
        dedent("""
        apiVersion: v1
        kind: Pod
        metadata: {name: s6}
        spec:
          containers:
          - name: a
            image: a
            lifecycle: {preStop: {exec: {command: [sh, -c, "exec /s6/bin/sleep 5"]}}}
        """)
    )
    diff = run("suggest", "--propagation", "15s", "--format", "diff", str(path))
    assert '[sh, -c, "exec /s6/bin/sleep 15"]' in diff


INJECTED = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
  - name: istio-proxy
    image: docker.io/istio/proxyv2:1.26.0
  - name: a
    image: a
    env:
    - {name: MINIMUM_DRAIN_DURATION, value: "5"}
    - {name: B, value: "5"}
"""


def test_an_item_that_is_not_the_last_is_taken_out(tmp_path: Path) -> None:
    text = fix_result(tmp_path, INJECTED)
    assert "MINIMUM_DRAIN" not in text
    assert '{name: B, value: "5"}' in text


def test_a_patch_says_which_item_goes(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(INJECTED)
    patch = run("suggest", "--format", "kustomize", str(tmp_path))
    assert "$patch: delete" in patch


def test_lists_of_other_kinds_are_patched_whole(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        dedent("""
        apiVersion: argoproj.io/v1alpha1
        kind: Rollout
        metadata: {name: r}
        spec:
          selector: {matchLabels: {a: b}}
          template:
            metadata: {labels: {a: b}}
            spec:
              containers:
              - {name: a, image: "i:1", lifecycle: {preStop: {sleep: {seconds: 3}}}}
        """)
    )
    patch = run("suggest", "--propagation", "10s", "--format", "kustomize", str(tmp_path))
    assert "image: i:1" in patch
    assert "seconds: 10" in patch


@pytest.mark.parametrize("output", ["helm", "kustomize"])
def test_what_helm_rendered_gets_hints(tmp_path: Path, output: str) -> None:
    (tmp_path / "a.yaml").write_text(
        dedent("""
        ---
        # Source: c/templates/d.yaml
        apiVersion: v1
        kind: Pod
        metadata: {name: aa}
        spec:
          containers:
          - {name: a, image: a, lifecycle: {preStop: {sleep: {seconds: 40}}}}
        """)
    )
    assert "terminationGracePeriodSeconds: 55" in run("suggest", "--format", output, str(tmp_path))


def test_what_is_meant_is_quoted_not_how_it_is_spelt(tmp_path: Path) -> None:
    config = "  annotations:\n    proxy.istio.io/config: |\n      proxyMetadata:\n"
    config += "        EXIT_ON_ZERO_ACTIVE_CONNECTIONS: yes\n"
    text = fix_result(tmp_path, SIDECAR.replace(', "60"', ', "2"') % config, *ISTIO)
    assert "EXIT_ON_ZERO_ACTIVE_CONNECTIONS: 'true'" in text


def test_a_link_beside_its_file(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(SIDECAR % "")
    (tmp_path / "b.yaml").symlink_to("a.yaml")
    result = CliRunner().invoke(
        command_line(), ["check", "--fix", "--unsafe-fixes", *ISTIO, str(tmp_path)]
    )
    assert result.exit_code == 0
    assert (tmp_path / "b.yaml").is_symlink()


def test_a_read_only_file_is_left_alone_even_by_root(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(SIDECAR % "")
    path.chmod(0o444)
    result = CliRunner().invoke(
        command_line(), ["check", "--fix", "--unsafe-fixes", *ISTIO, str(path)]
    )
    assert result.exit_code == 2
    assert path.read_text() == SIDECAR % ""
    assert path.stat().st_mode & 0o777 == 0o444
