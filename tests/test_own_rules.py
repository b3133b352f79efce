"""User rules, schemas, and a configuration to begin with."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import jsonschema
import pytest
import yaml

from shutdownlint.config.load import ConfigForm
from shutdownlint.engine.rule import bundled_folder
from tests.helpers import pod_in_istio, run

ALB = """\
id: ORG001
name: short-sleep-behind-alb
severity: error
for: container
when: balancer.startsWith('an ALB') && preStop < duration('15s')
at: preStop
message: "preStop of {container} takes {preStop} behind {balancer}: ours take at least 15s"
"""


MANIFEST = """\
apiVersion: v1
kind: Service
metadata:
  name: shop
spec:
  selector:
    app: shop
  ports: [{port: 80}]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: shop
  annotations:
    alb.ingress.kubernetes.io/target-type: ip
spec:
  ingressClassName: alb
  defaultBackend:
    service:
      name: shop
      port:
        number: 80
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: shop
spec:
  selector:
    matchLabels:
      app: shop
  template:
    metadata:
      labels:
        app: shop
    spec:
      containers:
        - name: app  # ORG001
          image: shop/app:1
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "ORG001.yaml").write_text(ALB)
    return tmp_path


def test_a_rule_of_five_lines_works(folder: Path) -> None:
    (folder / "shutdownlint.toml").write_text('rules = ["own"]\n')
    (folder / "shop.yaml").write_text(MANIFEST)
    _, out, _ = run("check", "--format", "concise", "shop.yaml")
    assert "error ORG001 preStop of app takes 0s behind an ALB" in out
    assert "ORG001  error    short-sleep" in run("rule")[1]
    assert run("check", "--ignore", "ORG", "--select", "ORG", "shop.yaml")[0] == 0


def test_a_changed_rule_is_read_again(folder: Path) -> None:
    (folder / "shutdownlint.toml").write_text('rules = ["own"]\n')
    (folder / "shop.yaml").write_text(MANIFEST)
    run("check", "shop.yaml")
    (folder / "own" / "ORG001.yaml").write_text(ALB.replace("ours take", "all of ours take"))
    assert "all of ours take" in run("check", "shop.yaml")[1]


OLD_PROXY = """
id: ORG001
name: old-proxy
title: The proxy is old
severity: warning
for: proxy
when: istioVersion < '1.29' && mode != 'native'
at: grace
message: the proxy is old
sources: [ours]
explanation: Upgrade it.
"""
SOME_RELEASES = """
id: ORG002
name: some-releases
title: Only about some releases
severity: warning
for: proxy
when: grace > duration('500s')
versions: {istio: ">=1.29"}
at: grace
message: this divides the releases
sources: [ours]
explanation: None.
"""


def test_a_rule_may_decide_by_the_text_of_a_version(folder: Path) -> None:
    (folder / "shutdownlint.toml").write_text('rules = ["own"]\n')
    (folder / "own" / "ORG001.yaml").write_text(OLD_PROXY)
    (folder / "own" / "ORG002.yaml").write_text(SOME_RELEASES)
    (folder / "shop.yaml").write_text(pod_in_istio())
    _, out, _ = run("check", "--format", "json", "--select", "ORG", "shop.yaml")
    (finding,) = json.loads(out)["findings"]
    assert "Istio 1.27 to 1.28 on Kubernetes 1.32 and before" in str(finding)


def test_rules_are_tested_on_their_examples(folder: Path) -> None:
    block = "".join(f"      {line}\n" for line in MANIFEST.splitlines())
    good = block.replace("kind: Ingress", "kind: Secret").replace("  # ORG001", "")
    text = f"{ALB}examples:\n  - bad: |\n{block}    good: |\n{good}"
    (folder / "own" / "ORG001.yaml").write_text(text)
    code, out, _ = run("rule", "--test", "own")
    assert (code, out) == (0, "ORG001  ok  short-sleep-behind-alb: 1 example\n")
    note = text.replace("severity: warning", "severity: note").replace(
        "severity: error", "severity: note"
    )
    (folder / "own" / "ORG001.yaml").write_text(note)
    assert "severity: note" in note
    assert run("rule", "--test", "own")[0] == 0
    (folder / "own" / "ORG001.yaml").write_text(text.replace("duration('15s')", "duration('0s')"))
    code, out, _ = run("rule", "--test", "own")
    assert code == 1
    assert "bad is reported at no line, marked is line" in out
    (folder / "own" / "ORG001.yaml").write_text(ALB.replace("balancer", "blancer"))
    code, _, err = run("rule", "--test", "own")
    assert code == 2
    assert "own/ORG001.yaml:5: when: undeclared reference to 'blancer'" in err


def test_a_taken_id_is_refused(folder: Path) -> None:
    (folder / "shutdownlint.toml").write_text('rules = ["own"]\n')
    (folder / "own" / "ORG001.yaml").write_text(ALB.replace("ORG001", "SL102"))
    (folder / "shop.yaml").write_text(MANIFEST)
    code, _, err = run("check", ".")
    assert code == 2
    assert "id SL102 is taken by" in err


def test_the_schemas_take_what_the_readers_take() -> None:
    rule = json.loads(run("schema", "rule")[1])
    validator = jsonschema.Draft202012Validator(rule)
    for path in sorted(bundled_folder().rglob("*.yaml")):
        validator.validate(yaml.safe_load(path.read_text()))
    validator.validate(yaml.safe_load(ALB))
    assert list(validator.iter_errors(yaml.safe_load(ALB.replace("message", "massage"))))
    config = jsonschema.Draft202012Validator(json.loads(run("schema", "config")[1]))
    config.validate(tomllib.loads('p99 = "2s"\nrules = ["own"]\n[[workloads]]\nmatch = "*"\n'))
    assert list(config.iter_errors({"p-99": "2s"}))


def test_init_writes_what_the_linter_reads(folder: Path) -> None:
    (folder / "shop.yaml").write_text(MANIFEST)
    assert run("init")[0] == 0
    text = (folder / "shutdownlint.toml").read_text()
    assert '# match = "Deployment/default/shop"' in text
    uncommented = text.replace("\n# ", "\n").replace("\n#\n", "\n")
    settings = [
        line for line in uncommented.splitlines() if re.match(r'\[|[a-z0-9SL-]+ = ["\[tf]', line)
    ]
    written = tomllib.loads("\n".join(settings))
    assert written.keys() == {field.alias for field in ConfigForm.model_fields.values()}
    ConfigForm.model_validate(written)
    assert run("check", "shop.yaml")[0] == 1
    assert run("init")[0] == 2
