"""Details of platforms that a small change of the code would break without another test to notice."""

from __future__ import annotations

import pytest

from shutdownlint.platforms.programs.detect import ProgramFacts
from shutdownlint.platforms.versions import Version, VersionRange
from shutdownlint.shutdown.durations import DurationRange, seconds
from tests.helpers import (
    check_text,
    plan_files,
    plan_of,
    plan_pod_text,
    rule_lines,
    user_facts,
)
from tests.platforms.istio.proxies import proxy_of

INJECTED = (
    "apiVersion: v1\nkind: Namespace\n"
    "metadata: {name: shop, labels: {istio-injection: enabled}}\n---\n"
)


def pod(container: str, spec: str = "", annotations: str = "") -> str:
    return (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: web, annotations: {{{annotations}}}}}\n"
        f"spec:\n  {spec}\n  containers:\n    - {{name: app, image: 'shop/web:1', {container}}}\n"
    )


def program(container: str, more: str = "") -> ProgramFacts:
    noted = plan_pod_text(pod(container) + more).container_facts["app"]
    found: ProgramFacts = noted[ProgramFacts]
    return found


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("<1.26", ["1.25.9"], ["1.26.0"]),
        ("<=1.26", ["1.26.0", "1.25.9"], ["1.26.1"]),
        (">1.26", ["1.26.1"], ["1.26.0"]),
        (">=1.26.3", ["1.26.3"], ["1.26.2"]),
        ("<1.12 || >=1.13,<1.14", ["1.11.0", "1.13.5"], ["1.12.0", "1.14.0"]),
    ],
)
def test_the_ends_of_a_range_of_versions(text: str, inside: list[str], outside: list[str]) -> None:
    found = VersionRange.parse(text)
    assert [v for v in inside if Version.parse(v) not in found] == []
    assert [v for v in outside if Version.parse(v) in found] == []


def test_a_bound_without_a_patch_is_the_first_release() -> None:
    assert VersionRange.parse(">=1.26").bounds == {Version(1, 26, 0)}


@pytest.mark.parametrize(
    ("variable", "duration"),
    [
        ("{name: WAIT, value: '7'}", DurationRange.exact(seconds(7))),
        ("{name: WAIT, value: '$(OTHER)'}", None),
        ("{name: WAIT, valueFrom: {fieldRef: {fieldPath: metadata.name}}}", None),
        ("{name: OTHER, value: '7'}", None),
    ],
)
def test_a_sleep_by_a_variable(variable: str, duration: DurationRange | None) -> None:
    hook = 'lifecycle: {preStop: {exec: {command: [sh, -c, "sleep $WAIT"]}}}'
    found = plan_of(pod(f"{hook}, env: [{variable}]")).container("app").hook.duration.value
    assert found.known == (duration is not None)
    assert duration is None or found == duration


def test_the_mode_of_springs_shutdown_shows_spring_alone() -> None:
    config = "env: [{name: SERVER_SHUTDOWN, value: graceful}]"
    java = f"command: [java, -Dserver.shutdown=graceful, -jar, app.jar], {config}"
    assert program(java).frameworks[0].name == "Spring Boot"


def test_a_fraction_of_a_second_is_a_limit_where_the_program_takes_one() -> None:
    found = program("command: [hypercorn, --graceful-timeout, '2.5', 'shop:app']")
    assert found.finish_within is not None
    assert found.finish_within.value == seconds(2.5)
    vllm = program("command: [vllm, serve, m, --shutdown-timeout, '2.5']")
    assert vllm.finish_within is None


@pytest.mark.parametrize(("timeout", "reported"), [("20", True), ("5", False)])
def test_the_limit_of_a_server_that_its_hook_drains_is_part_of_its_budget(
    timeout: str, reported: bool
) -> None:
    command = f"[kong, quit, --wait=15, --timeout={timeout}]"
    container = f"command: [kong, start], lifecycle: {{preStop: {{exec: {{command: {command}}}}}}}"
    found = [rule for rule, _ in rule_lines(check_text(pod(container)).findings)]
    assert ("SL124" in found) == reported


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("[app, run.dll]", "app"),
        ("[dotnet, shop.dll]", "shop.dll"),
        ("[zebra, x.dll]", "zebra"),
    ],
)
def test_the_name_of_an_unknown_program(command: str, name: str) -> None:
    found = plan_of(pod(f"command: {command}")).assumptions
    assert any(str(each).startswith(f"{name} is assumed") for each in found), found


@pytest.mark.parametrize(
    ("command", "killed"),
    [
        ("[runuser, -u, web, --, gunicorn, 'shop:app']", True),
        ("[su, web, -c, 'gunicorn shop:app']", True),
        # ``su`` takes what follows for a user and a shell's arguments.
        ("[su, --, gunicorn, 'shop:app']", False),
    ],
)
def test_what_su_and_its_like_start(command: str, killed: bool) -> None:
    container = plan_of(pod(f"command: {command}")).container("app")
    assert any(wrapper.kills_after is not None for wrapper in container.wrappers) == killed


def test_an_inherited_value_of_linkerd_is_not_reported_for_each_pod() -> None:
    namespace = (
        "apiVersion: v1\nkind: Namespace\n"
        "metadata: {name: shop, annotations: {linkerd.io/inject: bogus}}\n---\n"
    )
    text = pod("env: []").replace("{name: web,", "{name: web, namespace: shop,")
    (alone,) = [rule_lines(check_text(namespace).findings)]
    both = rule_lines(check_text(namespace + text).findings)
    assert [f for f in both if f[0] == "SL408"] == [f for f in alone if f[0] == "SL408"]
    own = pod("env: []", annotations="linkerd.io/inject: bogus")
    assert "SL408" in [rule for rule, _ in rule_lines(check_text(own).findings)]


PATCH = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: grace}
spec:
  rules:
  - name: grace
    match: {any: [{resources: {kinds: [Pod]}}]}
    mutate:
      patchesJson6902: %s
---
"""


def test_a_patch_replaces_what_has_a_default() -> None:
    patch = '"[{op: replace, path: /spec/terminationGracePeriodSeconds, value: 45}]"'
    plan = plan_of(PATCH % patch + pod("env: []"))
    assert plan.grace.value == DurationRange.exact(seconds(45))


@pytest.mark.parametrize(
    "patch",
    [
        "[{op: add, path: /spec/terminationGracePeriodSeconds, value: 45}]",
        '"[{op: replace, path: /spec/shutdownWord, value: 45}]"',
        '"{{ terminationGracePeriodSeconds }}"',
    ],
)
def test_a_patch_that_cannot_be_read_is_an_assumption(patch: str) -> None:
    text = PATCH % patch.replace("shutdownWord", "x/terminationGracePeriodSeconds")
    planned = plan_pod_text(text + pod("env: []"))
    assert planned.plan is not None
    assert planned.plan.grace.value == DurationRange.exact(seconds(30))
    assert any("grace" in str(each) for each in planned.plan.assumptions)


def test_the_kinds_of_a_gatekeeper_policy_are_where_its_kind_has_them() -> None:
    policy = (
        "apiVersion: mutations.gatekeeper.sh/v1\nkind: AssignMetadata\nmetadata: {name: a}\n"
        "spec:\n  match: {kinds: [{apiGroups: ['*'], kinds: [KIND]}]}\n"
        '  location: metadata.annotations."sidecar.istio.io/inject"\n'
        "  parameters: {assign: {value: 'false'}}\n---\n"
    )
    text = pod("env: []").replace("{name: web,", "{name: web, namespace: shop,")
    facts = user_facts(istio="1.26")
    injected = plan_pod_text(INJECTED + text, facts).plan
    assert injected is not None
    assert len(injected.proxies) == 1
    for kind, proxies in (("Pod", 0), ("Service", 1)):
        planned = plan_pod_text(INJECTED + policy.replace("KIND", kind) + text, facts).plan
        assert planned is not None
        assert len(planned.proxies) == proxies


GATEKEEPER = """\
apiVersion: mutations.gatekeeper.sh/v1
kind: Assign
metadata: {name: grace}
spec:
  applyTo: [{groups: [""], kinds: [Pod], versions: [v1]}]
  location: spec.terminationGracePeriodSeconds
  parameters: {assign: {value: 45}%s}
---
"""


@pytest.mark.parametrize(
    ("more", "grace"),
    [
        ("", 45),
        (", pathTests: []", 45),
        (", pathTests: [{subPath: spec, condition: MustExist}]", 30),
        (", assignIf: {in: [1]}", 30),
    ],
)
def test_what_gatekeeper_assigns_without_a_condition(more: str, grace: int) -> None:
    plan = plan_of(GATEKEEPER % more + pod("env: []"))
    assert plan.grace.value == DurationRange.exact(seconds(grace))


ISTIOD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: istiod, namespace: istio-system}
spec:
  template:
    metadata: {labels: {app: istiod}}
    spec:
      containers:
        - name: discovery
          image: docker.io/istio/pilot:1.24.1
          env: [{name: ENABLE_NATIVE_SIDECARS, value: "true"}]
---
"""
ISTIOD_POD = """\
apiVersion: v1
kind: Pod
metadata: {name: istiod, namespace: istio-system}
spec:
  containers:
    - name: discovery
      image: docker.io/istio/pilot:1.24.1
      env: [{name: ENABLE_NATIVE_SIDECARS, value: "true"}]
---
"""


@pytest.mark.parametrize("istiod", [ISTIOD, ISTIOD_POD])
def test_the_environment_of_istiod_says_whether_sidecars_are_native(istiod: str) -> None:
    text = pod("env: []").replace("{name: web,", "{name: web, namespace: shop,")
    run = plan_files({"a.yaml": istiod + INJECTED + text})
    (planned,) = [each for each in run.pods if each.id.name == "web"]
    proxy = proxy_of(planned)
    assert proxy is not None
    assert proxy.native
    place = proxy.mode.origin.location
    assert place is not None
    assert place.region().line == next(
        number for number, line in enumerate(istiod.splitlines(), 1) if "ENABLE_NATIVE" in line
    )


def test_the_hook_of_the_mesh_replaces_the_drain_of_a_native_sidecar() -> None:
    mesh = (
        "apiVersion: install.istio.io/v1alpha1\nkind: IstioOperator\nmetadata: {name: mesh}\n"
        "spec: {values: {global: {proxy: {lifecycle: %s}}}}\n---\n"
    )
    annotation = 'sidecar.istio.io/nativeSidecar: "true"'
    text = pod("env: []", annotations=annotation).replace(
        "{name: web,", "{name: web, namespace: shop,"
    )
    for lifecycle, drains in (("{}", True), ("{postStart: {exec: {command: [a]}}}", False)):
        files = {"a.yaml": mesh % lifecycle + INJECTED + text}
        (planned,) = plan_files(files, user_facts(istio="1.26")).pods
        proxy = proxy_of(planned)
        assert proxy is not None
        assert proxy.drain_hook == drains


@pytest.mark.parametrize(
    ("header", "reported"), [("k-kubelet-probe", False), ("K-Kubelet-Probe", False), ("x", True)]
)
def test_a_server_of_knative_goes_on_until_no_request_comes(header: str, reported: bool) -> None:
    probe = (
        f"readinessProbe: {{httpGet: {{port: 80, httpHeaders: [{{name: {header}, value: w}}]}}}}"
    )
    found = check_text(pod(probe)).findings
    assert ("SL108" in [finding.rule for finding in found]) is reported
