from __future__ import annotations

from pathlib import Path

import pytest

from shutdownlint import limits
from shutdownlint.manifests.discovery import (
    FileSearch,
    IgnoredInput,
    InputError,
    InputFile,
    discover,
)
from shutdownlint.manifests.reader import ReadStats, read_bytes
from tests.helpers import check_text, plan_files

POD = """
apiVersion: v1
kind: Pod
metadata: {name: shop}
spec:
  containers: [{name: app, image: shop/app:1}]
"""


def pods(files: dict[str, str | bytes]) -> list[str]:
    return [str(pod.id) for pod in plan_files(files).pods]


def test_one_broken_document_does_not_hide_its_neighbours() -> None:
    run = plan_files({"a.yaml": POD + "---\napiVersion: v1\nkind: Pod\nx: [containers\n---" + POD})
    assert len(run.pods) == 2
    (broken,) = run.stats.unreadable
    assert (broken.region.file, broken.region.line) == ("a.yaml", 10)
    assert run.stats.documents == 3


@pytest.mark.parametrize(
    "data",
    [
        POD.encode("utf-8-sig"),
        POD.replace("\n", "\r\n").encode(),
        POD.encode("utf-16"),
        POD.rstrip("\n").encode(),
        (
            b'{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "shop"},\n'
            b'\t"spec": {"containers": [{"name": "app", "image": "x"}]}}'
        ),
    ],
    ids=["bom", "crlf", "utf-16", "no final newline", "json with tabs"],
)
def test_encodings_and_line_ends(data: bytes) -> None:
    run = plan_files({"a.yaml": data})
    assert not run.stats.unreadable
    assert [str(pod.id) for pod in run.pods] == ["Pod shop"]


def test_bad_bytes_have_a_location() -> None:
    run = plan_files({"a.yaml": b"kind: Pod\nspec:\n  containers: [\xff]\n"})
    (broken,) = run.stats.unreadable
    assert (broken.region.line, broken.region.column) == (3, 16)
    assert "0xff" in broken.reason


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("kind: Pod\nspec:\n  containers: {{ .Values.x }}\n", "unrendered Helm or Go templates"),
        ("kind: Pod\n{{- if .x }}\nspec: {containers: []}\n", "unrendered Helm or Go templates"),
        (
            "#@ load('x')\nkind: Pod\nspec: {containers: []}\n",
            "templates of other tools (ytt, Jinja, Terraform)",
        ),
        (
            "kind: Pod\n%{ if x }\nspec: {containers: []}\n",
            "templates of other tools (ytt, Jinja, Terraform)",
        ),
        ("image: {tag: 1}\n", "documents that are not Kubernetes objects"),
        ("kind: [containers\n", "documents that are not Kubernetes objects"),
    ],
)
def test_what_is_not_a_manifest_is_skipped_and_counted(text: str, what: str) -> None:
    run = plan_files({"a.yaml": text})
    assert {reason.text: n for reason, n in run.stats.skipped.items()} == {what: 1}
    assert not run.stats.unreadable


def test_a_quoted_placeholder_is_a_value() -> None:
    text = POD.replace("name: shop", 'name: "{{ .Release.Name }}"')
    assert pods({"a.yaml": text}) == ["Pod {{ .Release.Name }}"]


def test_helm_source_is_remembered() -> None:
    result = check_text(
        "---\n# Source: shop/templates/pod.yaml"
        + POD.replace("shop/app:1}", "x, lifecycle: {preStop: {}}}")
    )
    assert [f.template for f in result.findings] == ["shop/templates/pod.yaml"]


def test_discover(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / ".git").mkdir()
    for name in ("b/x.yml", "a.yaml", "c.json", "d.txt", ".git/e.yaml"):
        (tmp_path / name).write_text("x: 1")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "link.yaml").symlink_to(tmp_path / "a.yaml")
    found = [f.display_path.removeprefix(f"{tmp_path}/") for f in discover([str(tmp_path)])]
    assert found == ["a.yaml", "c.json", "link.yaml", "b/x.yml"]
    # named outright, a file is read whatever it is called, and once
    one = str(tmp_path / "d.txt")
    assert [f.display_path for f in discover([one, one])] == [one]
    (missing,) = discover([str(tmp_path / "none")])
    assert isinstance(missing, InputError)
    found_files = list(
        discover(
            [str(tmp_path)],
            FileSearch(
                (
                    "*.yaml",
                    "b/*",
                )
            ),
        )
    )
    read = [each for each in found_files if isinstance(each, InputFile)]
    assert read == [InputFile(tmp_path / "c.json", f"{tmp_path}/c.json")]
    excluded = [each for each in found_files if isinstance(each, IgnoredInput)]
    assert [each.excluded for each in excluded] == [True] * 3


def test_too_large_a_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "huge.yaml"
    with path.open("wb") as file:
        file.truncate(limits.MAX_FILE_BYTES + 1)
    reading = ReadStats()
    assert read_bytes(InputFile(path, "huge.yaml"), reading) is None
    assert "larger than" in reading.unreadable[0].reason
