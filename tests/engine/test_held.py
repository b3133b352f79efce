"""For which releases a finding holds, where nobody said which are in force."""

from __future__ import annotations

from shutdownlint.engine.affected_versions import format_affected_versions, releases
from tests.helpers import check_text, given, rules

TEXT = """
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {istio-injection: enabled}}
---
apiVersion: v1
kind: Pod
metadata: {name: shop, namespace: shop%s}
spec:
  containers:
    - {name: app, image: a, lifecycle: {preStop: {sleep: {seconds: 15}}}}
"""


def message(text: str, **said: str) -> str:
    (finding,) = [f for f in check_text(text, given(**said)).findings if f.severity != "note"]
    assert finding.rule == "SL201"
    return finding.message


def test_the_verdict_is_dated() -> None:
    assert message(TEXT % "").endswith(
        "(holds for Istio 1.26 and before, and for Istio 1.27 and later on Kubernetes 1.32 and "
        "before)"
    )
    assert message(TEXT % "", istio="1.30").endswith("(holds for Kubernetes 1.32 and before)")
    assert message(TEXT % "", kubernetes="1.35").endswith("(holds for Istio 1.26 and before)")


def test_a_verdict_that_holds_for_all_is_not() -> None:
    assert "holds for" not in message(TEXT % "", istio="1.26")
    assert "holds for" not in message(TEXT % "", istio="1.30", kubernetes="1.32")
    own = ", annotations: {sidecar.istio.io/nativeSidecar: 'false'}"
    assert "holds for" not in message(TEXT % own)


def test_releases_between_which_nothing_changes_are_tried_once() -> None:
    meshes, clusters = releases(rules())
    assert len(meshes.kinds) < 6
    assert [str(v) for v in clusters.kinds[0]] == ["1.31", "1.32"]
    assert sum(len(kind) for kind in meshes.kinds) == 6


def test_words() -> None:
    meshes, clusters = releases(rules())
    assert format_affected_versions(meshes, clusters, lambda _i, _k: True) == ""
    assert format_affected_versions(meshes, clusters, lambda _i, _k: False) == ""
    late = format_affected_versions(meshes, clusters, lambda i, _k: i.minor >= 28)
    assert late == "Istio 1.28 and later"
    middle = format_affected_versions(meshes, clusters, lambda i, _k: i.minor == 27)
    assert middle == "Istio 1.27"
