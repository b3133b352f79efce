"""Places inside text that is itself YAML: an annotation's block, a quoted line, a ConfigMap key."""

from __future__ import annotations

import posixpath
from pathlib import Path

import pytest

from shutdownlint.manifests.discovery import InputFile, discover
from shutdownlint.manifests.skips import GO_TEMPLATE
from tests.helpers import check_text, run, user_facts

HEAD = """\
apiVersion: v1
kind: Pod
metadata:
  name: shop
  labels:
    sidecar.istio.io/inject: "true"
  annotations:
"""
TAIL = """\
spec:
  containers:
    - name: app
      image: shop/app:1
"""


@pytest.mark.parametrize(
    ("annotation", "line", "column", "end_column"),
    [
        ("    proxy.istio.io/config: |\n      # note\n      drainDuration: 30\n", 10, 22, 24),
        ("    proxy.istio.io/config: |-\n\n        drainDuration: 30\n", 10, 24, 26),
        ("    proxy.istio.io/config: |2\n      drainDuration: 30\n", 9, 22, 24),
        ("    proxy.istio.io/config: 'drainDuration: 30'\n", 8, 44, 46),
        ("    proxy.istio.io/config: '{\"drainDuration\": 30}'\n", 8, 47, 49),
        # written differently than it reads: the key of the annotation
        ('    proxy.istio.io/config: "{\\"drainDuration\\": 30}"\n', 8, 5, 26),
        ("    proxy.istio.io/config: >\n      drainDuration: 30\n", 8, 5, 26),
    ],
)
def test_places_in_an_annotation(annotation: str, line: int, column: int, end_column: int) -> None:
    for ends in ("\n", "\r\n"):
        text = (HEAD + annotation + TAIL).replace("\n", ends)
        (finding,) = check_text(text.encode(), user_facts(istio="1.26")).findings
        region = finding.region
        assert finding.rule == "SL212"
        assert (region.line, region.column, region.end_column) == (line, column, end_column)


def test_the_place_of_a_syntax_error_in_an_annotation() -> None:
    text = HEAD + "    proxy.istio.io/config: |\n      a: 1\n      b: c: d\n" + TAIL
    (finding,) = check_text(text, user_facts(istio="1.26")).findings
    assert (finding.region.line, finding.region.column) == (10, 11)


def test_later_documents_count_their_lines_from_the_files_start() -> None:
    text = "# first\n---\na: 1\n---\n" + HEAD + "    proxy.istio.io/config: 'drainDuration: 30'\n"
    (finding,) = check_text(text + TAIL, user_facts(istio="1.26")).findings
    assert finding.region.line == 12


POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec:\n  containers:\n    - {name: a, image: b}\n%s"


@pytest.mark.parametrize(
    ("text", "unreadable"),
    [
        (POD % ("{{ .Values.name }}", ""), False),
        (POD % ("a", "  {{- if .x }}\n  a: b\n  {{- end }}\n"), False),
        (POD % ("a", '  x: {{ toYaml .y | nindent 4 }}\n{{ include "z" . }}\n'), False),
        (POD % ('"{{ x }}"', "  image: [b\n"), True),
        (POD % ("{{ x }}", "  image: [b\n"), True),
        (POD % ("a", "  image: [b\n"), True),
    ],
)
def test_a_template_is_not_a_broken_manifest(text: str, unreadable: bool) -> None:
    stats = check_text(text).stats
    assert bool(stats.unreadable) is unreadable
    assert bool(stats.skipped[GO_TEMPLATE]) is not unreadable


def test_what_does_not_parse_below_a_chart_is_a_template(tmp_path: Path) -> None:
    (tmp_path / "shop" / "templates").mkdir(parents=True)
    (tmp_path / "shop" / "Chart.yaml").write_text("name: shop\n")
    (tmp_path / "shop" / "templates" / "a.yaml").write_text(POD % ('"{{ x }}"', "  image: [b\n"))
    (tmp_path / "b.yaml").write_text(POD % ('"{{ x }}"', "  image: [b\n"))
    code, out, _ = run("check", "-v", str(tmp_path))
    assert code == 2
    assert out.count("SL001") == 1
    assert "unrendered templates of the chart" in out


@pytest.mark.parametrize("root", [".", "./", "shop", "shop/", "shop/charts/inner/"])
def test_a_file_belongs_to_the_outermost_chart_of_the_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: str
) -> None:
    monkeypatch.chdir(tmp_path)
    inner = Path("shop", "charts", "inner")
    (inner / "templates" / "pods").mkdir(parents=True)
    Path("plain").mkdir()
    for file in ("shop/Chart.yaml", inner / "Chart.yaml", "plain/a.yaml"):
        Path(file).write_text("name: shop\n")
    (inner / "templates" / "pods" / "a.yaml").write_text(POD)
    charts = {
        posixpath.normpath(found.display_path): found.chart and posixpath.normpath(found.chart)
        for found in discover([root])
        if isinstance(found, InputFile) and not found.display_path.endswith("Chart.yaml")
    }
    outermost = "shop/charts/inner" if "inner" in root else "shop"
    expected: dict[str, str | None] = {"shop/charts/inner/templates/pods/a.yaml": outermost}
    if root.startswith("."):
        expected["plain/a.yaml"] = None
    assert charts == expected


@pytest.mark.parametrize("name", ["a.YAML", "a.Yml", "a.JSON", "01-errors.yaml"])
def test_files_are_found_whatever_the_case_of_their_ending(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text('{"apiVersion": "v1", "kind": "Secret"}')
    assert "1 document of 1 file" in run("check", str(tmp_path))[1]
