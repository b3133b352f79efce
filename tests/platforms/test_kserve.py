"""The pods of KServe's objects."""

from __future__ import annotations

import pytest

from shutdownlint.shutdown.analysis import ShutdownAnalysis
from shutdownlint.shutdown.durations import seconds
from tests.helpers import check_text, dedent, plan_pod_text, rule_lines

LLM = """\
    apiVersion: serving.kserve.io/v1alpha2
    kind: LLMInferenceService
    metadata: {name: chat}
    spec:
      model: {uri: "hf://example/chat"}
"""


def llm(lines: str = "") -> str:
    return dedent(LLM) + lines + "\n"


def test_an_llm_service_gets_what_the_presets_set() -> None:
    pod = plan_pod_text(llm())
    assert pod.plan is not None
    assert pod.id.kind == "LLMInferenceService"
    assert pod.plan.grace.value.low == seconds(60)
    (main,) = pod.plan.regular
    assert main.hook.duration.value.low == seconds(15)
    # 60 s, minus 15 s of sleep, minus 5 s for its own end
    assert ShutdownAnalysis(pod.plan).headroom.max_late == seconds(40)
    assert any("presets of KServe 0.19" in each.text for each in pod.plan.assumptions)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("  template: {terminationGracePeriodSeconds: 20}", ["SL161"]),
        ("  template: {terminationGracePeriodSeconds: 140}", []),
        ("  template: {terminationGracePeriodSeconds: 140}\n  router: {scheduler: {}}", ["SL452"]),
        ("  router: {scheduler: {}}", []),
        (
            "  router: {scheduler: {template: {terminationGracePeriodSeconds: 30}}}",
            ["SL452"],
        ),
        ("  template: 5", []),
        # It is rejected, so no pod loses anything.
        ("  router: [1]\n  prefill: {template: {terminationGracePeriodSeconds: 10}}", []),
    ],
)
def test_grace_periods_of_an_llm_service(lines: str, expected: list[str]) -> None:
    found = {rule for rule, _ in rule_lines(check_text(llm(lines)).findings)}
    assert found & {"SL452", "SL161"} == set(expected)


def test_a_component_that_deployments_run_is_a_workload() -> None:
    text = dedent("""\
        apiVersion: serving.kserve.io/v1beta1
        kind: InferenceService
        metadata: {name: i}
        spec:
          predictor:
            terminationGracePeriodSeconds: 60
            containers:
            - name: kserve-container
              image: vllm/vllm-openai:v0.19.0
              args: [--shutdown-timeout, "120"]
    """)
    result = check_text(text)
    assert ("SL124", 10) in rule_lines(result.findings)


def test_knative_may_run_it_where_nothing_names_the_mode() -> None:
    text = dedent("""\
        apiVersion: serving.kserve.io/v1beta1
        kind: InferenceService
        metadata: {name: i}
        spec: {predictor: {model: {modelFormat: {name: sklearn}}}}
    """)
    result = check_text(text)
    assert [reason.code for reason in result.stats.skipped] == ["kserve-mode"]
    named = text.replace(
        "name: i}", "name: i, annotations: {serving.kserve.io/deploymentMode: RawDeployment}}"
    )
    assert not check_text(named).stats.skipped
