"""A plain run: one block for each cause, and what stops lose in at most eight lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers import run

SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: NAME, namespace: shop}
spec: {selector: {app: NAME}, ports: [{port: 80}]}
---
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      containers:
      - {name: NAME, image: shop/NAME:1HOOK}
"""


def write(name: str, hook: str = "", folder: str = "k8s") -> None:
    path = Path(folder, f"{name}.yaml")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text((SERVICE + DEPLOYMENT).replace("NAME", name).replace("HOOK", hook))


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def blocks(out: str) -> list[str]:
    return [line for line in out.splitlines() if line.startswith(("error[", "warning[", "note["))]


def test_one_cause_is_one_block_whatever_the_folders_are() -> None:
    for number in range(27):
        write(f"app{number:02}", folder=f"k8s/{number % 3}")
    code, out, _ = run("check", ".")
    assert code == 1
    (head,) = blocks(out)
    assert head.endswith("new requests are refused (no preStop hook), in 27 workloads")
    listed = [line for line in out.splitlines() if "new requests until 5s, 2 replicas" in line]
    assert len(listed) == 10
    assert "and 16 more: --format concise" in out
    assert "at a stop: 27 of 27 workloads lose requests that arrive late\n" in out
    assert out.splitlines()[-1].startswith("27 warnings; 27 workloads")
    concise = run("check", "--quiet", "--format", "concise", ".")[1].splitlines()
    assert len(concise) == 27
    report = json.loads(run("check", "--format", "json", ".")[1])
    assert report["summary"]["losses"]["late"] == 27
    assert {w["name"] for f in report["findings"] for w in f["workloads"]} == {
        f"app{number:02}" for number in range(27)
    }


def test_the_worst_stands_first() -> None:
    write("late")
    write("grace", ', lifecycle: {preStop: {exec: {command: [sleep, "30"]}}}')
    out = run("check", ".")[1]
    assert [head.partition("]")[0] for head in blocks(out)] == ["error[SL102", "warning[SL108"]


def test_one_edit_that_is_enough_is_named() -> None:
    mesh = (
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {istio-injection: enabled}}\n"
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: istio, namespace: istio-system}\n"
        "data:\n  mesh: |\n    defaultConfig:\n      terminationDrainDuration: 3s\n"
    )
    Path("mesh.yaml").write_text(mesh)
    hook = ", lifecycle: {preStop: {sleep: {seconds: 8}}}"
    for name in ("one", "two", "three"):
        write(name, hook)
    out = run("check", "--mesh", "istio=1.26", "--kubernetes-version", "1.30", ".")[1]
    assert len(blocks(out)) == 1
    assert "; one edit at mesh.yaml:" in out
    assert "is enough for all 3" in out
    (finding,) = json.loads(
        run(
            "check", "--format", "json", "--mesh", "istio=1.26", "--kubernetes-version", "1.30", "."
        )[1]
    )["findings"]
    assert len(finding["workloads"]) == 3
    assert finding["file"] == "mesh.yaml"


def test_variants_of_one_file_are_one_line() -> None:
    write("app", folder="base")
    Path("base/kustomization.yaml").write_text("resources: [app.yaml]\n")
    for name in ("dev", "prod"):
        Path(name).mkdir()
        Path(name, "kustomization.yaml").write_text(f"namespace: {name}\nresources: [../base]\n")
    out = run("check", ".")[1]
    assert len(blocks(out)) == 1
    assert out.count("base/app.yaml:") == 2  # the place, and the Service
    assert "= variants: dev, prod" in out
    assert "at a stop: 2 of 2 workloads lose requests that arrive late" in out


def test_at_most_eight_lines_say_what_a_run_means() -> None:
    write("late")
    write("grace", ', lifecycle: {preStop: {exec: {command: [sleep, "30"]}}}')
    Path("chart/templates").mkdir(parents=True)
    Path("chart/Chart.yaml").write_text("apiVersion: v2\nname: c\nversion: 1.0.0\n")
    template = (DEPLOYMENT + "\n").replace("NAME", "{{ .Values.name }}")
    Path("chart/templates/a.yaml").write_text(template)
    out = run("check", "--ignore", "SL184", ".")[1]
    last = out.split("\n\n")[-1].splitlines()
    assert len(last) <= 8
    assert last[0].startswith("at a stop: 1 of 2 workloads loses requests that arrive late, 1 cuts")
    assert "not checked: 1 chart (--render)" in last
    assert len(run("check", "--ignore", "SL184", "--verbose", ".")[1].splitlines()) > len(
        out.splitlines()
    )


def test_no_findings_is_printed_only_where_nothing_is_lost() -> None:
    write("late")
    assert "no findings" not in run("check", "--ignore", "SL108", ".")[1]
    write("late", ", lifecycle: {preStop: {sleep: {seconds: 5}}}")
    out = run("check", ".")[1]
    assert "at a stop: 1 of 1 workload loses nothing" in out
    assert out.splitlines()[-1].startswith("no findings; 1 workload")


def test_the_page_opens_with_a_table_of_workloads() -> None:
    write("late")
    page = run("check", "--format", "html", ".")[1]
    body = page[page.index("<body") :]
    assert body.index("at a stop: 1 of 1 workload") < body.index("<table")
    table = body[body.index("<table") : body.index("</table>")]
    assert "Deployment shop/late" in table
    assert "new requests are refused" in table
    markdown = run("check", "--format", "markdown", ".")[1]
    assert "at a stop: 1 of 1 workload loses requests that arrive late" in markdown


def test_a_workload_that_joins_a_known_cause_is_new() -> None:
    write("one")
    assert run("check", "--write-baseline", "known.json", ".")[0] == 0
    assert run("check", "--baseline", "known.json", ".")[0] == 0
    write("two")
    code, out, _ = run("check", "--baseline", "known.json", ".")
    assert code == 1
    assert "Deployment shop/two" in out
    assert "Deployment shop/one" not in out
