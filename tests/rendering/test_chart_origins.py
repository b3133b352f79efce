"""The places of the settings of a rendered chart: values, templates, definitions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers import run
from tests.tools import need, search_path

DEPLOYMENT = """\
{{- /* the shop */}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "shop.fullname" . }}
spec:
  selector: {matchLabels: {app: shop}}
  template:
    metadata:
      {{- with .Values.podAnnotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      labels: {app: shop}
    spec:
      {{- if .Values.grace }}
      terminationGracePeriodSeconds: {{ .Values.grace }}
      {{- end }}
      containers:
        - name: app
          image: "{{ .Values.image.repository }}:{{ .Values.image.tag }}"
          {{- with .Values.lifecycle }}
          lifecycle:
            {{- toYaml . | nindent 12 }}
          {{- end }}
        - name: log
          image: log
          {{- include "shop.hooks" . | nindent 10 }}
---
apiVersion: v1
kind: Service
metadata: {name: shop}
spec: {selector: {app: shop}, ports: [{port: 80}]}
"""
HELPERS = """\
{{- define "shop.fullname" -}}
{{ .Release.Name }}
{{- end }}
{{- define "shop.hooks" -}}
lifecycle:
  preStop:
    exec:
      command: [sleep, {{ .Values.logSleep | quote }}]
{{- end }}
"""
VALUES = """\
image: {repository: shop, tag: "1"}
grace: 30
logSleep: 3
podAnnotations: {}
lifecycle: {}
"""


@pytest.fixture(autouse=True)
def chart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    need("helm")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", search_path())
    write(
        {
            "charts/shop/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
            "charts/shop/values.yaml": VALUES,
            "charts/shop/templates/app.yaml": DEPLOYMENT,
            "charts/shop/templates/_helpers.tpl": HELPERS,
        }
    )
    return tmp_path


def write(files: dict[str, str]) -> None:
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)


def check(*arguments: str) -> list[str]:
    """Return the findings of a run that renders, as rule, place and variants."""
    _, out, _ = run("check", "--render", "--format", "json", *arguments)
    found = json.loads(out)["findings"]
    assert all(Path(each["file"]).is_file() for each in found), found
    return [
        " ".join(
            [each["rule"], f"{each['file']}:{each['line']}:{each['column']}", *each["variants"]]
        )
        for each in found
    ]


def test_a_value_decides() -> None:
    write({"prod.yaml": "# production\nlogSleep: 40\n"})
    assert check("charts") == []
    assert check("charts", "--values", "prod.yaml") == [
        "SL102 charts/shop/templates/_helpers.tpl:8:16"
    ]
    hook = "lifecycle:\n  preStop: {exec: {command: [sleep, '31']}}\n"
    write({"prod.yaml": hook})
    assert check("charts", "--values", "prod.yaml") == ["SL102 prod.yaml:2:37"]
    write({"charts/shop/values.yaml": VALUES.replace("lifecycle: {}\n", hook)})
    assert check("charts") == ["SL102 charts/shop/values.yaml:6:37"]


def test_set_values_have_the_place_of_the_template() -> None:
    found = check("charts", "--set", "lifecycle.preStop.sleep.seconds=40")
    assert found == ["SL103 charts/shop/templates/app.yaml:24:13"]


def test_a_rejected_annotation_of_the_values() -> None:
    write({"a.yaml": "podAnnotations:\n  proxy.istio.io/config: |\n    drainDuration: 10\n"})
    assert check("charts", "--values", "a.yaml", "--mesh", "istio") == ["SL212 a.yaml:2:3"]


def test_environments_of_the_configuration_are_variants() -> None:
    write(
        {
            "dev.yaml": "grace: 2\n",
            "prod.yaml": "grace: 3\n",
            "shutdownlint.toml": "".join(
                f'[[render]]\npath = "charts/shop"\nname = "{name}"\nvalues = ["{name}.yaml"]\n'
                f'release = "shop-{name}"\nnamespace = "{name}"\n'
                for name in ("dev", "prod")
            ),
        }
    )
    place = "charts/shop/templates/_helpers.tpl:8:16"
    assert check(".") == [f"SL102 {place} dev", f"SL102 {place} prod"]
    _, out, _ = run("explain", "--render", ".")
    assert "Deployment dev/shop-dev, variant dev  charts/shop/templates/app.yaml:8" in out
    _, out, _ = run("check", "--verbose", ".")
    assert "unrendered templates of the chart charts/shop (1)" in out


@pytest.mark.parametrize("form", ["sarif", "gitlab", "github", "json", "junit", "concise"])
def test_no_format_names_a_file_that_does_not_exist(form: str) -> None:
    _, out, _ = run("check", "--render", "--set", "grace=1", "--format", form, "charts")
    assert "charts/shop/templates/" in out
    assert "helm template)" not in out


def test_suggestions_name_the_values_that_the_chart_reads() -> None:
    _, out, _ = run("suggest", "--render", "charts", "--p99", "40s", "--format", "helm")
    assert "from charts/shop/templates/app.yaml" in out
    assert "\ngrace: " in out
    assert "terminationGracePeriodSeconds" not in out
    text = Path("charts/shop/templates/app.yaml").read_text()
    lines = [line for line in text.split("\n") if "grace" not in line and "lifecycle" not in line]
    text = "\n".join(lines).replace(
        "          {{- end }}\n        - name: log", "        - name: log"
    )
    text = text.replace("            {{- toYaml . | nindent 12 }}\n", "")
    text = text.replace("      {{- end }}\n      containers", "      containers")
    Path("charts/shop/templates/app.yaml").write_text(text)
    _, out, _ = run("suggest", "--render", "charts", "--p99", "40s", "--format", "helm")
    assert "no value was found that sets spec.template.spec.terminationGracePeriodSeconds" in out
    assert "see charts/shop/templates/app.yaml:" in out


def test_the_version_and_the_namespace_are_passed_on() -> None:
    template = "charts/shop/templates/app.yaml"
    text = (
        Path(template)
        .read_text()
        .replace(
            "{{ .Values.grace }}",
            '{{ if semverCompare ">=1.30" .Capabilities.KubeVersion.Version }}2{{ else }}60{{ end }}',
        )
    )
    Path(template).write_text(text)
    assert check("charts", "--kubernetes-version", "1.29") == []
    assert len(check("charts", "--kubernetes-version", "1.33")) == 1
    _, out, _ = run("explain", "--render", "--namespace", "team", "--release", "web", "charts")
    assert "Deployment team/web" in out


def test_the_parts_of_a_chart_of_charts_have_their_own_values() -> None:
    write(
        {
            "charts/all/Chart.yaml": "apiVersion: v2\nname: all\nversion: 1.0.0\n",
            "charts/all/values.yaml": "shop:\n  lifecycle:\n    preStop: {sleep: {seconds: 90}}\n",
        }
    )
    Path("charts/shop").rename("charts/all/charts_shop")
    Path("charts/all/charts").mkdir()
    Path("charts/all/charts_shop").rename("charts/all/charts/shop")
    assert check("charts") == ["SL103 charts/all/values.yaml:3:32"]


def deployment(name: str, grace: str, sleep: str) -> str:
    return (
        f"apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {name}\nspec:\n"
        f"  selector: {{matchLabels: {{app: {name}}}}}\n  template:\n"
        f"    metadata: {{labels: {{app: {name}}}}}\n    spec:\n"
        f"      terminationGracePeriodSeconds: {grace}\n      containers:\n      - name: {name}\n"
        f"        image: i\n        lifecycle:\n          preStop:\n            sleep:\n"
        f"              seconds: {sleep}\n"
    )


def suggested(values: str, template: str) -> str:
    """Return the suggestion for a chart of one template, without comments."""
    write({"charts/one/Chart.yaml": "apiVersion: v2\nname: one\nversion: 1.0.0\n"})
    write({"charts/one/values.yaml": values, "charts/one/templates/a.yaml": template})
    _, out, _ = run("suggest", "--render", "charts/one", "--p99", "10s", "--format", "helm")
    return out


def test_the_values_of_several_objects_in_a_template() -> None:
    two = "---\n".join(
        deployment(name, "{{ .Values.%s.grace }}" % name, "{{ .Values.%s.sleep }}" % name)
        for name in ("front", "back")
    )
    values = "front: {grace: 60, sleep: 5}\nback: {grace: 10, sleep: 20}\n"
    out = suggested(values, two)
    assert "back:\n  grace: 35\n" in out
    assert "front:" not in out
    assert check("charts/one") == ["SL103 charts/one/values.yaml:2:26"]


@pytest.mark.parametrize(
    ("values", "grace", "expected"),
    [
        (
            "env: dev\nprodGrace: 60\ndevGrace: 10\n",
            "".join(
                f"{head}\n      terminationGracePeriodSeconds: {{{{ .Values.{name}Grace }}}}\n      "
                for head, name in (
                    ('{{- if eq .Values.env "prod" }}', "prod"),
                    ("{{- else }}", "dev"),
                )
            )
            + "{{- end }}",
            "\ndevGrace: 35\n",
        ),
        ("pod: {grace: 10}\n", "{{ (.Values.pod).grace }}", "\npod:\n  grace: 35\n"),
        ("grace: 10\n", '{{ required "need .Values.other" .Values.grace }}', "\ngrace: 35\n"),
        ("web-app: {grace: 10}\n", '{{ index .Values "web-app" "grace" }}', "grace: 35\n"),
        ("a: 4\nb: 6\n", "{{ add .Values.a .Values.b }}", "no value was found"),
        ("a: {grace: 45}\n", "{{ .Values.none | default 10 }}", "\nnone: 35\n"),
    ],
)
def test_only_a_value_that_was_rendered_is_suggested(
    values: str, grace: str, expected: str
) -> None:
    text = deployment("app", "GRACE", "20")
    line = "terminationGracePeriodSeconds: GRACE"
    text = text.replace(line, grace if "\n" in grace else line.replace("GRACE", grace))
    assert expected in suggested(values, text)


def test_a_whole_manifest_of_a_definition() -> None:
    helpers = '{{- define "one.deployment" -}}\n' + deployment(
        "app", "{{ int .Values.drain }}", "20"
    )
    write({"charts/one/templates/_helpers.tpl": helpers + "{{- end }}\n"})
    assert "\ndrain: 35\n" in suggested("drain: 10\n", '{{ include "one.deployment" . }}\n')


def test_charts_in_a_chart_by_alias_and_global_values() -> None:
    write(
        {
            "charts/all/Chart.yaml": "apiVersion: v2\nname: all\nversion: 1.0.0\ndependencies:\n"
            "- {name: api, version: 1.0.0, alias: public-api}\n",
            "charts/all/values.yaml": "global: {sleep: 8}\npublic-api: {grace: 5}\n",
            "charts/all/charts/api/Chart.yaml": "apiVersion: v2\nname: api\nversion: 1.0.0\n",
            "charts/all/charts/api/values.yaml": "grace: 60\n",
            "charts/all/charts/api/templates/a.yaml": deployment(
                "api", "{{ .Values.grace }}", "{{ .Values.global.sleep }}"
            ),
        }
    )
    assert check("charts/all") == ["SL103 charts/all/values.yaml:1:17"]
    _, out, _ = run("check", "--render", "charts/all")
    assert "the grace period of 5s (line 2)" in out
    _, out, _ = run("suggest", "--render", "charts/all", "--p99", "10s", "--format", "helm")
    assert "\npublic-api:\n  grace: " in out


def test_comments_of_templates_are_no_lines() -> None:
    comment = "{{/*\nspec:\n  template:\n    spec:\n      terminationGracePeriodSeconds: 99\n*/}}\n"
    suggested("grace: 10\n", comment + deployment("app", "{{ .Values.grace }}", "20"))
    _, out, _ = run("check", "--render", "charts/one")
    assert "(charts/one/values.yaml:1)" in out
