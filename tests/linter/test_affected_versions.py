"""For which versions a finding holds, where the versions are not known."""

from __future__ import annotations

from collections.abc import Callable

from shutdownlint.linter.affected_versions import VersionGroups, describe_affected
from shutdownlint.platforms.registry import load_platforms
from tests.helpers import check_text, pod_in_istio, rules, user_facts


def holds_for(text: str, **versions: str) -> str:
    findings = check_text(text, user_facts(**versions)).findings
    (finding,) = [f for f in findings if f.severity != "note"]
    assert finding.rule == "SL201"
    return finding.holds_for


def groups() -> list[VersionGroups]:
    platforms = {platform.name: platform for platform in load_platforms(["istio", "kubernetes"])}
    return [
        VersionGroups.of(
            platforms[name], [rule.versions[name] for rule in rules() if name in rule.versions]
        )
        for name in ("istio", "kubernetes")
    ]


def test_a_finding_says_which_versions_it_holds_for() -> None:
    assert holds_for(pod_in_istio()) == (
        "Istio 1.26 and before, and for Istio 1.27 and later on Kubernetes 1.32 and before"
    )
    assert holds_for(pod_in_istio(), istio="1.30") == "Kubernetes 1.32 and before"
    assert holds_for(pod_in_istio(), kubernetes="1.35") == "Istio 1.26 and before"


def test_a_finding_that_holds_for_all_does_not() -> None:
    assert not holds_for(pod_in_istio(), istio="1.26")
    assert not holds_for(pod_in_istio(), istio="1.30", kubernetes="1.32")
    own = ", annotations: {sidecar.istio.io/nativeSidecar: 'false'}"
    assert not holds_for(pod_in_istio(own))


def test_versions_between_which_nothing_changes_are_tried_once() -> None:
    meshes, clusters = groups()
    assert len(meshes.groups) < 6
    assert [str(version) for version in clusters.groups[0]] == ["1.31", "1.32"]
    assert sum(len(group) for group in meshes.groups) == 6


def test_text() -> None:
    both = groups()

    def describe(holds: Callable[[int], bool]) -> str:
        return describe_affected(both, lambda versions: holds(dict(versions)["istio"].minor))

    assert describe(lambda _minor: True) == ""
    assert describe(lambda _minor: False) == ""
    assert describe(lambda minor: minor >= 28) == "Istio 1.28 and later"
    assert describe(lambda minor: minor == 27) == "Istio 1.27"
