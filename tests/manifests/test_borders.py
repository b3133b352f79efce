"""Reading at its borders: first and last places, limits that are just met, neighbours of what fails."""

from __future__ import annotations

from io import BytesIO
from pathlib import PurePosixPath
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
import yaml
from msgspec import convert
from msgspec.structs import replace

from shutdownlint import limits
from shutdownlint.linter.expand import expand
from shutdownlint.linter.linter import check, plan_workloads
from shutdownlint.linter.read import read
from shutdownlint.manifests import context_objects, read_workloads
from shutdownlint.manifests.discovery import FileSearch, InputFile
from shutdownlint.manifests.document import Graft
from shutdownlint.manifests.kinds import MeshWord
from shutdownlint.manifests.mesh_evidence import MeshEvidenceIndex, find_evidence
from shutdownlint.manifests.patched import PatchedDocument
from shutdownlint.manifests.prefilter import _certain_kinds
from shutdownlint.manifests.reader import ReadStats, read_bytes
from shutdownlint.manifests.rendered import RenderedDocument
from shutdownlint.manifests.resources import Ingress
from shutdownlint.manifests.splitter import split
from shutdownlint.yaml_source.location import Region
from tests.helpers import check_files, check_text, dedent, lint_options, plan_files, write_sources

if TYPE_CHECKING:
    from pathlib import Path

    from shutdownlint.manifests.document import Document

POD = dedent("""\
    apiVersion: v1
    kind: Pod
    metadata: {name: %s, namespace: shop}
    spec: {containers: [{name: app, image: "shop/app:1"}]}
    """)


def document_of(text: str) -> Document:
    """Return the first document with a pod."""
    return plan_files({"shop.yaml": text}).pods[0].ref.document


def test_the_entry_around_an_entry() -> None:
    ref = document_of(POD % "a").ref("spec", "containers", 0, "name")
    assert ref.parent.key_path == ("spec", "containers", 0)
    assert ref.parent.parent.key_path == ("spec", "containers")


@pytest.mark.parametrize("before", range(5))
@pytest.mark.parametrize(
    ("written", "line", "column"),
    [("|\n      drainDuration: 30\n", 8, 22), ("'drainDuration: 30'\n", 7, 44)],
)
def test_places_in_later_documents(before: int, written: str, line: int, column: int) -> None:
    head = "# one\n" * before + "---\n" if before else ""
    text = head + dedent("""\
        apiVersion: v1
        kind: Pod
        metadata:
          name: shop
          labels: {sidecar.istio.io/inject: "true"}
          annotations:
            proxy.istio.io/config: WRITTEN
        spec: {containers: [{name: app, image: "shop/app:1"}]}
        """).replace("WRITTEN\n", written)
    shift = before + 1 if before else 0
    (region,) = {f.region for f in check_text(text).findings if f.rule.startswith("SL2")}
    assert region == Region("shop.yaml", line + shift, column, line + shift, column + 2)


def test_a_file_that_is_gone_costs_no_other_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = write_sources({"a.yaml": POD % "a", "b.yaml": POD % "b"}, tmp_path)
    real = read_bytes

    def gone(file: InputFile, *more: Any) -> bytes | None:
        return None if file.display_path.endswith("a.yaml") else real(file, *more)

    monkeypatch.setattr(read_workloads, "read_bytes", gone)
    assert [pod.id.name for pod in plan_workloads(sources, lint_options()).pods] == ["b"]


def test_a_document_over_its_limit_is_not_skipped_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_EXPANDED_VALUES", 1)
    monkeypatch.setattr(limits, "MAX_EXPANDED_VALUES_PER_CHARACTER", 0)
    result = check_text(POD % "a")
    assert len(result.stats.unreadable) == 1
    assert not result.stats.skipped


def test_an_internal_error_is_at_the_documents_first_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(_document: Document, _kinds: object) -> Any:
        raise RuntimeError("broken")

    monkeypatch.setattr(read_workloads, "find_workloads", fail)
    sources = write_sources({"a.yaml": "# a\n# b\n---\n" + POD % "a"}, tmp_path)
    (problem,) = check(sources, replace(lint_options(), debug=False)).stats.unreadable
    assert (problem.region.line, problem.region.end_line) == (4, 4)


WORDS = (MeshWord("istio", b"istio.io"),)
OBJECT = b"apiVersion: networking.istio.io/v1\nkind: Gateway\nmetadata: {name: a%s}\n"


def test_evidence_by_namespace_and_by_folder() -> None:
    (named,) = find_evidence(WORDS, "x/mesh.yaml", OBJECT % b", namespace: shop")
    (other,) = find_evidence(WORDS, "k8s/mesh.yaml", OBJECT % b"")
    assert (named.namespace, other.namespace) == ("shop", "")
    index = MeshEvidenceIndex(WORDS)
    index.add(named)
    assert index.near("istio", "shop", "far/away/pod.yaml") is named
    assert index.near("istio", "other", "far/away/pod.yaml") is None
    plain = MeshEvidenceIndex(WORDS)
    plain.add(other)
    assert plain.near("istio", None, "k8s/pod.yaml") is other
    assert plain.near("istio", "shop", "k8s/pod.yaml") is other
    assert plain.near("linkerd", None, "k8s/pod.yaml") is None


def grafted(document: Document, *paths: tuple[str | int, ...]) -> PatchedDocument:
    node = yaml.compose("new", Loader=yaml.SafeLoader)
    source = cast("Any", SimpleNamespace(region=lambda: None))
    return PatchedDocument.of(document, [Graft(path, node, source) for path in paths])


def test_values_below_one_that_is_written_over_do_not_count() -> None:
    document = document_of(POD % "a")
    patched = grafted(document, ("spec", "containers", 0, "name"))
    assert len(patched.grafts_below(("spec",))) == 1
    again = grafted(document, ("spec", "containers", 0, "name"), ("spec",))
    assert again.grafts_below(("spec",)) == []
    assert again.grafts_below(("spec", "containers")) == []


def test_a_patched_document_is_made_again_after_its_release() -> None:
    patched = grafted(document_of(POD % "a"), ("spec", "hostNetwork"))
    patched.release()
    assert patched.tree.to_python(("spec", "hostNetwork")) == "new"


def test_a_file_may_be_as_large_as_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"#" * (1024 * 1024))
    monkeypatch.setattr(limits, "MAX_FILE_BYTES", 1024 * 1024)
    stats = ReadStats()
    assert read_bytes(InputFile(path, "a.yaml"), stats) == path.read_bytes()
    path.write_bytes(b"#" * (1024 * 1024 + 1))
    assert read_bytes(InputFile(path, "a.yaml"), stats) is None
    assert stats.unreadable[0].reason == "larger than 1 MiB"


def test_a_rendered_document_keeps_the_name_of_its_template() -> None:
    document = document_of("---\n# Source: shop/templates/pod.yaml\n" + POD % "a")
    origins = cast("Any", SimpleNamespace(template_file=lambda _document: "chart/pod.yaml"))
    rendered = RenderedDocument.of(document, origins)
    assert (rendered.source_name, rendered.template) == (document.template, "chart/pod.yaml")
    assert document.template == "shop/templates/pod.yaml"


@pytest.mark.parametrize(("depth", "found"), [(3, {"deep"}), (20, set[str]())])
def test_backends_are_looked_for_to_a_depth(depth: int, found: set[str]) -> None:
    spec: Any = {"service": {"name": "deep"}}
    for _ in range(depth):
        spec = {"rules": spec}
    model = convert({"metadata": {"name": "a"}, "spec": spec}, Ingress, strict=False)
    assert set(model.services) == found


@pytest.mark.parametrize(
    ("data", "parts"),
    [
        (b"a:b c: 1\n", [b"a:b c: 1\n"]),
        (b"\n---\na: 1\n---\nb: 2\n", [b"\n", b"a: 1\n", b"b: 2\n"]),
        (b"---\n---\na: 1\n", [b"a: 1\n"]),
        (b"---\na: 1\n---\n---\nb: 2\n", [b"a: 1\n", b"b: 2\n"]),
    ],
)
def test_where_documents_begin(data: bytes, parts: list[bytes]) -> None:
    chunks = list(split(data))
    assert [chunk.data for chunk in chunks if chunk.data.strip() or len(parts) > 2] == parts
    assert [chunk.index for chunk in chunks] == list(range(len(chunks)))
    for chunk in chunks:
        assert data[chunk.start : chunk.start + len(chunk.data)] == chunk.data


@pytest.mark.parametrize(
    "text", ["kind: Pod\n", "apiVersion: v1\n", "kind: [Pod]\napiVersion: v1\n"]
)
def test_half_an_object_is_none(text: str) -> None:
    assert check_text(text).stats.unreadable == []


def test_an_alias_hides_no_key_that_is_written_twice() -> None:
    text = dedent("""\
        apiVersion: v1
        kind: Pod
        metadata:
          name: shop
          labels: &labels {a: b}
          annotations: *labels
        spec:
          restartPolicy: Always
          restartPolicy: Always
          containers: [{name: app, image: "shop/app:1"}]
        """)
    found = [f for f in check_text(text).findings if "restartPolicy" in f.message]
    assert len(found) == 1


@pytest.mark.parametrize(
    ("folder", "path", "joined"),
    [
        ("", "a/../b", "b"),
        ("k8s", "../b", "b"),
        ("k8s", "x/+y", "k8s/x/+y"),
        ("", "../../b", "../../b"),
        ("", ".", "."),
    ],
)
def test_folders_of_deployments(folder: str, path: str, joined: str) -> None:
    assert context_objects._join(PurePosixPath(folder), path) == joined


def test_work_is_shared_evenly(tmp_path: Path) -> None:
    names = [f"{number}.yaml" for number in range(8)]
    inputs = write_sources({name: POD % f"p{name[0]}" for name in names}, tmp_path)
    (world,) = expand(inputs, lint_options()).worlds
    assert [len(share) for share in world.share_files(4)] == [2, 2, 2, 2]
    assert [len(share) for share in world.share_files(2)] == [4, 4]
    assert [file for share in world.share_files(3) for file in share] == [*world.files]


def test_a_file_that_changes_is_named_and_costs_no_other_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = write_sources({"a.yaml": POD % "a", "b.yaml": POD % "b"}, tmp_path)
    real = read_bytes

    def grown(file: InputFile, *more: Any) -> bytes | None:
        data = real(file, *more)
        return data + b"# more\n" if data and file.display_path.endswith("a.yaml") else data

    monkeypatch.setattr(read_workloads, "read_bytes", grown)
    planned = plan_workloads(sources, lint_options())
    assert [pod.id.name for pod in planned.pods] == ["b"]
    assert [problem.reason for problem in planned.stats.unreadable] == ["changed while it was read"]


def test_a_document_that_fails_is_not_skipped_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_document: Document, _kinds: object) -> Any:
        raise RuntimeError("broken")

    monkeypatch.setattr(read_workloads, "find_workloads", fail)
    sources = write_sources({"a.yaml": POD % "a"}, tmp_path)
    stats = check(sources, replace(lint_options(), debug=False)).stats
    assert (len(stats.unreadable), dict(stats.skipped)) == (1, {})


def test_standard_input_over_the_limit_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_FILE_BYTES", 10)
    for text, problems in ((b"a: 1234567", 0), (b"a: 12345678", 1)):
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=BytesIO(text)))
        result = check(read(["-"], FileSearch()), lint_options())
        assert len(result.stats.unreadable) == problems


def test_standard_input_may_be_context(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=BytesIO(b"a: 1")))
    (source,) = read([], FileSearch(), context=["-"]).sources
    assert isinstance(source.file, InputFile)
    assert (source.file.data, source.context) == (b"a: 1", True)


def test_all_documents_of_a_kustomization_file_are_read() -> None:
    flux = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a}\n"
    files = {
        "kustomization.yaml": f"resources: [a.yaml]\n---\n{flux}---\n# a\n",
        "a.yaml": POD % "a",
    }
    run = check_files(files)
    assert (run.stats.documents, run.workloads) == (3, 1)


@pytest.mark.parametrize("before", ["", "a: 1\n", "a: 12\n", "# a\n", "\n"])
def test_the_kind_of_an_object_is_found_at_every_offset(before: str) -> None:
    assert _certain_kinds(f"{before}kind: Pod\nb: 1\n".encode()) == {b"Pod"}
    assert _certain_kinds(f"{before}kind: Pod\nkind: Job\n".encode()) == {b"Pod", b"Job"}
