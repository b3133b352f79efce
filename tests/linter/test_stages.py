"""The stages of a run: context from every file, workloads one by one, then all of them."""

from __future__ import annotations

import re

import pytest

from shutdownlint.linter.rule_examples import example_facts
from shutdownlint.platforms.user_facts import UserFacts
from tests.helpers import check_files, plan_files, rules, schema
from tests.platforms.istio.proxies import proxy_of

EXAMPLES = [
    pytest.param(
        {f"{number:02}.yaml": text for number, text in enumerate(re.split(r"(?m)^---\n", text))},
        example_facts(example.options),
        id=f"{rule.id}-{number}-{name}",
    )
    for rule in rules()
    for number, example in enumerate(schema(rule.id).examples, 1)
    for name, text in (("bad", example.bad), ("good", example.good))
    if "\n---\n" in text
]
SHOP = {
    f"{folder}/{name}.yaml": text
    for folder in ("a", "b", "c")
    for name, text in {
        "pod": f"""
            apiVersion: apps/v1
            kind: Deployment
            metadata: {{name: {folder}}}
            spec:
              replicas: 1
              template:
                metadata: {{labels: {{app: shop}}}}
                spec: {{containers: [{{name: app, image: shop:1}}]}}
            """,
        "service": """
            apiVersion: v1
            kind: Service
            metadata: {name: shop}
            spec: {selector: {app: shop}, ports: [{port: 80}]}
            """,
        "budget": """
            apiVersion: policy/v1
            kind: PodDisruptionBudget
            metadata: {name: shop}
            spec: {minAvailable: 1, selector: {matchLabels: {app: shop}}}
            """,
    }.items()
}


@pytest.mark.parametrize(("files", "facts"), EXAMPLES)
def test_the_order_of_files_does_not_matter(files: dict[str, str], facts: UserFacts) -> None:
    forward = check_files(files, facts)
    backward = check_files(dict(reversed(files.items())), facts)
    assert [(f.region, f.rule, f.message) for f in backward.findings] == [
        (f.region, f.rule, f.message) for f in forward.findings
    ]
    assert backward.workloads == forward.workloads
    assert backward.warnings == forward.warnings
    assert backward.stats.skipped == forward.stats.skipped


def test_workloads_of_another_folder_do_not_count() -> None:
    found = [f.region.file for f in check_files(SHOP).findings if f.rule == "SL153"]
    assert found == ["a/budget.yaml", "b/budget.yaml", "c/budget.yaml"]
    fewer = {name: text for name, text in SHOP.items() if name != "b/budget.yaml"}
    found = [f.region.file for f in check_files(fewer).findings if f.rule == "SL153"]
    assert found == ["a/budget.yaml", "c/budget.yaml"]


def test_a_patch_counts_for_a_budget_but_gets_no_finding() -> None:
    replicas = SHOP["a/pod.yaml"].replace("replicas: 1", "replicas: 3")
    patch = replicas.replace(", image: shop:1", "").replace("name: a}", "name: b}")
    files = {"a/pod.yaml": SHOP["a/pod.yaml"], "a/budget.yaml": SHOP["a/budget.yaml"]}
    assert any(f.rule == "SL153" for f in check_files(files).findings)
    found = check_files({**files, "a/other.yaml": patch}).findings
    assert not any(f.rule == "SL153" for f in found)


def test_nodes_are_released_and_parsed_again_when_needed() -> None:
    run = plan_files({"pod.yaml": SHOP["a/pod.yaml"]})
    (pod,) = run.pods
    document = pod.ref.document
    assert document._tree is None
    region = pod.ref.region()
    document.release()
    assert document.source_text._text is None
    assert pod.ref.region() == region


ISTIOD = """
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: istiod, namespace: istio-system}
    spec:
      template:
        spec:
          containers:
          - name: discovery
            image: docker.io/istio/pilot:1.26.1
            env: [{name: ENABLE_NATIVE_SIDECARS, value: 'true'}]
    """
MESH = """
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: istio, namespace: istio-system}
    data:
      mesh: |
        defaultConfig: {terminationDrainDuration: 17s}
    """
NAMESPACE = "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {%s: enabled}}}"
MESHED = """
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: app, namespace: shop}
    spec: {template: {spec: {containers: [{name: app, image: shop:1}]}}}
    """


def test_what_one_file_shows_of_the_mesh_counts_for_all() -> None:
    files = {"i.yaml": ISTIOD, "m.yaml": MESH, "n.yaml": NAMESPACE % "istio-injection"}
    pods = plan_files({**files, "app.yaml": MESHED}).pods
    (proxy,) = [found for pod in pods if (found := proxy_of(pod)) is not None]
    assert (proxy.version, proxy.native) == ("1.26.1", True)
    assert proxy.termination_drain.value.total_seconds() == 17


def test_values_of_an_umbrella_chart_configure_the_mesh() -> None:
    values = """
        global: {x: 1}
        istiod:
          meshConfig:
            defaultConfig: {terminationDrainDuration: 17s}
        """
    files = {"values.yaml": values, "n.yaml": NAMESPACE % "istio-injection"}
    pods = plan_files({**files, "app.yaml": MESHED}).pods
    (proxy,) = [found for pod in pods if (found := proxy_of(pod)) is not None]
    assert proxy.termination_drain.value.total_seconds() == 17
