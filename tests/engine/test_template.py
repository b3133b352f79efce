"""Messages: fields filled in, terms that are zero left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from shutdownlint.engine.errors import RuleFileError
from shutdownlint.engine.rule_loader import load_folder
from shutdownlint.engine.template import MessageTemplate, TemplatePart
from tests.helpers import check_text, user_facts


class Values:
    """Values by the name of their field."""

    def __init__(self, **texts: str) -> None:
        self.texts = texts

    def value_text(self, name: str) -> str:
        return self.texts[name]

    def origin_text(self, name: str, file: str) -> str:
        return f"origin of {name} in {file}"


def fill(text: str, **values: str) -> str:
    parts = []
    for piece in text.split("}"):
        literal, _, name = piece.partition("{")
        parts.append(TemplatePart(literal, name or None))
    return MessageTemplate(tuple(parts)).fill(Values(**values), "a.yaml")


SUM = "needs {a} preStop + {b} drain + {c} p99 = {d}, but"


@pytest.mark.parametrize(
    ("a", "b", "c", "d", "expected"),
    [
        ("5s", "2s", "10s", "17s", "needs 5s preStop + 2s drain + 10s p99 = 17s, but"),
        ("0s", "2s", "10s", "12s", "needs 2s drain + 10s p99 = 12s, but"),
        ("5s", "0s", "10s", "15s", "needs 5s preStop + 10s p99 = 15s, but"),
        ("0s", "0s", "10s", "10s", "needs 10s p99, but"),
        ("10s", "20s", "0s", "30s", "needs 10s preStop + 20s drain = 30s, but"),
    ],
)
def test_terms_that_are_zero_are_left_out(a: str, b: str, c: str, d: str, expected: str) -> None:
    assert fill(SUM, a=a, b=b, c=c, d=d) == expected


def test_a_term_that_is_not_known_is_left_out() -> None:
    assert fill(SUM, a="an unknown time", b="0s", c="20s", d="20s") == "needs 20s p99, but"


def test_one_term_of_several_words_is_no_sum() -> None:
    text = "needs {a} preStop + {c} for the slowest requests (--p99) = {d}, but"
    alone = "needs 10s for the slowest requests (--p99), but"
    assert fill(text, a="0s", c="10s", d="10s") == alone
    both = "needs 5s preStop + 10s for the slowest requests (--p99) = 15s, but"
    assert fill(text, a="5s", c="10s", d="15s") == both


def test_a_number_that_only_ends_in_zero_stays() -> None:
    assert fill("x {a} wait + {b} grace y", a="10s", b="0.0s") == "x 10s wait + 0.0s grace y"


def test_a_program_is_named_with_its_setting() -> None:
    text = """
apiVersion: v1
kind: Pod
metadata: {name: shop}
spec:
  containers:
    - {name: app, image: a, command: [gunicorn, --graceful-timeout, "90", app:app]}
"""
    (finding,) = [f for f in check_text(text).findings if f.rule == "SL124"]
    assert finding.message == (
        "Gunicorn shutdown timeout 90s (line 6) lets app go on until 90s after termination starts, "
        "but SIGKILL comes at 30s (grace period 30s, the Kubernetes default)"
    )
    assert finding.title == "A drain or limit never comes to its end: SIGKILL is earlier"


ISTIO = "labels: {sidecar.istio.io/inject: 'true'}"
LINKERD = "annotations: {linkerd.io/inject: enabled}"


@pytest.mark.parametrize(
    ("metadata", "own", "other"),
    [(ISTIO, "istio", "linkerd"), (LINKERD, "linkerd", "istio")],
)
def test_rules_of_a_mesh_are_about_its_own_proxies(metadata: str, own: str, other: str) -> None:
    """Both meshes are in the input; each pod gets the findings of its own."""
    text = f"""
apiVersion: v1
kind: Pod
metadata: {{name: shop, {metadata}}}
spec:
  containers:
    - name: app
      image: a
      ports: [{{containerPort: 1}}]
      lifecycle: {{preStop: {{sleep: {{seconds: 15}}}}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: words}}
data: {{words: istio linkerd}}
"""
    facts = user_facts(istio="1.26", mesh=["none", "linkerd=2.18"])
    findings = check_text(text, facts).findings
    assert any(own in finding.message for finding in findings)
    assert not any(other in f"{finding.message} {finding.fix}" for finding in findings)


def test_a_rule_for_versions_of_an_unknown_platform_is_a_mistake(tmp_path: Path) -> None:
    rule = tmp_path / "ORG001-a.yaml"
    rule.write_text(
        "id: ORG001\nname: a\nseverity: note\nfor: pod\nwhen: grace > duration('1s')\n"
        "message: x\nversions: {nosuch: '>=1.2'}\n"
    )
    with pytest.raises(RuleFileError, match="nosuch"):
        load_folder(tmp_path)
