"""Policies that change pods are applied where they can be read, and named where they cannot."""

from __future__ import annotations

import re
from dataclasses import dataclass
from textwrap import dedent, indent
from typing import TYPE_CHECKING

import pytest

from shutdownlint.platforms.admission.object_literals import read_object
from shutdownlint.platforms.traffic import meshes_of
from tests.helpers import check_files, plan_files, run, user_facts

if TYPE_CHECKING:
    from pathlib import Path

    from shutdownlint.platforms.user_facts import UserFacts

POD = """
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: shop, namespace: shop}
    spec:
      selector: {matchLabels: {app: shop}}
      template:
        metadata: {labels: {app: shop}}
        spec: {containers: [{name: app, image: shop/app:1}]}
    """
KYVERNO = """
    apiVersion: kyverno.io/v1
    kind: %s
    metadata: {name: add-sleep%s}
    spec:
      rules:
      - name: sleep
        match: {any: [{resources: {kinds: [%s]}}]}
        mutate:
          patchStrategicMerge:
            spec:
              containers:
              - (name): "*"
                lifecycle: {preStop: {exec: {command: [sleep, "15"]}}}
    """
GATEKEEPER = """
    apiVersion: mutations.gatekeeper.sh/v1
    kind: Assign
    metadata: {name: grace}
    spec:
      applyTo: [{groups: [""], kinds: [Pod], versions: [v1]}]
      match: {namespaces: [%s]%s}
      location: spec.terminationGracePeriodSeconds
      parameters: {assign: {%s}}
    """
SELECTOR = ", labelSelector: {matchLabels: {app: shop}}"
SELECTED = """    exclude: {any: [{resources: {selector: {matchLabels: {app: shop}}}}]}
    """
PRECONDITION = """    preconditions: {all: [{key: "{{ request.operation }}", operator: Equals, value: CREATE}]}
    """
FROM_VARIABLE = """
    apiVersion: kyverno.io/v1
    kind: ClusterPolicy
    metadata: {name: grace}
    spec:
      rules:
      - name: grace
        match: {any: [{resources: {kinds: [Pod]}}]}
        mutate:
          patchStrategicMerge:
            spec: {terminationGracePeriodSeconds: "{{ request.object.metadata.labels.grace }}"}
    """
BINDING = """---
    apiVersion: admissionregistration.k8s.io/v1beta1
    kind: MutatingAdmissionPolicyBinding
    metadata: {name: sidecar-drain}
    spec: {policyName: sidecar-drain}
    """
ADMISSION = """
    apiVersion: admissionregistration.k8s.io/v1beta1
    kind: MutatingAdmissionPolicy
    metadata: {name: sidecar-drain}
    spec:
      matchConstraints:
        resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [%s]}]
      mutations:
      - patchType: ApplyConfiguration
        applyConfiguration: {expression: "Object{spec: Object.spec{terminationGracePeriodSeconds: %s}}"}
    """
WEBHOOK = """
    apiVersion: admissionregistration.k8s.io/v1
    kind: MutatingWebhookConfiguration
    metadata: {name: %s}
    webhooks:
    - name: inject.example.com
      rules: [{apiGroups: ["*"], apiVersions: ["*"], operations: [CREATE], resources: [%s]}]
    """


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (KYVERNO % ("ClusterPolicy", "", "Pod") + SELECTED, "policy add-sleep may change the pods"),
        (KYVERNO % ("ClusterPolicy", "", "Pod") + PRECONDITION, "policy add-sleep may change"),
        (KYVERNO % ("ClusterPolicy", "", "Service") + PRECONDITION, None),
        (KYVERNO % ("Policy", ", namespace: other", "Pod") + PRECONDITION, None),
        (FROM_VARIABLE, "policy grace may change the pods (terminationGracePeriodSeconds)"),
        (GATEKEEPER % ("'sh*'", SELECTOR, "value: 60"), "Assign grace may change the pods"),
        (GATEKEEPER % ("'sh*'", "", "fromMetadata: {field: name}"), "Assign grace may change"),
        (GATEKEEPER % ("other", SELECTOR, "value: 60"), None),
        (ADMISSION % ("pods", "60"), "MutatingAdmissionPolicy sidecar-drain may change the pods"),
        (ADMISSION % ("pods", "30 * 2") + BINDING, "MutatingAdmissionPolicy sidecar-drain may"),
        (ADMISSION % ("services", "60"), None),
        (WEBHOOK % ("vault-agent-injector", "pods"), "MutatingWebhookConfiguration vault-agent"),
        (WEBHOOK % ("all", "'*'"), "MutatingWebhookConfiguration all may change the pods: not"),
        (WEBHOOK % ("vault-agent-injector", "services"), None),
        (WEBHOOK % ("istio-sidecar-injector", "pods"), None),
    ],
)
def test_what_may_change_the_pods_is_an_assumption(policy: str, expected: str | None) -> None:
    (pod,) = plan_files({"pod.yaml": POD, "policy.yaml": policy}).pods
    assert pod.plan is not None
    found = [a.text for a in pod.plan.assumptions if "may change the pods" in a.text]
    assert [text.startswith(expected or "-") for text in found] == ([True] if expected else [])


@dataclass
class Applied:
    """A pod as its policies change it."""

    grace: str
    sleeps: dict[str, str]


def applied(policy: str, pod: str = POD, facts: UserFacts | None = None) -> Applied:
    (planned,) = plan_files({"pod.yaml": pod, "policy.yaml": policy}, facts).pods
    assert planned.plan is not None
    assert not [a for a in planned.plan.assumptions if "may change" in a.text]
    sleeps = {c.name: str(c.hook.duration) for c in planned.plan.containers if c.hook.exists}
    return Applied(str(planned.plan.grace), sleeps)


def kyverno(patch: str, kinds: str = "Pod") -> str:
    head = """
    apiVersion: kyverno.io/v1
    kind: ClusterPolicy
    metadata: {name: defaults}
    spec:
      rules:
      - name: defaults
        match: {any: [{resources: {kinds: [%s]}}]}
        mutate:
"""
    return head % kinds + indent(dedent(patch).strip("\n"), " " * 10) + "\n"


DEFAULT = "terminationGracePeriodSeconds 30s (the Kubernetes default)"


@pytest.mark.parametrize(
    ("policy", "grace", "sleeps"),
    [
        (
            kyverno("patchStrategicMerge: {spec: {terminationGracePeriodSeconds: 60}}"),
            "terminationGracePeriodSeconds 60s (policy.yaml:9)",
            {},
        ),
        (
            # The API server has set 30 s before the policy sees the pod.
            kyverno("patchStrategicMerge: {spec: {+(terminationGracePeriodSeconds): 60}}"),
            DEFAULT,
            {},
        ),
        (
            kyverno(
                """
                patchStrategicMerge:
                  metadata: {annotations: {+(x): preStop}}
                  spec: {containers: [{(name): app, +(lifecycle): {preStop: {sleep: {seconds: 7}}}}]}
                """
            ),
            DEFAULT,
            {"app": "app preStop 7s (policy.yaml:11)"},
        ),
        (
            kyverno(
                "patchStrategicMerge: {spec: {template: {spec: "
                "{terminationGracePeriodSeconds: 60}}}}",
                "Deployment",
            ),
            "terminationGracePeriodSeconds 60s (policy.yaml:9)",
            {},
        ),
        (
            kyverno(
                "patchStrategicMerge: {spec: {terminationGracePeriodSeconds: 60}}", "StatefulSet"
            ),
            DEFAULT,
            {},
        ),
        (
            kyverno(
                """
                patchStrategicMerge:
                  metadata: {labels: {(app): shop}}
                  spec: {terminationGracePeriodSeconds: 60}
                """
            ),
            "terminationGracePeriodSeconds 60s (policy.yaml:11)",
            {},
        ),
        (
            kyverno(
                """
                patchStrategicMerge:
                  metadata: {labels: {(app): other}}
                  spec: {terminationGracePeriodSeconds: 60}
                """
            ),
            DEFAULT,
            {},
        ),
        (
            kyverno(
                """
                patchStrategicMerge:
                  spec:
                    containers:
                    - (name): "*"
                      lifecycle: {preStop: {sleep: {seconds: 7}}}
                """
            ),
            DEFAULT,
            {"app": "app preStop 7s (policy.yaml:13)"},
        ),
        (
            kyverno(
                """
                patchStrategicMerge:
                  spec:
                    containers:
                    - (image): "other/*"
                      (name): "*"
                      lifecycle: {preStop: {sleep: {seconds: 7}}}
                """
            ),
            DEFAULT,
            {},
        ),
        (
            kyverno(
                """
                foreach:
                - list: request.object.spec.containers
                  patchStrategicMerge:
                    spec:
                      containers:
                      - name: "{{ element.name }}"
                        lifecycle: {preStop: {sleep: {seconds: 7}}}
                """
            ),
            DEFAULT,
            {"app": "app preStop 7s (policy.yaml:15)"},
        ),
        (
            kyverno(
                """
                patchesJson6902: |-
                  - op: add
                    path: /spec/terminationGracePeriodSeconds
                    value: 60
                  - path: /spec/containers/0/lifecycle
                    op: add
                    value: {preStop: {sleep: {seconds: 7}}}
                """
            ),
            "terminationGracePeriodSeconds 60s (policy.yaml:12)",
            {"app": "app preStop 7s (policy.yaml:15)"},
        ),
        (
            GATEKEEPER % ("'sh*'", "", "value: 60"),
            "terminationGracePeriodSeconds 60s (policy.yaml:8)",
            {},
        ),
        (
            (GATEKEEPER % ("shop", "", "value: {sleep: {seconds: 7}}")).replace(
                "spec.terminationGracePeriodSeconds", '"spec.containers[name:*].lifecycle.preStop"'
            ),
            DEFAULT,
            {"app": "app preStop 7s (policy.yaml:8)"},
        ),
        (GATEKEEPER % ("other", "", "value: 60"), DEFAULT, {}),
        (
            ADMISSION % ("pods", "60") + BINDING,
            "terminationGracePeriodSeconds 60s (policy.yaml:9)",
            {},
        ),
        (
            (ADMISSION % ("pods", "60"))
            .replace("MutatingAdmissionPolicy", "MutatingPolicy")
            .replace("admissionregistration.k8s.io/v1beta1", "policies.kyverno.io/v1alpha1"),
            "terminationGracePeriodSeconds 60s (policy.yaml:9)",
            {},
        ),
    ],
)
def test_what_a_policy_writes_is_a_setting_of_the_pod(
    policy: str, grace: str, sleeps: dict[str, str]
) -> None:
    assert applied(policy) == Applied(grace, sleeps)


def test_what_is_written_where_nothing_is_leaves_the_pods_own_value() -> None:
    policy = kyverno("patchStrategicMerge: {spec: {+(terminationGracePeriodSeconds): 60}}")
    pod = POD.replace("containers: [", "terminationGracePeriodSeconds: 45, containers: [")
    assert applied(policy, pod).grace == "terminationGracePeriodSeconds 45s (pod.yaml:8)"


def test_policies_apply_in_the_order_of_their_controllers() -> None:
    """Test the order: the API server's own policies first, then Gatekeeper, then Kyverno."""
    hook = kyverno(
        'patchStrategicMerge: {spec: {containers: [{(name): "*", '
        "lifecycle: {preStop: {sleep: {seconds: 7}}}}]}}"
    )
    found = applied(f"{hook}    ---{GATEKEEPER % ('shop', '', 'value: 60')}")
    assert "60s (policy.yaml:18)" in found.grace
    assert set(found.sleeps) == {"app"}
    both = GATEKEEPER % ("shop", "", "value: 60") + "---" + ADMISSION % ("pods", "90") + BINDING
    assert "60s (policy.yaml:8)" in applied(both).grace


def test_two_policies_that_write_the_same_are_named() -> None:
    """Test two policies that write the same: which one is the last is not known."""
    first = kyverno("patchStrategicMerge: {spec: {terminationGracePeriodSeconds: 60}}")
    second = first.replace("name: defaults", "name: later").replace("60", "90")
    files = {"pod.yaml": POD, "policy.yaml": f"{first}    ---{second}"}
    (pod,) = plan_files(files).pods
    assert pod.plan is not None
    assert "60s (policy.yaml:9)" in str(pod.plan.grace)
    assert any("policy later may change the pods" in a.text for a in pod.plan.assumptions)


def test_of_policies_with_one_name_the_nearest_applies() -> None:
    policy = kyverno("patchStrategicMerge: {spec: {terminationGracePeriodSeconds: 60}}")
    files = {
        "prod/pod.yaml": POD,
        "prod/policy.yaml": policy,
        "dev/policy.yaml": policy.replace("60", "90"),
    }
    (pod,) = plan_files(files).pods
    assert pod.plan is not None
    assert "60s (prod/policy.yaml:9)" in str(pod.plan.grace)


LOOP = """
    patchStrategicMerge:
      spec:
        containers:
        - (name): "%s"
          lifecycle:
            preStop:
              exec:
                command:
                - sh
                - -c
                - while [ $(netstat -plunt | grep tcp | grep -v envoy | wc -l) -ne 0 ]; do sleep 1; done
    """


@pytest.mark.parametrize("name", ["istio-proxy", "*"])
def test_the_hook_that_a_policy_gives_to_the_injected_proxy_is_reported_there(name: str) -> None:
    result = check_files(
        {"pod.yaml": POD, "policy.yaml": kyverno(LOOP % name)},
        user_facts(mesh=["istio"], istio="1.26", kubernetes="1.28"),
    )
    (finding,) = [f for f in result.findings if f.rule == "SL217"]
    assert (finding.region.file, finding.workload and finding.workload.name) == (
        "policy.yaml",
        "shop",
    )
    without = check_files({"pod.yaml": POD, "policy.yaml": kyverno(LOOP % name)}, user_facts())
    assert "SL217" not in {f.rule for f in without.findings}


def test_a_hook_that_a_policy_gives_to_the_app_is_not_for_a_proxy_that_comes_later() -> None:
    """Linkerd's webhook is called after Kyverno's."""
    policy = kyverno(LOOP % "*")
    (pod,) = plan_files({"a.yaml": POD, "p.yaml": policy}, user_facts(mesh=["linkerd"])).pods
    assert pod.plan is not None
    hooks = {c.name: c.hook.exists for c in pod.plan.containers}
    assert hooks == {"app": True, "linkerd-proxy": False}


def test_a_setting_of_a_policy_is_fixed_in_the_policy(tmp_path: Path) -> None:
    policy = kyverno(
        """
        patchStrategicMerge:
          spec:
            terminationGracePeriodSeconds: 10
            containers:
            - (name): "*"
              lifecycle: {preStop: {sleep: {seconds: 15}}}
        """
    )
    (tmp_path / "pod.yaml").write_text(dedent(POD))
    (tmp_path / "policy.yaml").write_text(dedent(policy))
    assert "SL103" in run("check", str(tmp_path))[1]
    code, _, err = run("check", "--unsafe-fixes", str(tmp_path))
    assert "fixed" in err
    assert (tmp_path / "pod.yaml").read_text() == dedent(POD)
    assert "terminationGracePeriodSeconds: 10\n" not in (tmp_path / "policy.yaml").read_text()
    assert code == 0
    assert "SL103" not in run("check", str(tmp_path))[1]


def test_a_policy_that_puts_pods_into_the_mesh() -> None:
    policy = kyverno('patchStrategicMerge: {metadata: {labels: {sidecar.istio.io/inject: "true"}}}')
    (pod,) = plan_files({"pod.yaml": POD, "policy.yaml": policy}).pods
    assert meshes_of(pod) == ["istio"]
    (pod,) = plan_files({"pod.yaml": POD, "policy.yaml": policy.replace('"true"', '"false"')}).pods
    assert meshes_of(pod) == []


def test_a_patch_that_aliases_multiply_is_not_applied() -> None:
    levels = [f"a{n}: &a{n} {{x: *a{n - 1}, y: *a{n - 1}}}" for n in range(1, 14)]
    aliases = "\n".join(f"    {level}" for level in levels)
    text = f"""
patchStrategicMerge:
  metadata:
    a0: &a0 {{+(preStop): 1}}
    long: {"x" * 10_000}
{aliases}
"""
    (pod,) = plan_files({"pod.yaml": POD, "policy.yaml": kyverno(text)}).pods
    assert pod.plan is not None
    assert any("may change the pods" in a.text for a in pod.plan.assumptions)


@pytest.mark.parametrize(
    "expression",
    [
        "Object{spec: Object.spec{}} + 1",
        "Object{spec: x}",
        "Object{spec: Object.spec{a: 1 b: 2}}",
        "Object{",
        "[1]",
        'Object{"a": "\\u0041"}',
        "Object{a: [Object.a{}.map(x, x)]}",
        "{" * 100,
    ],
)
def test_an_expression_that_computes_is_no_object(expression: str) -> None:
    with pytest.raises(ValueError, match=re.escape(expression)):
        read_object(expression)


def test_the_object_of_an_expression() -> None:
    text = """Object{spec: Object.spec{n: -5, on: true, "a/b": 'x', list: [1, {y: "z\\n"},],}}"""
    assert read_object(text) == {
        "spec": {"n": -5, "on": True, "a/b": "x", "list": [1, {"y": "z\n"}]}
    }


def test_suggestions_change_the_policy(tmp_path: Path) -> None:
    """Two workloads need two values at one place: the second is named as not written."""
    policy = kyverno("patchStrategicMerge: {spec: {terminationGracePeriodSeconds: 10}}")
    (tmp_path / "policy.yaml").write_text(dedent(policy))
    serving = POD.replace(
        "image: shop/app:1",
        "image: shop/app:1, ports: [{containerPort: 80}], lifecycle: {preStop: {sleep: "
        "{seconds: 5}}}",
    )
    name = "name: big, annotations: {shutdownlint.dev/p99: 50s},"
    longer = serving.replace("name: shop,", name, 1)
    for name, text in (("a.yaml", serving), ("b.yaml", longer)):
        (tmp_path / name).write_text(dedent(text))
    code, out, _ = run("suggest", str(tmp_path), "--format", "diff")
    assert (code, out.count("+++ ")) == (0, 1)
    assert "policy.yaml" in out
    _, out, _ = run("suggest", str(tmp_path))
    assert out.count("terminationGracePeriodSeconds: 10s -> ") == 2
    assert "another workload needs another value at the same place" in out
    for patch in ("kustomize", "helm"):
        _, out, _ = run("suggest", str(tmp_path), "--format", patch)
        assert "# Deployment shop/shop: to change in " in out


GRACE = "patchStrategicMerge: {spec: {terminationGracePeriodSeconds: 60}}"


def changed(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new)


@pytest.mark.parametrize(
    "policy",
    [
        kyverno(
            "patchStrategicMerge: {spec: {(restartPolicy): Always, terminationGracePeriodSeconds: 6}}"
        ),
        kyverno(
            "patchStrategicMerge: {metadata: {(namespace): shop}, spec: {terminationGracePeriodSeconds: 6}}"
        ),
        kyverno(
            'patchStrategicMerge: {spec: {containers: [{(name): "*", lifecycle: {$patch: delete}}]}}'
        ),
        kyverno(
            "patchStrategicMerge: {spec: {containers: [{name: app, +(lifecycle): {preStop: {sleep: {seconds: 7}}}}]}}"
        ),
        kyverno("patchStrategicMerge: {x: &m {terminationGracePeriodSeconds: 60}, spec: {<<: *m}}"),
        kyverno(
            'patchStrategicMerge: {spec: {containers: [{(name): "*", lifecycle: {preStop: {}}}, abc]}}'
        ),
        kyverno(
            "patchesJson6902: '[{op: replace, path: /spec/containers/0/lifecycle, value: {preStop: {}}}]'"
        ),
        changed(kyverno(GRACE), "rules:", "admission: false\n      rules:"),
        changed(kyverno(GRACE), "rules:", "applyRules: One\n      rules:"),
        changed(kyverno(GRACE), "kind: ClusterPolicy", "kind: Policy"),
        kyverno(GRACE, "Pod, Deployment"),
        kyverno(GRACE, '"Deploy*"'),
        kyverno(GRACE, "ReplicaSet"),
        kyverno(GRACE)
        + """    ---
    apiVersion: kyverno.io/v2
    kind: PolicyException
    metadata: {name: e}
    spec: {exceptions: [{policyName: defaults, ruleNames: [defaults]}]}
    """,
        changed(
            ADMISSION % ("pods", "60") + BINDING,
            "resources: [pods]",
            "resources: [pods], resourceNames: [x]",
        ),
        changed(ADMISSION % ("pods", "60") + BINDING, 'apiGroups: [""]', "apiGroups: [x.io]"),
        changed(ADMISSION % ("pods", "60") + BINDING, "Object.spec{", "Object.wrong{"),
        changed(
            ADMISSION % ("pods", "60") + BINDING,
            "Object.spec{terminationGracePeriodSeconds: 60}",
            "Object.spec{containers: [Object.spec.containers{name: 'app', lifecycle: Object.spec.containers."
            "lifecycle{preStop: Object.spec.containers.lifecycle.preStop{exec: Object.spec.containers."
            "lifecycle.preStop.exec{command: ['sleep', '9']}}}}]}",
        ),
        changed(GATEKEEPER % ("shop", "", "value: 60"), "match: {", "match: {scope: Cluster, "),
        changed(GATEKEEPER % ("shop", "", "value: 60"), "match: {namespaces: [shop]}", "match: 5"),
        changed(
            GATEKEEPER % ("shop", "", "value: 60"), "match: {namespaces: [shop]}", "match: [{a: b}]"
        ),
        changed(
            GATEKEEPER % ("shop", "", "value: 60"),
            "spec.terminationGracePeriodSeconds",
            "a" + ".a" * 3000 + ".preStop",
        ),
    ],
)
def test_what_is_not_certain_is_an_assumption(policy: str) -> None:
    (pod,) = plan_files({"pod.yaml": POD, "policy.yaml": policy}).pods
    assert pod.plan is not None
    assert str(pod.plan.grace) == DEFAULT
    assert not any(c.hook.exists for c in pod.plan.containers)
    assert any("may change the pods" in a.text for a in pod.plan.assumptions)


def test_a_policy_that_is_for_updates_only_says_nothing() -> None:
    policy = changed(ADMISSION % ("pods", "60") + BINDING, "[CREATE]", "[UPDATE]")
    assert applied(policy).grace == DEFAULT


def test_what_a_star_matches_includes_pods() -> None:
    policy = changed(ADMISSION % ("'*'", "60") + BINDING, 'apiGroups: [""]', "apiGroups: ['*']")
    assert "60s (policy.yaml:9)" in applied(policy).grace


@pytest.mark.parametrize("spec", ["preStop", "5", "[preStop]", "null # preStop"])
def test_a_kyverno_policy_without_a_mapping_costs_nothing_else(spec: str) -> None:
    policy = changed(
        KYVERNO % ("ClusterPolicy", "", "Pod"), "spec:\n      rules:", "x:\n      rules:"
    )
    policy = policy.replace("    x:", f"    spec: {spec}\n    x:")
    (pod,) = plan_files({"pod.yaml": POD, "policy.yaml": policy}).pods
    assert pod.plan is not None


def test_a_patch_that_removes_a_value_is_not_applied() -> None:
    pod = POD.replace("containers: [", "terminationGracePeriodSeconds: 45, containers: [")
    for null in ("null", "~", ""):
        policy = kyverno(
            f"patchStrategicMerge: {{spec: {{terminationGracePeriodSeconds: {null}}}}}"
        )
        (planned,) = plan_files({"pod.yaml": pod, "policy.yaml": policy}).pods
        assert planned.plan is not None
        assert "45s" in str(planned.plan.grace)
        assert any("may change the pods" in a.text for a in planned.plan.assumptions)


def test_a_list_that_the_pod_does_not_have_is_not_applied() -> None:
    expression = (
        "Object{spec: Object.spec{terminationGracePeriodSeconds: 60, "
        'imagePullSecrets: [Object.spec.imagePullSecrets{name: \\"x\\"}]}}'
    )
    policy = ADMISSION.replace(
        "Object{spec: Object.spec{terminationGracePeriodSeconds: %s}}",
        expression.replace("%", "%%"),
    )
    text = dedent(POD) + "---" + dedent(policy % "pods") + dedent(BINDING)
    (pod,) = plan_files({"shop.yaml": text}, user_facts(mesh=["none"])).pods
    assert pod.plan is not None
    named = [text for text in map(str, pod.plan.assumptions) if "sidecar-drain" in text]
    assert "not applied" in named[0]


@pytest.mark.parametrize(
    ("condition", "written", "grace"),
    [
        (">50", "120", "50s"),
        (">50", "50", "50s"),
        (">=50", "50", "50s"),
        (">50", "40", "40s"),
        (">50", "", "30s"),  # the API server has set the default before
        ("<60", "", "50s"),
        ("60-200", "120", "50s"),
        ("60!-200", "120", "120s"),
        ("!120", "120", "120s"),
        ("<10 | >100", "120", "50s"),
        (">10 & <100", "120", "120s"),
        ("1??", "120", "50s"),
    ],
)
def test_a_condition_compares_the_pods_own_field(condition: str, written: str, grace: str) -> None:
    patch = (
        f'patchStrategicMerge: {{spec: {{(terminationGracePeriodSeconds): "{condition}", '
        "terminationGracePeriodSeconds: 50}}"
    )
    spec = f"terminationGracePeriodSeconds: {written}, " if written else ""
    pod = POD.replace("spec: {containers", f"spec: {{{spec}containers")
    assert f" {grace} " in applied(kyverno(patch), pod).grace.replace("2m ", "120s ")


@pytest.mark.parametrize(
    "condition", [">1h", ">50Mi", "1h-2h", "> {{ x }}", ">", "|".join("a" * 200)]
)
def test_a_condition_that_is_not_certain_is_named(condition: str) -> None:
    patch = (
        f'patchStrategicMerge: {{spec: {{(terminationGracePeriodSeconds): "{condition}", '
        "terminationGracePeriodSeconds: 50}}"
    )
    (planned,) = plan_files({"pod.yaml": POD, "policy.yaml": kyverno(patch)}).pods
    assert planned.plan is not None
    assert any("may change" in each.text for each in planned.plan.assumptions)


def test_check_names_webhooks_that_are_not_applied(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        dedent("""
        apiVersion: admissionregistration.k8s.io/v1
        kind: MutatingWebhookConfiguration
        metadata: {name: add-prestop}
        webhooks:
          - name: prestop.example.com
            rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods]}]
        ---
        apiVersion: v1
        kind: Pod
        metadata: {name: shop}
        spec: {containers: [{name: app, image: "shop/app:1"}]}
        """)
    )
    _, out, _ = run("check", str(tmp_path))
    name = "MutatingWebhookConfiguration add-prestop"
    assert f"not applied: {name}, which may change 1 workload" in out
