"""The separation of environments: overlays, clusters and components of one repository."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from shutdownlint.linter.baseline import apply_baseline, baseline_text
from shutdownlint.linter.deployed_files import _as_environments
from shutdownlint.linter.linter import check
from shutdownlint.linter.read import read
from shutdownlint.linter.world_files import WorldFiles
from shutdownlint.manifests.discovery import FileSearch, InputFile
from shutdownlint.manifests.inputs import InputSource
from tests.cli.test_run_cache import ROLLING
from tests.helpers import lint_options, plan_files, run, write_sources

if TYPE_CHECKING:
    from shutdownlint.linter.result import LintResult

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      terminationGracePeriodSeconds: 15
      containers:
      - name: app
        image: shop:1
        lifecycle: {preStop: {exec: {command: [sleep, "20"]}}}
"""
SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: shop}
spec: {selector: {app: shop}, ports: [{port: 80}]}
"""
BUDGET = """\
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: shop}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: shop}}}
"""
PATCH = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: shop%s}\n%s"
GRACE = PATCH % ("", "spec: {template: {spec: {terminationGracePeriodSeconds: %s}}}\n")
BASE = {"base/kustomization.yaml": "resources: [shop.yaml]\n", "base/shop.yaml": DEPLOYMENT}
OVERLAY = "resources: [../../base]\n"
INLINE = "patches:\n- target: {kind: Deployment}\n  patch: |-\n    %s\n"
REPLACE = '[{"op": "replace", "path": "/spec/template/spec/containers/%s/image", "value": "x"}]'
MESH = """\
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {istio-injection: enabled}}
---
apiVersion: install.istio.io/v1alpha1
kind: IstioOperator
metadata: {name: mesh, namespace: istio-system}
spec: {tag: 1.24.2, meshConfig: {defaultConfig: {terminationDrainDuration: 10s}}}
"""
FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: %s, namespace: flux-system}
spec: {path: ./%s, targetNamespace: shop%s}
"""
DRAINS_LONGER = """\
, patches: [{target: {kind: IstioOperator}, patch: '[{"op": "replace", "value": "40s",
  "path": "/spec/meshConfig/defaultConfig/terminationDrainDuration"}]'}]"""


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()


def check_files(files: dict[str, str]) -> LintResult:
    """Check these files and no others in the current folder."""
    folder = Path.cwd()
    for path in folder.rglob("*.yaml"):
        path.unlink()
    write_sources(files, folder)
    return check(read(["."], FileSearch()), lint_options(None))


def overlays(**texts: str) -> dict[str, str]:
    """Return the base with these kustomizations over it."""
    return {
        **BASE,
        **{f"overlays/{name}/kustomization.yaml": OVERLAY + text for name, text in texts.items()},
    }


def reported(result: LintResult) -> list[tuple[str, tuple[str, ...]]]:
    """Return the errors and warnings with their variants."""
    severe = [f for f in result.findings if f.severity.value != "note"]
    return sorted((f.rule, f.variants) for f in severe)


@pytest.mark.parametrize("names", [("dev", "prod"), ("prod", "dev")])
def test_a_patch_that_fails_in_any_overlay_is_an_error(names: tuple[str, str]) -> None:
    good, bad = names
    patches = {good: INLINE % (REPLACE % 0), bad: INLINE % (REPLACE % 1)}
    result = check_files(overlays(**patches))
    assert reported(result) == [("SL001", ()), ("SL102", (good,))]
    assert not result.complete


@pytest.mark.parametrize("names", [("dev", "prod"), ("prod", "dev")])
def test_an_annotation_of_one_overlay_ignores_nothing_in_another(names: tuple[str, str]) -> None:
    one, other = names
    files = overlays(**{one: "patches: [{path: p.yaml}]\n", other: ""})
    annotations = "{shutdownlint.dev/ignore: SL102 -- no traffic}"
    own = PATCH % (f", annotations: {annotations}", "")
    result = check_files({**files, f"overlays/{one}/p.yaml": own})
    assert reported(result) == [("SL102", (other,))]
    assert [each.finding.variants for each in result.suppressed] == [(one,)]
    assert result.warnings == []
    # In the base it is for all of them.
    base = DEPLOYMENT.replace("{name: shop}", f"{{name: shop, annotations: {annotations}}}")
    files = {**overlays(dev="", prod="patches: [{path: p.yaml}]\n"), "base/shop.yaml": base}
    result = check_files({**files, "overlays/prod/p.yaml": GRACE % 60})
    assert reported(result) == []
    assert result.warnings == []


@pytest.mark.parametrize("deleting", ["dev", "zdev"])
def test_a_comment_counts_where_the_first_overlay_deletes_its_object(deleting: str) -> None:
    ignored = DEPLOYMENT.replace('"20"]}}}', '"20"]}}}  # shutdownlint: ignore[SL102] known')
    deleted = PATCH % ("", "$patch: delete\n")
    files = {**overlays(**{deleting: "patches: [{path: d.yaml}]\n", "prod": ""})}
    result = check_files(
        {**files, "base/shop.yaml": ignored, f"overlays/{deleting}/d.yaml": deleted}
    )
    assert reported(result) == []
    assert len(result.suppressed) == 1


def test_each_environment_has_its_own_numbers() -> None:
    files = overlays(dev="namespace: shop\n", prod="namespace: shop\npatches: [{path: p.yaml}]\n")
    longer = DEPLOYMENT.replace("Seconds: 15", "Seconds: 90").replace('"20"', '"30"')
    files |= {"overlays/prod/p.yaml": longer, "mesh/mesh.yaml": MESH}
    files["base/shop.yaml"] = DEPLOYMENT.replace("Seconds: 15", "Seconds: 90")
    found = [f for f in check_files(files).findings if f.rule == "SL201"]
    assert [f.variants for f in found] == [("dev",), ("prod",)]
    assert ["goes on until 20s" in f.message for f in found] == [True, False]
    assert "goes on until 30s" in found[1].message


def test_environments_of_other_names_say_nothing_about_one_another() -> None:
    files = overlays(development="namespace: shop\n", qa="namespace: shop\n")
    files["base/shop.yaml"] = DEPLOYMENT.replace("Seconds: 15", "Seconds: 90")
    platform = {
        "platform/base/kustomization.yaml": "resources: [mesh.yaml]\n",
        "platform/base/mesh.yaml": MESH,
        "platform/overlays/aprod/kustomization.yaml": OVERLAY,
        "platform/overlays/dev/kustomization.yaml": OVERLAY,
    }
    assert reported(check_files({**files, **platform})) == []
    same = {name.replace("aprod", "qa"): text for name, text in platform.items()}
    assert reported(check_files({**files, **same})) == [("SL201", ("qa",))]


def test_a_kustomization_of_flux_in_each_cluster_is_named_by_the_cluster() -> None:
    files = overlays(prod="", test="")
    files |= {"infra/mesh.yaml": MESH, "base/shop.yaml": DEPLOYMENT.replace(": 15", ": 90")}
    for cluster, patches in (("prod", ""), ("test", DRAINS_LONGER)):
        files[f"clusters/{cluster}/infra.yaml"] = FLUX % ("infra", "infra", patches)
        files[f"clusters/{cluster}/apps.yaml"] = FLUX % ("apps", f"overlays/{cluster}", "")
    found = [f for f in check_files(files).findings if f.rule == "SL201"]
    assert [f.variants for f in found] == [("prod",)]


def test_a_base_that_is_deployed_beside_its_overlay_is_another_environment() -> None:
    one = FLUX % ("dev", "base", "")
    other = FLUX % ("prod", "overlays/prod", "")
    files = overlays(prod="patches: [{path: p.yaml}]\n")
    files |= {"overlays/prod/p.yaml": GRACE % 60, "dev.yaml": one, "prod.yaml": other}
    result = check_files(files)
    assert len({entry.region for entry in result.entries}) == 1
    assert len(result.entries) == 2
    ((rule, variants),) = reported(result)
    assert rule == "SL102"
    assert variants == ("base",)


def test_a_shared_budget_counts_the_workloads_of_no_environment() -> None:
    labelled = DEPLOYMENT.replace("labels: {app: shop}", "labels: {app: shop, part: all}")
    gateway = labelled.replace("{name: shop}", "{name: gateway, namespace: shop}")
    budget = (
        (ROLLING % 2).replace("app: a", "part: all").replace("name: b", "name: b, namespace: shop")
    )
    text = "namespace: shop\nnameSuffix: -%s\n"
    files = overlays(blue=text % "blue", green=text % "green")
    files |= {"base/shop.yaml": labelled, "gateway.yaml": gateway, "budget.yaml": budget}
    rules = Counter(rule for rule, _ in reported(check_files(files)))
    assert rules["SL153"] == 0
    del files["gateway.yaml"]
    assert Counter(rule for rule, _ in reported(check_files(files)))["SL153"] >= 1


def test_mesh_words_of_a_patch_are_about_its_own_overlay() -> None:
    host = "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: shop}\n"
    files = overlays(dev="components: [../../istio]\npatches: [{path: p.yaml}]\n", prod="")
    files |= {
        "istio/kustomization.yaml": "kind: Component\nresources: [route.yaml]\n",
        "istio/route.yaml": f"{host}spec: {{hosts: [shop.example], http: []}}\n",
        "overlays/dev/p.yaml": f"{host}spec: {{hosts: [shop.default]}}\n",
        "base/shop.yaml": f"{DEPLOYMENT}---\n{SERVICE}",
    }
    pods = {pod.variant: pod for pod in plan_files(files).pods}
    meshed = {name: bool(pod.plan and pod.plan.proxies) for name, pod in pods.items()}
    assert meshed == {"dev": True, "prod": False}


def test_a_finding_on_an_object_of_several_overlays_is_reported_once() -> None:
    mesh = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: istio}\ndata: {mesh: 'a: b: c'}\n"
    files = overlays(dev="", prod="")
    files["base/mesh.yaml"] = mesh
    files["base/kustomization.yaml"] = "resources: [mesh.yaml]\n"
    assert ("SL218", ("dev", "prod")) in reported(check_files(files))
    assert Counter(f.rule for f in check_files(files).findings)["SL218"] == 1


@pytest.mark.parametrize("inline", [False, True])
def test_a_shared_component_is_changed_for_all_or_for_none(inline: bool) -> None:
    patch = (
        '[{"op": "add", "path": "/spec/template/spec/terminationGracePeriodSeconds", "value": 15}]'
    )
    text = f"- target: {{kind: Deployment}}\n  patch: '{patch}'\n" if inline else "- path: g.yaml\n"
    files = overlays(
        dev="components: [../../grace]\npatches: [{path: p.yaml}]\n",
        prod="components: [../../grace]\n",
    )
    files |= {
        "grace/kustomization.yaml": f"kind: Component\npatches:\n{text}",
        "grace/g.yaml": GRACE % 15,
        "overlays/dev/p.yaml": DEPLOYMENT.replace('"20"', '"5"'),
    }
    (finding,) = [f for f in check_files(files).findings if f.rule == "SL102"]
    assert finding.variants == ("prod",)
    assert finding.fix is not None
    assert finding.fix.changes == ()
    assert "dev has the same file" in finding.fix.description


def test_a_further_environment_is_not_in_the_baseline() -> None:
    short = "components: [../../grace]\n"
    files = overlays(dev=short, prod="", test="")
    files["base/shop.yaml"] = DEPLOYMENT.replace("Seconds: 15", "Seconds: 60")
    files["grace/kustomization.yaml"] = "kind: Component\npatches: [{path: g.yaml}]\n"
    files["grace/g.yaml"] = GRACE % 15
    text, count = baseline_text(check_files(files))
    assert count == 1
    again, stale = apply_baseline(check_files(files), text)
    assert (stale, reported(again)) == ([], [])
    files["overlays/prod/kustomization.yaml"] += short
    worse = check_files(files)
    left, stale = apply_baseline(worse, text)
    assert (stale, reported(left)) == ([], [("SL102", ("dev", "prod"))])
    text, _ = baseline_text(left)
    files["overlays/dev/kustomization.yaml"] = OVERLAY
    better, stale = apply_baseline(check_files(files), text)
    assert [entry.variant for entry in stale] == ["dev"]
    assert reported(better) == []


def scaler(least: int) -> str:
    return (
        "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\n"
        "metadata: {name: shop, namespace: shop}\nspec: {minReplicas: "
        f"{least}, maxReplicas: 9, scaleTargetRef: {{kind: Deployment, name: shop}}}}\n"
    )


def test_of_copies_for_several_environments_the_nearest_count() -> None:
    own = DEPLOYMENT.replace("{name: shop}", "{name: shop, namespace: shop}").replace(
        ": 15", ": 90"
    )
    budget = ROLLING.replace("app: a", "app: shop").replace(
        "{name: b}", "{name: b, namespace: shop}"
    )
    blocking = budget.replace("minAvailable: %s", "maxUnavailable: 0")
    files = {
        "dev/shop.yaml": f"{own}---\n{blocking}",
        "prod/shop.yaml": f"{own.replace('replicas: 2', 'replicas: 4')}---\n{budget % 2}",
    }
    found = [f for f in check_files(files).findings if f.rule == "SL153"]
    assert [f.region.file for f in found] == ["dev/shop.yaml"]
    files["dev/shop.yaml"] = f"{own}---\n{scaler(1)}---\n{budget % 1}"
    files["prod/shop.yaml"] = f"{own}---\n{scaler(3)}---\n{budget % 2}"
    found = [f for f in check_files(files).findings if f.rule == "SL180"]
    assert [f.region.file for f in found] == ["dev/shop.yaml"]


def test_replicas_of_a_base_beside_the_autoscaler_of_an_overlay() -> None:
    text = "namespace: shop\nresources: [../../base, hpa.yaml]\n"
    files = overlays(dev="namespace: shop\n")
    files |= {"overlays/prod/kustomization.yaml": text, "overlays/prod/hpa.yaml": scaler(2)}
    files["base/shop.yaml"] = DEPLOYMENT.replace(": 15", ": 90")
    assert reported(check_files(files)) == [("SL175", ("prod",))]


LONG_GRACE = DEPLOYMENT.replace("Seconds: 15", "Seconds: 90")
INFRA = {
    "infra/base/kustomization.yaml": "resources: [mesh.yaml]\n",
    "infra/base/mesh.yaml": MESH,
    "infra/overlays/dev/kustomization.yaml": OVERLAY,
    "infra/overlays/prod/kustomization.yaml": OVERLAY,
}


def test_the_only_overlay_belongs_to_the_environment_of_its_folder() -> None:
    files = {**overlays(prod="namespace: shop\n"), **INFRA, "base/shop.yaml": LONG_GRACE}
    assert reported(check_files(files)) == [("SL201", ("prod",))]


def test_a_further_folder_beside_the_overlays_changes_no_environment() -> None:
    own = "namespace: shop\n"
    files = {**overlays(dev=own, prod=own), **INFRA, "base/shop.yaml": LONG_GRACE}
    assert reported(check_files(files)) == [("SL201", ("dev", "prod"))]
    files["preview/kustomization.yaml"] = f"resources: [../base]\n{own}"
    assert reported(check_files(files)) == [("SL201", ("dev", "prod"))]


def test_a_kustomization_of_the_checked_folder_is_an_environment_too() -> None:
    files = {"kustomization.yaml": "resources: [shop.yaml]\n", "shop.yaml": DEPLOYMENT}
    files["overlays/prod/kustomization.yaml"] = "resources: [../..]\npatches: [{path: p.yaml}]\n"
    files["overlays/prod/p.yaml"] = GRACE % 60
    files["argo.yaml"] = FLUX % ("dev", ".", "")
    assert reported(check_files(files)) == [("SL102", (".",))]


def test_of_copies_that_are_equally_near_none_counts() -> None:
    own = DEPLOYMENT.replace("{name: shop}", "{name: shop, namespace: shop}").replace(
        ": 15", ": 90"
    )
    budget = ROLLING.replace("app: a", "app: shop").replace(
        "{name: b}", "{name: b, namespace: shop}"
    )
    files = {"apps/prod/shop.yaml": own.replace("replicas: 2", "replicas: 4")}
    files |= {"apps/test/shop.yaml": own, "budgets/prod/b.yaml": budget % 3}
    files["budgets/test/b.yaml"] = budget % 1
    assert reported(check_files(files)) == []
    files |= {"hpas/prod/h.yaml": scaler(5), "hpas/test/h.yaml": scaler(2)}
    assert reported(check_files(files)) == []
    for name in ("prod", "test"):
        files[f"budgets/{name}/b.yaml"] = budget % '"100%"'
    assert {rule for rule, _ in reported(check_files(files))} == {"SL153"}


def test_the_object_of_one_cluster_can_be_fixed() -> None:
    patch = f", patches: [{{target: {{kind: Deployment}}, patch: '{REPLACE}'}}]"
    grace = patch.replace("/containers/%s/image", "/terminationGracePeriodSeconds")
    files = {"apps/kustomization.yaml": "resources: [shop.yaml]\n", "apps/shop.yaml": LONG_GRACE}
    files["clusters/test/apps.yaml"] = FLUX % ("apps", "apps", "")
    files["clusters/prod/apps.yaml"] = FLUX % ("apps", "apps", grace.replace('"x"', "8"))
    (finding,) = [f for f in check_files(files).findings if f.rule == "SL102"]
    assert finding.variants == ("prod",)
    assert finding.fix is not None
    assert finding.fix.changes


def test_a_merge_patch_of_flux_finds_an_object_whose_kustomization_sets_the_namespace() -> None:
    text = "namespace: shop\nresources: [shop.yaml]\n"
    patch = "".join(f"      {line}\n" for line in (GRACE % 8).splitlines())
    flux = (FLUX % ("apps", "apps", "")).replace("{path: ./apps, targetNamespace: shop}", "")
    files = {
        "apps/kustomization.yaml": text,
        "apps/shop.yaml": LONG_GRACE,
        "flux.yaml": f"{flux.rstrip()}\n  path: ./apps\n  patches:\n  - patch: |\n{patch}",
    }
    assert reported(check_files(files)) == [("SL102", ())]
    ignored = "terminationGracePeriodSeconds: 8}}}  # shutdownlint: ignore[SL102] known"
    files["flux.yaml"] = files["flux.yaml"].replace("terminationGracePeriodSeconds: 8}}}", ignored)
    result = check_files(files)
    assert (reported(result), len(result.suppressed), result.warnings) == ([], 1, [])


def test_what_is_of_no_environment_is_not_listed_under_one() -> None:
    own = "namespace: shop\n"
    files = {**overlays(dev=own, prod=own), "mesh.yaml": MESH, "base/shop.yaml": LONG_GRACE}
    tool = LONG_GRACE.replace("{name: shop}", "{name: tool, namespace: shop}")
    files["tools/tool.yaml"] = tool
    assert reported(check_files(files)) == [("SL201", ()), ("SL201", ("dev", "prod"))]


def test_a_new_name_of_an_environment_is_no_end_of_what_is_known() -> None:
    files = {**overlays(prod=""), "base/shop.yaml": DEPLOYMENT}
    text, _ = baseline_text(check_files(files))
    files["overlays/dev/kustomization.yaml"] = OVERLAY
    further, stale = apply_baseline(check_files(files), text)
    assert (stale, reported(further)) == ([], [("SL102", ("dev", "prod"))])


def test_namespaces_that_contradict_each_other_leave_the_mesh_open() -> None:
    namespace = MESH.partition("---")[0]
    files = {**overlays(test="namespace: shop\n", prod="namespace: shop\n")}
    files["base/shop.yaml"] = LONG_GRACE
    files["clusters/prod/ns.yaml"] = namespace
    files["clusters/test/ns.yaml"] = namespace.replace("enabled", "disabled")
    assert [verdict.mesh_is_open for verdict in check_files(files).verdicts] == [True, True]


@pytest.mark.parametrize(
    ("folders", "labels"),
    [
        (["overlays/dev", "overlays/prod", "preview/shop"], ["dev", "prod", "preview/shop"]),
        (["overlays/prod", "preview"], ["prod", "preview"]),
        (["prod/shop", "dev/shop"], ["prod/shop", "dev/shop"]),
    ],
)
def test_environments_of_one_group_are_named_by_those_of_others(
    folders: list[str], labels: list[str]
) -> None:
    files = [f"{folder}/kustomization.yaml" for folder in folders]
    known = {"dev", "prod"}
    named = _as_environments(files, labels, known)
    assert named == [
        next((part for part in label.split("/") if part in known), label) for label in labels
    ]


def test_a_group_without_variants_names_no_environment() -> None:
    files = {**BASE, "overlays/eu/kustomization.yaml": OVERLAY}
    files["other/eu/shop/kustomization.yaml"] = "resources: [a.yaml]\n"
    files["other/eu/shop/a.yaml"] = DEPLOYMENT.replace("name: shop", "name: other", 1)
    found = check_files(files)
    assert {finding.variants for finding in found.findings} == {()}


@pytest.mark.parametrize(
    ("paths", "context"),
    [(["overlays/prod"], ["overlays/test"]), (["base/shop.yaml"], ["base"]), (["."], ["."])],
)
def test_a_file_that_is_checked_is_reported_also_if_it_gives_context(
    paths: list[str], context: list[str]
) -> None:
    write_sources({**overlays(prod="", test=""), "base/budget.yaml": BUDGET}, Path.cwd())
    inputs = read(paths, FileSearch(), context=context)
    result = check(inputs, lint_options(None))
    assert [f.rule for f in result.findings if f.rule == "SL102"] == ["SL102"]
    assert "SL177" not in {f.rule for f in result.findings}, "no budget is there twice"


def test_a_chart_and_an_overlay_of_one_environment_are_in_one_world() -> None:
    plan = WorldFiles()
    named = [("chart", "prod"), ("base", ""), ("overlay", "prod"), ("other", "dev")]
    for name, variant in named:
        plan.add(InputSource(InputFile(Path(name), name), variant=variant))
    worlds = [[source.file.display_path for source in world] for world in plan.worlds]
    assert worlds == [["base"], ["chart", "overlay"], ["other"]]


def test_a_finding_is_never_in_a_file_that_is_context_only(tmp_path: Path) -> None:
    """The setting of a mesh decides, and its file is not what was asked about."""
    (tmp_path / "mesh").mkdir()
    (tmp_path / "app").mkdir()
    (tmp_path / "mesh/mesh.yaml").write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: istio, namespace: istio-system}\n"
        "data:\n  mesh: |\n    defaultConfig:\n      terminationDrainDuration: 8s\n---\n"
        "apiVersion: v1\nkind: Namespace\n"
        "metadata: {name: shop, labels: {istio-injection: enabled}}\n"
    )
    (tmp_path / "app/a.yaml").write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: shop}\n"
        "spec: {containers: [{name: app, image: i, ports: [{containerPort: 80}]}]}\n"
    )
    code, out, _ = run(
        *("check", str(tmp_path / "app"), "--context", str(tmp_path / "mesh"), "--isolated"),
        *("--mesh", "istio=1.20", "--p99", "10s", "--format", "json"),
    )
    (found,) = [each for each in json.loads(out)["findings"] if each["rule"] == "SL202"]
    assert code == 1
    assert found["file"].endswith("app/a.yaml")
    assert [each["file"].endswith("mesh/mesh.yaml") for each in found["related"]] == [True]
    assert "mesh/mesh.yaml:7)" in found["message"]


def test_a_workload_that_is_not_yaml_is_reported_also_without_containers(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata:\n  labels: a: b\n")
    code, out, _ = run("check", str(tmp_path), "--format", "concise", "--isolated")
    assert (code, "SL001" in out) == (2, True)
