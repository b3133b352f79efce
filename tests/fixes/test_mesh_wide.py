"""``suggest --mesh-wide``: the change of a mesh's configuration, and what it leaves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import dedent, run

if TYPE_CHECKING:
    from pathlib import Path

CONFIG_MAP = dedent("""
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: istio, namespace: istio-system}
    data:
      mesh: |
        # the defaults of all proxies
        defaultConfig:
          terminationDrainDuration: 5s
""")
OPERATOR = dedent("""
    apiVersion: install.istio.io/v1alpha1
    kind: IstioOperator
    metadata: {name: istio, namespace: istio-system}
    spec:
      meshConfig:
        accessLogFile: /dev/stdout
""")
VALUES = dedent("""
    apiVersion: helm.toolkit.fluxcd.io/v2
    kind: HelmRelease
    metadata: {name: istiod, namespace: istio-system}
    spec:
      chart: {spec: {chart: istiod, version: 1.24.1}}
      values:
        meshConfig:
          defaultConfig: {terminationDrainDuration: 5s}
""")
SHOP = dedent("""
    ---
    apiVersion: v1
    kind: Namespace
    metadata: {name: shop, labels: {istio-injection: enabled}}
    ---
    apiVersion: v1
    kind: Service
    metadata: {name: cart, namespace: shop}
    spec: {selector: {app: cart}, ports: [{port: 80}]}
    ---
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: cart, namespace: shop}
    spec:
      replicas: 2
      selector: {matchLabels: {app: cart}}
      template:
        metadata: {labels: {app: cart}}
        spec:
          containers:
            - name: app
              image: shop/cart:1
              ports: [{containerPort: 80}]
              lifecycle: {preStop: {sleep: {seconds: 10}}}
    ---
    apiVersion: v1
    kind: Service
    metadata: {name: orders, namespace: shop}
    spec: {selector: {app: orders}, ports: [{port: 80}]}
    ---
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: orders, namespace: shop}
    spec:
      replicas: 2
      selector: {matchLabels: {app: orders}}
      template:
        metadata:
          labels: {app: orders}
          annotations: {proxy.istio.io/config: "terminationDrainDuration: 8s"}
        spec:
          containers:
            - name: app
              image: shop/orders:1
              ports: [{containerPort: 80}]
              lifecycle: {preStop: {sleep: {seconds: 30}}}
""")
OPTIONS = ("--mesh=istio=1.24", "--kubernetes-version=1.32", "--p99=10s")


def suggest(folder: Path, output_format: str) -> str:
    code, out, err = run(
        "suggest", "--mesh-wide", str(folder), *OPTIONS, f"--format={output_format}"
    )
    assert code == 0, err
    return out


@pytest.mark.parametrize(
    ("mesh", "added"),
    [
        (CONFIG_MAP, "+      terminationDrainDuration: 21s\n"),
        (VALUES, "+      defaultConfig: {terminationDrainDuration: 21s}\n"),
        (OPERATOR, "+        EXIT_ON_ZERO_ACTIVE_CONNECTIONS: 'true'\n"),
    ],
)
def test_the_edit_is_enough(mesh: str, added: str, tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(mesh + SHOP)
    before: dict[str, Any] = json.loads(suggest(tmp_path, "json"))["meshes"][0]
    assert before["served_before"] == 0
    assert {each["workload"]["name"]: each["served"] for each in before["workloads"]} == {
        "cart": True,
        "orders": False,
    }
    diff = suggest(tmp_path, "diff")
    assert added in diff
    assert "orders" not in "".join(line for line in diff.splitlines() if line[:1] in "+-")
    _apply(diff, tmp_path / "shop.yaml")
    after = json.loads(suggest(tmp_path, "json"))["meshes"][0]
    assert after["changes"] == []
    assert after["served_before"] == 1
    # explain agrees.
    _, out, _ = run("explain", str(tmp_path), "cart", *OPTIONS, "--format=json")
    assert json.loads(out)["workloads"][0]["lost"] in ("none", "long")


def _apply(diff: str, path: Path) -> None:
    old = path.read_text()
    for block in diff.split("\n@@")[1:]:
        lines = block.split("\n")[1:]
        removed = "".join(f"{line[1:]}\n" for line in lines if line[:1] in (" ", "-"))
        added = "".join(f"{line[1:]}\n" for line in lines if line[:1] in (" ", "+"))
        assert old.count(removed) == 1
        old = old.replace(removed, added)
    path.write_text(old)


def test_who_is_not_served_and_why(tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(CONFIG_MAP + SHOP)
    out = suggest(tmp_path, "text")
    assert "terminationDrainDuration: 5s -> 21s" in out
    assert "1 of 2 workloads lose nothing with it, 0 as it is" in out
    assert "Deployment shop/orders: its own terminationDrainDuration 8s replaces the mesh's" in out


def test_a_mesh_that_is_not_among_the_files(tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(SHOP.removeprefix("---\n"))
    out = suggest(tmp_path, "text")
    assert "Mesh istio  not among the files" in out
    assert "not written as an edit: no configuration of the mesh is among the files" in out


def test_no_mesh_is_not_green(tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(SHOP.replace("istio-injection: enabled", "a: b"))
    code, out, err = run("suggest", "--mesh-wide", str(tmp_path), "--mesh=none")
    assert (code, out) == (2, "")
    assert "no pod is in a mesh" in err
    code, _, err = run("suggest", "--mesh-wide", str(tmp_path), "--format=helm")
    assert code == 2
    assert "--mesh-wide goes with --format text or json or diff" in err
