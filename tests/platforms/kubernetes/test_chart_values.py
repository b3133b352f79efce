"""Values of charts: what no chart can make right is found, the rest is named as not checked."""

from __future__ import annotations

import pytest

from shutdownlint.manifests.skips import HELM_VALUES
from tests.helpers import check_files

SLEEP = """\
terminationGracePeriodSeconds: 20
lifecycle:
  preStop: {exec: {command: [sleep, "20"]}}
"""
ANNOTATION = """\
podAnnotations:
  proxy.istio.io/config: |
    terminationDrainDuration: 10
"""


def indented(text: str, by: int) -> str:
    return "".join(f"{' ' * by}{line}\n" for line in text.splitlines())


def application(key: str, text: str) -> str:
    return (
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec:\n"
        f"  source:\n    chart: redis\n    helm:\n      {key}\n{indented(text, 8)}"
    )


def release(text: str) -> str:
    return (
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a}\nspec:\n"
        f"  values:\n{indented(text, 4)}"
    )


@pytest.mark.parametrize(
    ("text", "above", "left"),
    [
        (SLEEP + ANNOTATION, 0, 0),
        (f"api:\n{indented(SLEEP + ANNOTATION, 2)}", 1, 2),
        (SLEEP.replace("lifecycle", "lifecycleHooks") + ANNOTATION, 0, 0),
        (application("valuesObject:", SLEEP + ANNOTATION), 8, 8),
        (application("values: |", SLEEP + ANNOTATION), 8, 8),
        (release(SLEEP + ANNOTATION), 5, 4),
    ],
)
def test_a_sleep_and_an_annotation_are_found_where_they_are(
    text: str, above: int, left: int
) -> None:
    result = check_files({"values.yaml": text})
    found = {each.rule: each for each in result.findings if each.severity.value != "note"}
    assert set(found) == {"SL102", "SL212"}
    assert found["SL102"].region.line == above + 3
    assert found["SL102"].region.column > left
    # Text inside of text is shown as a whole.
    whole = above if "values: |" in text else above + 6
    assert found["SL212"].region.line == whole
    for each in found.values():
        assert each.severity.value == "warning", "the chart may use other names"
        assert any("the chart uses these values" in text for text in each.assumptions)
    assert result.stats.skipped[HELM_VALUES] == 1
    assert result.workloads == 0


def test_the_fix_of_values_is_made_in_the_values() -> None:
    result = check_files({"values.yaml": SLEEP})
    (finding,) = result.findings
    assert finding.fix is not None
    (change,) = finding.fix.changes
    assert change.target is not None
    assert str(change.target.location.region()).startswith("values.yaml:1:")


@pytest.mark.parametrize(
    "text",
    [
        "lifecycle:\n  preStop: {exec: {command: [sleep, '60']}}\n",
        "terminationGracePeriodSeconds: 5\n",
        "podAnnotations: {}\n",
        "podAnnotations: {note: text}\nterminationGracePeriodSeconds: 60\nlifecycle: {}\n",
        "terminationGracePeriodSeconds: '{{ .grace }}'\nlifecycle: [1, 2]\n",
        "terminationGracePeriodSeconds: []\nlifecycle: 7\npodAnnotations: [a]\n",
    ],
)
def test_what_is_not_certain_is_not_reported(text: str) -> None:
    assert not check_files({"values.yaml": text}).findings
