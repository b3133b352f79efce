"""Competing settings: which one counts, and what is reported when none does."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pytest

from shutdownlint.engine.finding import Finding
from shutdownlint.linter.grouping import group_by_cause, group_by_place
from tests.helpers import check_files, check_text, rule_lines, run, user_facts

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: shop, namespace: shop%s}
spec:
  containers:
    - name: app
      image: a
      ports: [{containerPort: 1}]
      lifecycle: {preStop: {sleep: {seconds: 15}}}
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: app, %slifecycle: {preStop: {sleep: {seconds: 35}}}}]}
"""


def namespace(labels: str) -> str:
    return f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: shop, labels: {{{labels}}}}}\n"


def mesh(revision: str, seconds: int) -> str:
    return (
        "apiVersion: v1\nkind: ConfigMap\n"
        f"metadata: {{name: istio{revision}, namespace: istio-system}}\n"
        f"data:\n  mesh: |\n    defaultConfig:\n      terminationDrainDuration: {seconds}s\n"
    )


def istiod(tag: str, name: str = "istiod") -> str:
    return (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: istio-system}}\n"
        f"spec: {{containers: [{{name: discovery, image: 'docker.io/istio/pilot:{tag}'}}]}}\n"
    )


def proxy_findings(files: dict[str, str], istio: str | None = "1.26") -> list[Finding]:
    """Return the findings of SL201: the app's preStop of 15 s outlasts the proxy."""
    facts = user_facts(istio=istio) if istio else None
    return [f for f in check_files(files, facts).findings if f.rule == "SL201"]


def proxy_findings_without_mesh(files: dict[str, str]) -> list[Finding]:
    """Return the same if the user states that there is no mesh."""
    findings = check_files(files, user_facts(mesh=["none"])).findings
    return [finding for finding in findings if finding.rule == "SL201"]


def test_the_revision_of_the_namespace_chooses_the_mesh_configuration() -> None:
    files = {"old.yaml": mesh("-old", 7), "new.yaml": mesh("-new", 20), "pod.yaml": POD % ""}
    (finding,) = proxy_findings({**files, "ns.yaml": namespace("istio.io/rev: old")})
    assert finding.region.file == "old.yaml"
    assert not proxy_findings({**files, "ns.yaml": namespace("istio.io/rev: new")})


def test_the_revision_of_the_pod_counts_where_the_namespace_has_none() -> None:
    files = {"old.yaml": mesh("-old", 7), "new.yaml": mesh("-new", 20), "ns.yaml": namespace("")}
    (finding,) = proxy_findings({**files, "pod.yaml": POD % ", labels: {istio.io/rev: old}"})
    assert finding.region.file == "old.yaml"
    assert not proxy_findings({**files, "pod.yaml": POD % ", labels: {istio.io/rev: new}"})
    assert not proxy_findings({**files, "pod.yaml": POD % ""}), "not in the mesh"


def test_istio_injection_beats_the_revision_of_a_namespace() -> None:
    files = {"old.yaml": mesh("-old", 7), "all.yaml": mesh("", 20), "pod.yaml": POD % ""}
    both = namespace("istio-injection: enabled, istio.io/rev: old")
    assert not proxy_findings({**files, "ns.yaml": both})


def test_one_istiod_shows_the_version_and_two_minors_do_not() -> None:
    files = {"ns.yaml": namespace("istio-injection: enabled"), "pod.yaml": POD % ""}
    (certain,) = proxy_findings({**files, "i.yaml": istiod("1.26.1")}, None)
    assert (certain.severity, certain.assumptions) == ("warning", ())
    (patches,) = proxy_findings(
        {**files, "i.yaml": istiod("1.26.1"), "j.yaml": istiod("1.26.4", "other")}, None
    )
    assert patches.severity in ("error", "warning")
    (unknown,) = proxy_findings(
        {**files, "i.yaml": istiod("1.26.1"), "j.yaml": istiod("1.28.0", "other")}, None
    )
    assert unknown.severity == "warning"
    assert "version is not known" in unknown.assumptions[0]


def test_namespaces_that_contradict_each_other_show_nothing() -> None:
    files = {"pod.yaml": POD % "", "a/ns.yaml": namespace("istio-injection: enabled")}
    assert proxy_findings(files)
    same = {**files, "b/ns.yaml": namespace("istio-injection: enabled")}
    assert proxy_findings(same)
    assert not proxy_findings({**files, "b/ns.yaml": namespace("istio-injection: disabled")})


def test_the_worst_assumption_sets_the_confidence() -> None:
    one = POD % ", labels: {sidecar.istio.io/inject: 'true'}"
    (medium,) = proxy_findings({"pod.yaml": one})
    assert medium.confidence == "medium"
    (low,) = proxy_findings(
        {"pod.yaml": POD % ", annotations: {proxy.istio.io/config: 'concurrency: 1'}"}, None
    )
    assert low.confidence == "low"
    assert len(low.assumptions) > 1, "the version is a medium one"


def test_nulls_in_metadata_are_absent_fields() -> None:
    files = {"ns.yaml": namespace("istio-injection: enabled, other: null")}
    assert proxy_findings({**files, "pod.yaml": POD % ", labels: null, annotations: null"})
    assert proxy_findings({**files, "pod.yaml": POD % ", labels: {a: null}"})


@pytest.mark.parametrize(("image", "count"), [("image: a, ", 1), ("", 0)])
def test_a_complete_deployment_in_a_file_called_patch_is_checked(image: str, count: int) -> None:
    findings = check_files({"patch-foo.yaml": DEPLOYMENT % image}).findings
    assert [f.rule for f in findings] == ["SL103"] * count


@pytest.mark.parametrize(("days", "suppressed"), [(1, True), (0, True), (-1, False)])
def test_a_suppression_counts_on_its_last_day(days: int, suppressed: bool) -> None:
    day = dt.datetime.now(dt.UTC).date() + dt.timedelta(days=days)
    comment = f"# shutdownlint: ignore[SL103 until {day.isoformat()}] planned\n"
    text = DEPLOYMENT.replace("    spec: {cont", f"    {comment}    spec: {{cont") % "image: a, "
    result = check_files({"a.yaml": text})
    assert len(result.suppressed) == suppressed
    assert len(result.findings) == (not suppressed)
    assert bool(result.warnings) is not suppressed


def test_a_location_in_a_block_scalar_of_the_second_document() -> None:
    text = (
        "apiVersion: v1\nkind: Secret\nmetadata: {name: first}\n---\n"
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: shop\n"
        "  labels: {sidecar.istio.io/inject: 'true'}\n  annotations:\n"
        "    proxy.istio.io/config: |\n      # a comment\n      terminationDrainDuration: 7s\n"
        "spec:\n  containers:\n    - name: app\n      image: a\n      ports: [{containerPort: 1}]\n"
        "      lifecycle: {preStop: {sleep: {seconds: 15}}}\n"
    )
    (finding,) = proxy_findings({"a.yaml": text})
    assert (finding.region.line, finding.region.column) == (13, 33)


def test_replicas_of_a_pod_that_lasts_to_sigkill() -> None:
    """Test that a pod that ignores its stop signal costs a rollout its whole grace period."""
    text = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: shop}
spec:
  replicas: 10
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      terminationGracePeriodSeconds: 90
      containers:
        - {name: app, image: a, command: [sh, -c, "sleep 1000000"]}
"""
    (finding,) = [f for f in check_files({"a.yaml": text}).findings if f.rule == "SL151"]
    assert "15m" in finding.message
    assert "each up to 90s" in finding.message


def test_the_nearest_mesh_configuration_counts() -> None:
    """Two clusters in one repository: each is checked with its own mesh configuration."""
    files = {
        "clusters/dev/mesh.yaml": mesh("", 5),
        "clusters/prod/mesh.yaml": mesh("", 20),
        "clusters/dev/ns.yaml": namespace("istio-injection: enabled"),
        "clusters/prod/ns.yaml": namespace("istio-injection: enabled"),
        "clusters/dev/apps/pod.yaml": POD % "",
        "clusters/prod/apps/pod.yaml": POD % "",
    }
    (finding,) = proxy_findings(files)
    assert finding.region.file == "clusters/dev/mesh.yaml"
    assert finding.subject_file == "clusters/dev/apps/pod.yaml"
    elsewhere = {**files, "apps/pod.yaml": POD % ""}
    assert len(proxy_findings(elsewhere)) == 2, "equally far from both: Istio's default is assumed"


def test_the_nearest_namespace_counts() -> None:
    files = {
        "dev/ns.yaml": namespace("istio-injection: disabled"),
        "prod/ns.yaml": namespace("istio-injection: enabled"),
    }
    assert not proxy_findings({**files, "dev/pod.yaml": POD % ""})
    assert proxy_findings({**files, "prod/pod.yaml": POD % ""})
    assert not proxy_findings({**files, "pod.yaml": POD % ""})


KUSTOMIZATION = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: %s\nresources: [%s]\n"
BARE = POD.replace(", namespace: shop", "") % ""


def test_a_kustomization_gives_its_files_a_namespace() -> None:
    files = {"ns.yaml": namespace("istio-injection: enabled"), "base/pod.yaml": BARE}
    own = {**files, "base/kustomization.yaml": KUSTOMIZATION % ("shop", "pod.yaml")}
    assert proxy_findings(own)
    overlay = {**files, "over/kustomization.yaml": KUSTOMIZATION % ("shop", "../base")}
    assert proxy_findings(overlay)
    other = {**files, "over/kustomization.yaml": KUSTOMIZATION % ("other", "../base")}
    (elsewhere,) = proxy_findings(other)
    assert elsewhere.assumptions, "the version that is set shows a mesh, no file the namespace"


def test_the_namespace_default_is_that_of_manifests_without_one() -> None:
    default = namespace("istio-injection: enabled").replace("name: shop", "name: default")
    (finding,) = proxy_findings({"ns.yaml": default, "pod.yaml": BARE})
    assert not finding.assumptions


SERVICE = """\
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: shop%s}
spec: {hosts: [shop]}
"""
SELECTS = """\
---
apiVersion: v1
kind: Service
metadata: {name: shop%s}
spec: {selector: {app: shop}, ports: [{port: 80}]}
"""


@pytest.mark.parametrize(
    ("namespace", "object_file", "object_namespace", "member", "hinted"),
    [
        ("", "k8s/vs.yaml", "", True, False),
        ("", "k8s/mesh/vs.yaml", "", False, True),
        ("", "other/vs.yaml", "", False, True),
        ("", "other/mesh/vs.yaml", "", False, False),
        (", namespace: shop", "other/vs.yaml", ", namespace: shop", True, False),
        (", namespace: shop", "k8s/vs.yaml", ", namespace: cart", False, False),
    ],
)
def test_a_route_for_the_mesh_to_its_service_makes_membership_likely(
    namespace: str, object_file: str, object_namespace: str, member: bool, hinted: bool
) -> None:
    pod = BARE.replace(
        "metadata: {name: shop", f"metadata: {{labels: {{app: shop}}{namespace}, name: shop"
    )
    files = {
        "k8s/pod.yaml": pod + SELECTS % namespace,
        object_file: SERVICE % object_namespace,
        "cart/x.yaml": "a: 1\n",
    }
    findings = proxy_findings(files, None)
    assert bool(findings) is member
    (verdict,) = check_files(files).verdicts
    assert (verdict.mesh_is_open, verdict.hinted is not None) == (not member, hinted)
    if member:
        assert findings[0].severity == "warning"
        assert "suggests that the pod is in the mesh" in " ".join(findings[0].assumptions)
    if verdict.hinted is not None:
        assert verdict.hinted.mesh == "istio"
        assert verdict.hinted.loss is not None
        assert verdict.hinted.loss.text == "the app's own calls fail"
    assert not proxy_findings_without_mesh(files)


def shop(name: str, extra: str = "") -> str:
    return (
        "apiVersion: v1\nkind: Service\n"
        f"metadata: {{name: {name}, namespace: shop}}\n"
        f"spec: {{selector: {{app: {name}}}, ports: [{{port: 80}}]}}\n---\n"
        "apiVersion: apps/v1\nkind: Deployment\n"
        f"metadata: {{name: {name}, namespace: shop}}\n"
        f"spec:\n  selector: {{matchLabels: {{app: {name}}}}}\n  template:\n"
        f"    metadata: {{labels: {{app: {name}}}{extra}}}\n"
        "    spec:\n      containers:\n        - name: app\n          image: a\n"
        "          ports: [{containerPort: 1}]\n"
        "          lifecycle: {preStop: {sleep: {seconds: 5}}}\n"
    )


def of_rule(rule: str, files: dict[str, str]) -> list[Finding]:
    """Return the findings of a rule, one for each place that decides."""
    findings = check_files(files, user_facts(istio="1.26")).findings
    return group_by_place(f for f in findings if f.rule == rule)


def test_a_default_that_many_pods_share_is_one_finding_at_the_namespace() -> None:
    files = {"ns.yaml": namespace("istio-injection: enabled")}
    files |= {f"{name}.yaml": shop(name) for name in ("cart", "pay", "web")}
    (finding,) = of_rule("SL203", files)
    assert (finding.severity, finding.region.file, finding.workload) == ("warning", "ns.yaml", None)
    assert finding.message.endswith("The same holds for 2 other workloads.")
    assert [each.region.file for each in finding.related] == ["cart.yaml", "pay.yaml", "web.yaml"]
    ignored = ", annotations: {shutdownlint.dev/ignore: SL203 -- short requests}"
    (finding,) = of_rule("SL203", {**files, "pay.yaml": shop("pay", ignored)})
    assert [each.region.file for each in finding.related] == ["cart.yaml", "web.yaml"]
    config = mesh("", 5).replace("terminationDrainDuration: 5s", "concurrency: 2")
    (finding,) = of_rule("SL203", {**files, "mesh.yaml": config})
    assert finding.region.file == "mesh.yaml"


def test_without_a_place_each_pod_has_the_finding() -> None:
    files = {f"{name}.yaml": shop(name) for name in ("web", "cart")}
    findings = of_rule("SL203", files)
    assert [finding.region.file for finding in findings] == ["cart.yaml", "web.yaml"]
    (cause,) = group_by_cause(findings)
    assert cause == findings


def test_a_mesh_wide_setting_is_one_finding() -> None:
    long = mesh("", 5).replace("terminationDrainDuration: 5s", "terminationDrainDuration: 45s")
    files = {"ns.yaml": namespace("istio-injection: enabled"), "mesh.yaml": long}
    files |= {f"{name}.yaml": shop(name) for name in ("cart", "pay", "web")}
    (finding,) = of_rule("SL124", files)
    assert (finding.region.file, finding.region.line) == ("mesh.yaml", 7)
    assert len(finding.related) == 3


REJECTED = """\
apiVersion: v1
kind: Pod
metadata: {name: shop}
spec: {containers: [{name: app, image: a, lifecycle: {preStop: {sleep: {seconds: 120}}}}]}
"""


def test_a_rejected_pod_has_no_timeline(tmp_path: Path) -> None:
    """Nothing is called served that the API server never creates."""
    file = tmp_path / "a.yaml"
    file.write_text(REJECTED)
    code, out, _ = run("explain", str(file), "--request", "5s")
    assert (code, "rejected   the API server rejects this object" in out) == (0, True)
    assert "served" not in out
    _, data, _ = run("explain", str(file), "--request", "5s", "--format", "json")
    (workload,) = json.loads(data)["workloads"]
    assert workload["requests"][0]["outcome"] == "unknown"
    assert workload["rejected"]
    _, out, _ = run("suggest", str(file))
    assert out.splitlines()[1].startswith("  rejected: the API server rejects")
    _, page, _ = run("explain", str(file), "--request", "5s", "--format", "html")
    assert "rejected: no pod is created" in page
    assert "the API server rejects this object" in page
    assert "Events" not in page
    assert "stops accepting new connections" not in page
    config = tmp_path / "c.toml"
    config.write_text(f'ignore = ["{workload_rule(file)}"]\n')
    _, out, _ = run("explain", str(file), "--config", str(config))
    assert "rejected   the API server" in out


def workload_rule(file: Path) -> str:
    """Return the rule that reports the only error of a file."""
    _, data, _ = run("check", str(file), "--format", "json")
    (finding,) = [f for f in json.loads(data)["findings"] if f["severity"] == "error"]
    return str(finding["rule"])


def test_explain_names_the_mesh_that_it_assumes(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(BARE)

    def outcome(*options: str) -> tuple[str, list[tuple[str, str]], bool]:
        arguments = (str(file), "--request", "10s", "--format", "json", *options)
        _, data, _ = run("explain", *arguments)
        (workload,) = json.loads(data)["workloads"]
        (request,) = workload["requests"]
        others = [(each["when"], each["outcome"]) for each in request["alternatives"]]
        return request["outcome"], others, any("mesh" in text for text in workload["assumed"])

    classic, native = "behind a classic Istio sidecar", "behind a native Istio sidecar"
    assert outcome() == ("ok", [(classic, "cut")], True)
    assert outcome("--istio-version", "1.26") == ("cut", [("in no mesh", "ok")], True)
    assert outcome("--mesh", "none") == ("ok", [], False)
    assert outcome("--mesh", "istio=1.26") == ("cut", [], False)
    assert outcome("--mesh", "istio") == ("cut", [(native, "ok")], True), "the version is assumed"
    text = BARE.replace("name: shop", "name: shop, labels: {app: shop}") + SELECTS % ""
    file.write_text(text)
    (tmp_path / "vs.yaml").write_text(SERVICE % "")
    _, out, _ = run("explain", str(tmp_path), "--request", "10s")
    assert "10s request at 0s: cut at 5s" in out
    assert "otherwise  in no mesh: 10s request at 0s: served" in out


@pytest.mark.parametrize(
    "deployer",
    [
        """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop, namespace: argocd}
spec: {destination: {namespace: shop}, source: {path: apps/shop}}
""",
        """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: shop}
spec: {targetNamespace: shop, path: ./apps/shop}
""",
    ],
    ids=["argo", "flux"],
)
def test_the_namespace_that_a_deployer_uses(deployer: str) -> None:
    files = {
        "ns.yaml": namespace("istio-injection: enabled"),
        "deploy/shop.yaml": deployer,
        "apps/shop/pod.yaml": BARE,
    }
    (finding,) = proxy_findings(files)
    assert not finding.assumptions
    assert not proxy_findings({**files, "ns.yaml": namespace("istio-injection: disabled")})


def test_the_nodes_show_the_version_of_kubernetes() -> None:
    node = (
        "apiVersion: v1\nkind: Node\nmetadata: {name: a}\n"
        "status: {nodeInfo: {kubeletVersion: v1.28.5-gke.1}}\n"
    )
    rules = [f.rule for f in check_files({"pod.yaml": BARE, "node.yaml": node}).findings]
    assert "SL113" in rules, "the sleep action came with 1.29"
    newer = node.replace("1.28.5", "1.33.1")
    assert "SL113" not in [
        f.rule for f in check_files({"pod.yaml": BARE, "node.yaml": newer}).findings
    ]


def test_the_controller_of_an_ingress_class_decides_and_not_its_name() -> None:
    ingress = """\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: shop
  namespace: shop
  annotations: {alb.ingress.kubernetes.io/target-type: ip}
spec:
  ingressClassName: public
  rules: [{http: {paths: [{path: /, backend: {service: {name: web, port: {number: 80}}}}]}}]
"""
    klass = (
        "apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: public}\n"
        "spec: {controller: %s}\n"
    )
    bare = shop("web").replace("          lifecycle: {preStop: {sleep: {seconds: 5}}}\n", "")
    files = {"shop.yaml": bare, "ingress.yaml": ingress}
    aws = {**files, "class.yaml": klass % "ingress.k8s.aws/alb"}
    assert "ALB" in "".join(f.message for f in check_files(aws).findings if f.rule == "SL108")
    other = {**files, "class.yaml": klass % "k8s.io/ingress-nginx"}
    assert "ALB" not in "".join(f.message for f in check_files(other).findings)


def test_a_helper_in_a_gateway_pod_gets_no_requests() -> None:
    gateway = """
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: gateway, namespace: gw}
        spec:
          selector: {matchLabels: {app: gw}}
          template:
            metadata:
              labels: {app: gw, sidecar.istio.io/inject: "true"}
              annotations: {inject.istio.io/templates: gateway}
            spec:
              containers:
              - {name: istio-proxy, image: auto}
              - {name: exporter, image: prom/node-exporter:v1}
        ---
        apiVersion: v1
        kind: Service
        metadata:
          name: gw
          namespace: gw
          annotations:
            service.beta.kubernetes.io/aws-load-balancer-type: external
            service.beta.kubernetes.io/aws-load-balancer-nlb-target-type: ip
        spec: {type: LoadBalancer, selector: {app: gw}, ports: [{port: 443}]}
        """
    found = {(f.rule, f.container) for f in check_text(gateway).findings}
    assert ("SL108", "istio-proxy") in found
    assert not [rule for rule, container in found if container == "exporter"]


def test_a_hook_of_unknown_length_does_not_hide_what_the_proxy_cuts() -> None:
    """Test that the proxy exits after 5 s, however long the app's hook takes."""
    pod = """
        apiVersion: v1
        kind: Pod
        metadata: {name: db, labels: {sidecar.istio.io/inject: "true"}}
        spec:
          terminationGracePeriodSeconds: 120
          containers:
          - name: app
            image: shop/db:1
            ports: [{containerPort: 80}]
            lifecycle: {preStop: {exec: {command: [bash, -c, "/opt/drain.sh && sleep 5"]}}}
        """
    known = user_facts(p99="20s", istio="1.26", kubernetes="1.28")
    for text in (pod, pod.replace("/opt/drain.sh && sleep 5", "sleep 20")):
        assert rule_lines(check_text(text, known).findings) == [("SL202", 3)]


def test_an_unquoted_duration_needs_its_unit_too() -> None:
    pod = """
        apiVersion: v1
        kind: Pod
        metadata:
          name: a
          labels: {sidecar.istio.io/inject: "true"}
          annotations:
            proxy.istio.io/config: |
              proxyMetadata:
                MINIMUM_DRAIN_DURATION: 20
        spec: {containers: [{name: app, image: shop/app:1}]}
        """
    (finding,) = [f for f in check_text(pod).findings if f.rule == "SL212"]
    assert "needs a quoted duration with its unit, such as '20s'" in finding.message
    assert finding.fix is not None
    assert not finding.fix.changes
