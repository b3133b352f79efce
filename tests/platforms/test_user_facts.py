"""The table of facts that users state: options, keys, annotations and fields follow from it."""

from __future__ import annotations

import pytest

from shutdownlint.config.load import ConfigForm, WorkloadForm
from shutdownlint.platforms.kubernetes.pod_fields import POD_FIELDS
from shutdownlint.platforms.user_facts import USER_FACTS, AppFacts, FactType, UserFact
from tests.helpers import plan_pod_text, run

FACTS = [pytest.param(fact, id=fact.name) for fact in USER_FACTS]
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: shop, namespace: shop%s}
spec: {containers: [{name: app, image: "shop/app:1", ports: [{containerPort: 80}]}]}
"""


@pytest.mark.parametrize("fact", FACTS)
def test_each_is_a_field_of_the_facts_and_a_key(fact: UserFact) -> None:
    assert fact.name in AppFacts.__struct_fields__
    assert WorkloadForm.model_fields[fact.config_key].description == fact.description
    assert (fact.config_key in ConfigForm.model_fields) is bool(fact.everywhere)


@pytest.mark.parametrize("fact", FACTS)
def test_options_and_fields_are_those_that_it_names(fact: UserFact) -> None:
    shown = run("explain", "--help")[1]
    assert (f"--{fact.written} " in shown) is bool(fact.option)
    assert (fact.rule_field in {field.name for field in POD_FIELDS}) is bool(fact.field)


@pytest.mark.parametrize("fact", [fact for fact in USER_FACTS if fact.annotated])
def test_an_annotation_states_it(fact: UserFact) -> None:
    assert fact.type is FactType.DURATION
    pod = plan_pod_text(POD % f', annotations: {{{fact.annotation}: "7s"}}')
    assert pod.plan is not None
    setting = getattr(pod.plan, fact.name)
    assert (setting.value.total_seconds(), setting.origin.label) == (7, fact.annotation)
