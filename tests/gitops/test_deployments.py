"""Folders that Argo CD and Flux deploy, with their settings, rendered and not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shutdownlint import limits
from shutdownlint.gitops import argo_cd
from tests.helpers import run
from tests.tools import need, search_path

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      containers:
      - name: app
        image: shop:1
        lifecycle: {preStop: {exec: {command: [sleep, "25"]}}}
"""
CHART = {
    "charts/shop/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
    "charts/shop/values.yaml": "grace: 60\n",
    "charts/shop/prod.yaml": "grace: 11\n",
    "charts/shop/templates/app.yaml": DEPLOYMENT.replace(
        "      containers",
        "      terminationGracePeriodSeconds: {{ .Values.grace }}\n      containers",
    ).replace("{name: shop}", "{name: {{ .Release.Name }}}", 1),
}
PATCH = "- {op: add, path: /spec/template/spec/terminationGracePeriodSeconds, value: 12}"


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", search_path())
    (tmp_path / ".git").mkdir()
    return tmp_path


def write(files: dict[str, str]) -> None:
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)


def application(name: str, source: str, namespace: str = "prod") -> str:
    return (
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\n"
        f"metadata: {{name: {name}, namespace: argocd}}\nspec:\n"
        f"  destination: {{namespace: {namespace}}}\n  source: {{{source}}}\n"
    )


def check(*arguments: str) -> list[str]:
    """Return the errors and warnings as rule, place, workload and variants; every place exists."""
    _, out, _ = run("check", "--format", "json", *arguments, ".")
    found = json.loads(out)["findings"]
    assert all(Path(each["file"]).is_file() for each in found), found
    return sorted(
        " ".join(
            [
                each["rule"],
                f"{each['file']}:{each['line']}",
                *(str(each["workload"][key]) for key in ("namespace", "name")),
                *each["variants"],
            ]
        )
        for each in found
    )


def test_an_application_gives_a_kustomization_its_settings() -> None:
    source = f'path: apps/shop, kustomize: {{patches: [{{target: {{kind: Deployment}}, patch: "{PATCH}"}}]}}'
    write(
        {
            "apps/shop/kustomization.yaml": "resources: [shop.yaml]\n",
            "apps/shop/shop.yaml": DEPLOYMENT,
            "argo/shop.yaml": application("shop", source),
        }
    )
    assert check() == ["SL102 apps/shop/shop.yaml:12 prod shop"]
    _, out, _ = run("check", ".")
    assert "the grace period is 12s (argo/shop.yaml:6)" in out
    need("kustomize")
    assert check("--render") == ["SL102 apps/shop/shop.yaml:12 prod shop"]


FLUX_WITH_PATCH = f"""\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: apps, namespace: flux-system}}
spec:
  path: ./apps
  targetNamespace: prod
  patches: [{{target: {{kind: Deployment}}, patch: "{PATCH}"}}]
"""


def test_flux_deploys_kustomizations_below_a_folder_without_one() -> None:
    files = {
        "clusters/prod/apps.yaml": FLUX_WITH_PATCH,
        "apps/a/base/shop/kustomization.yaml": "resources: [shop.yaml]\n",
        "apps/a/base/shop/shop.yaml": DEPLOYMENT,
        "apps/plain/other.yaml": DEPLOYMENT.replace("shop", "other"),
    }
    write(files)
    assert check() == [
        "SL102 apps/a/base/shop/shop.yaml:12 prod shop",
        "SL102 apps/plain/other.yaml:12 prod other",
    ]
    assert "the grace period is 12s (clusters/prod/apps.yaml:7)" in run("check", ".")[1]
    # The same by an absolute path, and by one that leads out of the current folder.
    for path in (Path.cwd().as_posix(), f"../{Path.cwd().name}"):
        out = run("check", "--format", "concise", path)[1]
        assert out.count("the grace period is 12s") == 2
    # With a kustomization of its own the folder deploys only what that names.
    write({"apps/kustomization.yaml": "resources: [plain/other.yaml]\n"})
    assert check() == ["SL102 apps/plain/other.yaml:12 prod other"]


def test_two_applications_of_one_folder_are_variants() -> None:
    write(
        {
            "apps/shop/kustomization.yaml": "resources: [shop.yaml]\n",
            "apps/shop/shop.yaml": DEPLOYMENT.replace('"25"', '"31"'),
            "argo/a.yaml": application("shop-a", "path: apps/shop", "a"),
            "argo/b.yaml": application("shop-b", "path: apps/shop", "b"),
        }
    )
    assert check() == ["SL102 apps/shop/shop.yaml:12 a shop shop-a shop-b"]
    _, out, _ = run("explain", ".")
    assert "Deployment a/shop, variant shop-a" in out
    assert "Deployment b/shop, variant shop-b" in out


def test_flux_deploys_a_plain_folder_with_patches() -> None:
    write(
        {
            "plain/shop.yaml": DEPLOYMENT,
            "flux/shop.yaml": "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"
            "metadata: {name: shop}\nspec:\n  path: ./plain\n  targetNamespace: team\n"
            f"  patches: [{{target: {{kind: Deployment}}, patch: '{PATCH}'}}]\n",
        }
    )
    assert check() == ["SL102 plain/shop.yaml:12 team shop"]


def test_charts_are_rendered_as_they_are_deployed() -> None:
    need("helm")
    values = "path: charts/shop, helm: {%s}"
    write(
        {
            **CHART,
            "argo/prod.yaml": application("shop-prod", values % "valueFiles: [prod.yaml]"),
            "argo/dev.yaml": application("shop-dev", values % "valuesObject: {grace: 13}", "dev"),
            "argo/test.yaml": application("shop-test", values % "releaseName: own", "test"),
            "argo/set.yaml": application(
                "shop-set", values % "parameters: [{name: grace, value: '14'}]", "set"
            ),
            "flux/shop.yaml": "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n"
            "metadata: {name: shop-flux, namespace: flux}\nspec:\n"
            "  chart: {spec: {chart: ./charts/shop, sourceRef: {kind: GitRepository}}}\n"
            "  values: {grace: 15}\n",
        }
    )
    assert check("--render") == [
        "SL102 charts/shop/templates/app.yaml:13 dev shop-dev shop-dev",
        "SL102 charts/shop/templates/app.yaml:13 flux shop-flux shop-flux",
        "SL102 charts/shop/templates/app.yaml:13 prod shop-prod shop-prod",
        "SL102 charts/shop/templates/app.yaml:13 set shop-set shop-set",
    ]
    _, out, _ = run("check", "--render", "--format", "concise", ".")
    for place in (
        "11s (charts/shop/prod.yaml:1)",
        "13s (argo/dev.yaml:6)",
        "14s (line 9)",
        "15s (flux/shop.yaml:6)",
    ):
        assert f"the grace period is {place}" in out
    _, out, _ = run("explain", "--render", ".", "test/own")
    assert "Deployment test/own, variant shop-test" in out


GENERATORS = {
    "list: {elements: [{env: dev}, {env: prod}]}": ("{{env}}", "{{env}}"),
    "list: {elements: [{e: {nv: dev}}, {e: {nv: prod}}]}": ("{{ .e.nv }}", "{{.e.nv}}"),
    "git: {directories: [{path: envs/*}, {path: envs/old, exclude: true}]}": (
        "{{path.basename}}",
        "{{path[1]}}",
    ),
    "git: {files: [{path: 'envs/*/config.json'}]}": (
        "{{.name}}",
        "{{ index .path.segments 1 }}",
    ),
    "matrix: {generators: [{list: {elements: [{env: dev}, {env: prod}]}}, "
    "{list: {elements: [{a: b}]}}]}": ("{{env}}", "{{env}}"),
}


@pytest.mark.parametrize("generator", GENERATORS)
def test_sets_make_applications(generator: str) -> None:
    namespace, folder = GENERATORS[generator]
    write(
        {
            **{
                f"envs/{env}/{name}": text
                for env in ("dev", "prod", "old")
                for name, text in (
                    ("kustomization.yaml", "resources: [../../base]\n"),
                    ("config.json", f'{{"name": "{env}"}}'),
                )
            },
            "base/kustomization.yaml": "resources: [shop.yaml]\n",
            "base/shop.yaml": DEPLOYMENT.replace('"25"', '"30"'),
            "argo/set.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\n"
            "metadata: {name: shops}\nspec:\n"
            f"  generators: [{{{generator}}}]\n  template:\n"
            f"    metadata: {{name: 'shop-{namespace}'}}\n    spec:\n"
            f"      destination: {{namespace: 'ns-{namespace}'}}\n"
            f"      source: {{path: 'envs/{folder}'}}\n",
        }
    )
    _, out, _ = run("explain", ".")
    assert "Deployment ns-dev/shop, variant dev" in out
    assert "Deployment ns-prod/shop, variant prod" in out


@pytest.mark.parametrize(
    "text",
    [
        application("a", "chart: redis, repoURL: https://example.com"),
        application("a", "path: none/here"),
        application("a", "path: ../../etc"),
        (
            "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: a}\n"
            "spec: {generators: [{clusters: {}}], template: {spec: {source: {path: a}}}}\n"
        ),
        (
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a}\n"
            "spec: {chart: {spec: {chart: redis, sourceRef: {kind: HelmRepository}}}}\n"
        ),
    ],
)
def test_what_is_deployed_from_elsewhere_is_named(text: str) -> None:
    write({"argo/a.yaml": text, "b.yaml": DEPLOYMENT})
    assert "not checked: 1 application of another repository" in run("check", ".")[1]
    _, out, _ = run("check", "--verbose", ".")
    assert "its chart or folder is not in the repository (1)" in out


def test_odd_objects_are_no_trouble() -> None:
    odd = ("[]", "x", "{spec: []}", "{spec: {source: 5}}", "{spec: {sources: [5, {path: 7}]}}")
    texts = [
        f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}\nspec: {value}\n"
        for version, kind in (
            ("argoproj.io/v1alpha1", "Application"),
            ("argoproj.io/v1alpha1", "ApplicationSet"),
            ("helm.toolkit.fluxcd.io/v2", "HelmRelease"),
            ("kustomize.toolkit.fluxcd.io/v1", "Kustomization"),
        )
        for value in (*odd, "{generators: {}, template: 5}", "{path: 5, chart: []}")
    ]
    write({"odd.yaml": "---\n".join(texts), "b.yaml": DEPLOYMENT})
    _, out, _ = run("check", ".")
    assert "SL001" not in out
    assert "1 workload" in out


def sleeping(grace: str, sleep: str) -> str:
    """Return the Deployment with a grace period and a sleep action, in lines of their own."""
    text = DEPLOYMENT.replace(
        "      containers", f"      terminationGracePeriodSeconds: {grace}\n      containers"
    )
    hook = f"lifecycle:\n          preStop:\n            sleep:\n              seconds: {sleep}"
    return text.replace('lifecycle: {preStop: {exec: {command: [sleep, "25"]}}}', hook)


def test_settings_of_a_set_are_filled_for_each_application() -> None:
    write(
        {
            "apps/a/kustomization.yaml": "resources: [d.yaml]\n",
            "apps/a/d.yaml": sleeping("40", "10"),
            "argo/set.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\n"
            "metadata: {name: apps}\nspec:\n  goTemplate: true\n"
            "  generators: [{list: {elements: [{c: eu, g: 5}, {c: us, g: 50}]}}]\n  template:\n"
            "    metadata: {name: 'a-{{.c}}'}\n    spec:\n      destination: {namespace: 'n-{{.c}}'}\n"
            "      source:\n        path: apps/a\n        kustomize:\n"
            "          namePrefix: '{{.c}}-'\n          patches:\n"
            "          - target: {kind: Deployment}\n            patch: |-\n"
            "              - op: replace\n"
            "                path: /spec/template/spec/terminationGracePeriodSeconds\n"
            "                value: {{.g}}\n",
        }
    )
    assert check() == ["SL103 apps/a/d.yaml:16 n-eu eu-shop a-eu"]
    _, out, _ = run("check", ".")
    assert "the grace period of 5s (argo/set.yaml:20)" in out


def test_flux_components_and_variables() -> None:
    flux = (
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a}\n"
        "spec:\n  path: ./plain\n  targetNamespace: team\n  postBuild: {substitute: {sleep: '50'}}\n"
    )
    operation = "{op: add, path: /spec/template/spec/terminationGracePeriodSeconds, value: 6}"
    write(
        {
            "plain/d.yaml": sleeping("${grace:=40}", "${sleep}"),
            "comp/kustomization.yaml": "kind: Component\n"
            f'patches: [{{target: {{kind: Deployment}}, patch: "[{operation}]"}}]\n',
            "flux/a.yaml": flux,
        }
    )
    assert check() == ["SL103 plain/d.yaml:16 team shop"]
    write({"flux/a.yaml": f"{flux}  components: [../comp]\n"})
    _, out, _ = run("check", ".")
    assert "the grace period of 6s (comp/kustomization.yaml:2)" in out


def test_values_that_the_files_do_not_show_are_named() -> None:
    need("helm")
    release = (
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a}\nspec:\n"
        "  chart: {spec: {chart: ./charts/shop, sourceRef: {kind: GitRepository}}}\n"
        "  values: {grace: 3}\n  valuesFrom: [{kind: ConfigMap, name: v}]\n"
    )
    write({**CHART, "flux/a.yaml": release})
    _, out, _ = run("check", "--render", "--verbose", ".")
    assert "HelmRelease a in flux/a.yaml: valuesFrom may change what it deploys" in out
    assert "SL102" not in out, "the chart's own values are enough"


def test_values_files_outside_of_the_repository_are_not_read(repository: Path) -> None:
    need("helm")
    (repository.parent / "outside.yaml").write_text("grace: 1\n")
    Path("link.yaml").symlink_to("../outside.yaml")
    source = "path: charts/shop, helm: {valueFiles: [../../../outside.yaml, ../../link.yaml]}"
    write({**CHART, "argo/a.yaml": application("shop", source)})
    _, out, _ = run("check", "--render", ".")
    assert "outside.yaml" not in out
    assert "SL102" not in out


def test_an_absolute_path_is_read_like_a_relative_one(tmp_path: Path) -> None:
    app = application("a", "path: sub, kustomize: {namePrefix: a-}")
    write({"sub/app.yaml": f"{app}---\n{DEPLOYMENT}", "sub/other.yaml": DEPLOYMENT})
    found = [
        run("check", "--isolated", path)[1].strip().rpartition("\n")[2]
        for path in ("sub/app.yaml", str(tmp_path / "sub" / "app.yaml"))
    ]
    assert found[0] == found[1]
    assert "1 workload in" in found[0]


@pytest.mark.parametrize(
    ("limit", "most"), [("MAX_FILLED_CHARACTERS", 400), ("MAX_PARAMETER_CHARACTERS", 2)]
)
def test_a_set_that_is_filled_with_too_much_is_named(
    limit: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(
        {
            "set.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\n"
            "metadata: {name: apps}\nspec:\n"
            "  generators: [{list: {elements: [{e: dev}, {e: prod}]}}]\n  template:\n"
            "    metadata: {name: 'a-{{e}}'}\n    spec: {source: {path: 'envs/{{e}}'}}\n",
            "envs/dev/a.yaml": DEPLOYMENT,
            "envs/prod/a.yaml": DEPLOYMENT,
        }
    )
    named = "its chart or folder is not in the repository"
    assert named not in run("check", "--verbose", ".")[1]
    monkeypatch.setattr(limits, limit, most)
    assert named in run("check", "--verbose", ".")[1]


def test_a_matrix_is_followed_no_further_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_APPLICATIONS", 4)
    filled: list[object] = []

    def note(data: object, prefix: str = "") -> dict[str, str]:
        filled.append(prefix or data)
        return {}

    monkeypatch.setattr(argo_cd, "_flatten", note)
    elements = ", ".join(f"{{e: '{number}'}}" for number in range(50))
    inner = f"{{list: {{elements: [{elements}]}}}}"
    write(
        {
            "set.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\n"
            "metadata: {name: apps}\nspec:\n"
            f"  generators: [{{matrix: {{generators: [{inner}, {inner}]}}}}]\n  template:\n"
            "    metadata: {name: a}\n    spec: {source: {path: a}}\n",
            "b.yaml": DEPLOYMENT,
        }
    )
    _, out, _ = run("check", ".")
    assert "1 workload" in out
    assert 0 < len(filled) < 20
