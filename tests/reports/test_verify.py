"""Test plans: which requests they have, and scripts that nothing in a manifest can change."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from shutdownlint.shutdown.durations import ZERO, seconds
from shutdownlint.verification.plan import Expectation, expectation, plan_verification
from tests.helpers import plan_pod_text, run, served, user_facts

if TYPE_CHECKING:
    from pathlib import Path

SHOP = served(sleep=3)
NAMES = (
    "x'; touch pwned; '",
    "$(touch pwned)",
    "`touch pwned`",
    'a"\ntouch pwned\n#',
    "*/ alert(1) //",
)


def planned(text: str, **facts: str) -> list[tuple[float, float, str, str | None]]:
    """Arrival, duration, and what is expected before and after, of each request."""
    plan = plan_verification(plan_pod_text(text, user_facts(mesh=["none"], **facts)))
    assert plan is not None
    return [
        (
            each.request.arrival.total_seconds(),
            each.request.duration.total_seconds(),
            str(expectation(each.before)),
            None if each.after is None else str(expectation(each.after)),
        )
        for each in plan.requests
    ]


def test_requests_lie_at_the_borders_of_what_is_lost() -> None:
    found = planned(SHOP, propagation="9s")
    assert (0, 29, "served", "served") in found
    assert (0, 31, "lost", "lost") in found
    # The delay of 3 s, and the 9 s for which requests arrive.
    assert (2, 1, "served", "served") in found
    assert (4, 1, "lost", "served") in found
    assert (8, 1, "lost", "served") in found
    assert (10, 1, "lost", "lost") in found


def test_without_anything_to_change_there_is_one_prediction() -> None:
    text = SHOP.replace("seconds: 3", "seconds: 9")
    assert all(after is None for _, _, _, after in planned(text, propagation="9s"))


def test_no_request_hangs_on_less_than_half_a_second() -> None:
    for pre_stop in range(0, 30, 3):
        pod = plan_pod_text(SHOP.replace("seconds: 3", f"seconds: {pre_stop}"))
        plan = plan_verification(pod)
        assert plan is not None
        assert plan.requests
        for each in plan.requests:
            assert expectation(each.before) in Expectation
            assert each.request.duration > ZERO


def test_how_much_a_rollout_loses() -> None:
    plan = plan_verification(plan_pod_text(SHOP, user_facts(mesh=["none"], propagation="9s")))
    assert plan is not None
    assert plan.solution is not None
    for lost in plan.lost:
        # Those that arrive from 3 s to 9 s, to the step of the samples.
        assert abs(lost.before - seconds(6)) < seconds(0.5)
        assert lost.after == ZERO


def test_what_cannot_be_tested_is_named(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, namespace: shop}\n"
        "spec: {template: {spec: {restartPolicy: Never, containers: [{name: app, image: 'i:1'}]}}}\n"
    )
    code, out, err = run("verify", str(tmp_path), "--isolated")
    assert (code, out) == (2, "")
    assert "Job shop/j: no test: it serves no requests" in err
    assert "no complete pod template" not in err


def tried(folder: Path, output_format: str) -> int:
    """Return the exit code of a script's syntax check, or of a run that finds no pod."""
    script, kubectl = folder / "script.mjs", folder / "kubectl"
    kubectl.write_text("#!/bin/sh\nexit 1\n")
    kubectl.chmod(0o755)
    if output_format == "k6" and shutil.which("node") is None:
        pytest.skip("node is not installed")
    command = ["sh", str(script)] if output_format == "shell" else ["node", "--check", str(script)]
    environment = {"KUBECTL": str(kubectl), "REQUEST_PATH": "/%s", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    assert not (folder / "pwned").exists()
    return done.returncode


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("output_format", ["shell", "k6"])
def test_names_of_containers_are_text_in_a_script(
    name: str, output_format: str, tmp_path: Path
) -> None:
    text = SHOP.replace("name: app", f"name: {json.dumps(name)}")
    (tmp_path / "shop.yaml").write_text(text)
    script = tmp_path / "script.mjs"
    given = ["--isolated", "--format", output_format, "-o", str(script)]
    assert run("verify", str(tmp_path / "shop.yaml"), *given)[0] == 0
    assert tried(tmp_path, output_format) == (2 if output_format == "shell" else 0)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("namespace: shop", "namespace: --all-namespaces", "its name is no name of Kubernetes"),
        ("name: shop", "name: --all", "its name is no name of Kubernetes"),
        ("name: shop", "name: '$(id)'", "its name is no name of Kubernetes"),
        ("app: shop", "app: 'a,b'", "a label of its template is no label of Kubernetes"),
        ("app: shop", "app: '${VERSION}'", "a label of its template is no label of Kubernetes"),
        ("app: shop", "'k,y in (a)': shop", "a label of its template is no label of Kubernetes"),
    ],
)
def test_what_would_delete_something_else_is_in_no_script(
    old: str, new: str, why: str, tmp_path: Path
) -> None:
    (tmp_path / "shop.yaml").write_text(SHOP.replace(old, new))
    code, out, err = run("verify", str(tmp_path / "shop.yaml"), "--isolated")
    assert (code, out) == (2, "")
    assert f"no test: {why}" in err


@pytest.mark.parametrize(
    ("ports", "target", "port"),
    [
        ("{name: metrics, containerPort: 9090}, {name: http, containerPort: 3000}", "3000", 3000),
        ("{name: metrics, containerPort: 9090}, {name: http, containerPort: 3000}", "http", 3000),
        ("{name: metrics, containerPort: 9090}, {name: http, containerPort: 3000}", None, 3000),
        ("{containerPort: 8081}", None, 8081),
        ("", None, None),
        ("{name: metrics, containerPort: 9090}", None, None),
    ],
)
def test_the_port_is_that_of_the_service(
    ports: str, target: str | None, port: int | None, tmp_path: Path
) -> None:
    text = SHOP.replace("{containerPort: 8080}", ports)
    if target is None:
        text = text.partition("---\n")[2]
    else:
        text = text.replace("targetPort: 8080", f"targetPort: {target}")
    (tmp_path / "shop.yaml").write_text(text)
    out = run("verify", str(tmp_path), "--isolated")[1]
    expected = (
        f"${{ADDRESS:-$ip:{port}}}" if port else "${PORT:?the port that requests are sent to}"
    )
    assert expected in out


@pytest.mark.parametrize(
    ("answer", "environment", "why"),
    [
        ("404 1.0", {}, "a request of 1s should be answered after 1s: HTTP 404"),
        ("200 0.001", {}, "a request of 1s should be answered after 1s: HTTP 200, curl 0, 0.001s"),
        ("200 1.0", {"EXPECT": "After"}, "EXPECT is before or after"),
        ("200 1.0", {"REQUEST_PATH": "/"}, "REQUEST_PATH has no %s"),
        ("200 1.0", {"CURL": "/nonexistent/curl"}, "curl 127"),
    ],
)
def test_a_test_that_tests_nothing_ends(
    answer: str, environment: dict[str, str], why: str, tmp_path: Path
) -> None:
    (tmp_path / "shop.yaml").write_text(SHOP)
    run("verify", str(tmp_path / "shop.yaml"), "--isolated", "-o", str(tmp_path / "v.sh"))
    for name, text in (("kubectl", "echo shop"), ("curl", f"echo {answer}")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    given = {
        "KUBECTL": str(tmp_path / "kubectl"),
        "CURL": str(tmp_path / "curl"),
        "REQUEST_PATH": "/%s",
        "PATH": "/usr/bin:/bin",
        **environment,
    }
    command = ["sh", str(tmp_path / "v.sh")]
    done = subprocess.run(command, env=given, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert why in done.stderr


def test_several_workloads_are_no_test_for_k6(tmp_path: Path) -> None:
    other = SHOP.replace("name: shop", "name: other").replace("app: shop", "app: other")
    (tmp_path / "shop.yaml").write_text(f"{SHOP}---\n{other}")
    code, out, err = run("verify", str(tmp_path), "--isolated", "--format", "k6")
    assert (code, out) == (2, "")
    assert "is for one workload" in err
    assert run("verify", str(tmp_path), "other", "--isolated", "--format", "k6")[0] == 0


def test_requests_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(SHOP)
    given = ["verify", str(tmp_path), "--isolated", "--mesh", "none"]
    code, out, _ = run(*given, "--request", "7s", "--request", "2s@4s")
    assert code == 0
    assert [line for line in out.splitlines() if line.startswith("send ")] == [
        "send 1 0 8 23 &",
        "send 2 4 2 17 &",
    ]
    assert (
        "# restart it under load: kubectl rollout restart deployment/shop --namespace shop" in out
    )
    assert run(*given, "--request", "soon")[0] == 2


def test_pods_without_labels_are_in_no_script(tmp_path: Path) -> None:
    text = SHOP.replace("labels: {app: shop}", "annotations: {a: b}")
    text = text.replace("  selector: {matchLabels: {app: shop}}\n", "")
    (tmp_path / "shop.yaml").write_text(text)
    code, out, err = run("verify", str(tmp_path / "shop.yaml"), "--isolated")
    assert (code, out) == (2, "")
    assert "no test: its template has no labels" in err
