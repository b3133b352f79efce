from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from shutdownlint.manifests.prefilter import Content, Prefilter
from shutdownlint.manifests.skips import CRDS, EMPTY, NO_PODS, NOT_KUBERNETES, SkipReason
from shutdownlint.manifests.splitter import split
from shutdownlint.platforms.registry import kind_table
from tests.fuzz.targets import READING, TARGETS


def classify(chunk: bytes) -> Content | SkipReason:
    return Prefilter(kind_table().entries).classify(chunk)


def chunks(data: bytes) -> list[tuple[bytes, int]]:
    return [(chunk.data, chunk.first_line) for chunk in split(data)]


def test_documents_and_their_first_lines() -> None:
    assert chunks(b"a: 1\n---\nb: 2\n--- # comment\nc: 3") == [
        (b"a: 1\n", 1),
        (b"b: 2\n", 3),
        (b"c: 3", 5),
    ]
    assert chunks(b"---\r\na: 1\r\n---\r\nb: 2\r\n") == [(b"a: 1\r\n", 2), (b"b: 2\r\n", 4)]
    # content on the marker's line stays with it; five dashes are no marker
    assert chunks(b"--- {a: 1}\n-----BEGIN\n") == [(b"--- {a: 1}\n-----BEGIN\n", 1)]
    assert chunks(b"a: 1\n--- b\n") == [(b"a: 1\n", 1), (b"--- b\n", 2)]
    assert chunks(b"") == []
    assert chunks(b"abc: 1") == [(b"abc: 1", 1)]


def test_what_is_skipped() -> None:
    assert classify(b"# only a comment\n\n") is EMPTY
    assert classify(b"kind: CustomResourceDefinition\nspec: {containers: []}\n") is CRDS
    assert classify(b"apiVersion: v1\nkind: Secret\n") is NO_PODS
    assert classify(b"apiVersion: v1\nkind: ConfigMap\ndata: {containers: x}\n") is NO_PODS
    assert classify(b"image: {tag: 1}\ncontainers: x\n") is NOT_KUBERNETES


def test_what_is_parsed() -> None:
    for text in (
        b"kind: Deployment\nspec: {containers: []}\n",
        b"kind: Namespace\n",
        b"kind: ConfigMap\nmetadata: {name: istio}\ndata: {mesh: x}\n",
        b"kind: List\nitems: [{kind: Namespace}]\n",
        b'kind: Strange\nspec: {"cont\\x61iners": []}\n',
        b'{"kind": "Pod", "spec": {"containers": []}}',
        b'"kind": Pod\ncontainers: []\n',
        b"kind: CustomResourceDefinition\n  Pod\nx: containers\n",
        b"kind: CustomResourceDefinition\nkind: Pod\nx: containers\n",
    ):
        assert isinstance(classify(text), Content), text


PIECES = st.sampled_from(READING)


@settings(max_examples=3000, deadline=None)
@given(st.lists(PIECES, min_size=1, max_size=7))
def test_nothing_that_matters_is_ever_skipped(pieces: list[bytes]) -> None:
    TARGETS["reading"][0].check(b"".join(pieces))
