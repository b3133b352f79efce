from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from shutdownlint.manifests.split import (
    CONTEXT_KINDS,
    CRDS,
    EMPTY,
    NO_PODS,
    NOT_KUBERNETES,
    relevance,
    split,
)
from shutdownlint.yamltext.compose import ComposeError, compose


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


def test_what_is_passed_over() -> None:
    assert relevance(b"# only a comment\n\n") is EMPTY
    assert relevance(b"kind: CustomResourceDefinition\nspec: {containers: []}\n") is CRDS
    assert relevance(b"apiVersion: v1\nkind: Secret\n") is NO_PODS
    assert relevance(b"apiVersion: v1\nkind: ConfigMap\ndata: {containers: x}\n") is NO_PODS
    assert relevance(b"image: {tag: 1}\ncontainers: x\n") is NOT_KUBERNETES


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
        assert relevance(text) is None, text


PIECES = st.sampled_from(
    [
        b"kind: CustomResourceDefinition\n",
        b"kind: Pod\n",
        b"kind: Secret\n",
        b'"kind": Pod\n',
        b"kind: 'Namespace'\n",
        b"kind: Secret # Pod\n",
        b"kind: Secret\n  Pod\n",
        b"kind:\n  Pod\n",
        b"? kind\n: Pod\n",
        b"kind: &a Secret\n",
        b"kind: *a\n",
        b"kind : Pod\n",
        b"apiVersion: v1\n",
        b"spec:\n  containers:\n  - name: a\n",
        b'spec:\n  "cont\\u0061iners":\n  - name: a\n',
        b"data: |\n  kind: Pod\n  containers: []\n",
        b'text: "a\nkind: Secret\n b"\n',
        b"text: 'a\n\nkind: CustomResourceDefinition\n'\n",
        b"items:\n- kind: Pod\n",
        b"<<: {kind: Pod}\n",
        b"{kind: Pod, containers: [{name: a}]}\n",
        b"# comment\n",
        b"#kind: Secret\r",
        b"\xef\xbb\xbf",
        b"\xc2\x85",
        b"\xe2\x80\xa8kind: Pod\n",
        b"\r",
        b"\r\n",
        b"\n",
        b"  ",
        b"\t",
        b"...\n",
        b"!!map\n",
        b"%YAML 1.1\n",
        b"- ",
        b"kind: PodList\n",
        b"x: 1\n",
    ]
)


@settings(max_examples=3000, deadline=None)
@given(st.lists(PIECES, min_size=1, max_size=7))
def test_nothing_that_matters_is_ever_passed_over(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    for chunk in split(data):
        skip = relevance(chunk.data)
        if skip is None:
            continue
        try:
            roots = compose(chunk.data.decode("utf-8-sig"))
        except (ComposeError, UnicodeDecodeError):
            continue
        for root in roots:
            kinds = _root_kinds(root)
            assert not kinds & {kind.decode() for kind in CONTEXT_KINDS}, (skip, chunk.data)
            if skip is CRDS:
                assert kinds <= {"CustomResourceDefinition"}
            elif skip is NOT_KUBERNETES:
                assert not kinds
            else:
                assert not _has_containers(root), (skip, chunk.data)


def _root_kinds(root: Node) -> set[str]:
    if not isinstance(root, MappingNode):
        return set()
    found = set()
    for key, value in root.value:
        if isinstance(key, ScalarNode) and key.value == "kind" and isinstance(value, ScalarNode):
            found.add(value.value)
    return found


def _has_containers(node: Node) -> bool:
    if isinstance(node, MappingNode):
        return any(
            (isinstance(key, ScalarNode) and key.value == "containers") or _has_containers(value)
            for key, value in node.value
        )
    return isinstance(node, SequenceNode) and any(_has_containers(item) for item in node.value)
