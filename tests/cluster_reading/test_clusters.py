"""``--cluster``: what is asked of an API server, and what becomes of its answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from shutdownlint import limits
from shutdownlint.cluster.inputs import wanted_kinds
from tests.cluster_reading.server import FakeServer, serving
from tests.helpers import run

if TYPE_CHECKING:
    from collections.abc import Iterator


def workload(name: str, namespace: str = "shop") -> list[dict[str, Any]]:
    labels = {"app": name}
    container = {"name": "app", "image": "x/y:1", "ports": [{"containerPort": 80}]}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    return [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": namespace, "managedFields": [{"x": 1}]},
            "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": template},
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"selector": labels, "ports": [{"port": 80}]},
        },
    ]


OBJECTS: list[dict[str, Any]] = [
    {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "shop", "labels": {"istio-injection": "disabled"}},
    },
    {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "shop"}},
    *(each for number in range(5) for each in workload(f"web{number}")),
]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    monkeypatch.chdir(tmp_path)
    with serving(FakeServer(OBJECTS)) as found:
        write_kubeconfig(found)
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
        yield found


def write_kubeconfig(server: FakeServer, user: dict[str, Any] | None = None) -> None:
    entry = {"cluster": "c", "user": "u"}
    config = {
        "current-context": "prod",
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.port}"}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "prod", "context": entry}, {"name": "other", "context": entry}],
    }
    Path("kubeconfig").write_text(json.dumps(config))


def check(*options: str) -> tuple[int, list[tuple[str, str]], str]:
    code, out, err = run("check", "--cluster", "current", "--format", "json", *options)
    found = json.loads(out)["findings"] if out.startswith("{") else []
    return code, sorted((f["rule"], (f["workload"] or {}).get("name", "")) for f in found), err


def test_the_same_findings_as_of_a_dump(server: FakeServer) -> None:
    code, found, _ = check()
    assert code == 1
    assert ("SL108", "web3") in found
    dump = {"apiVersion": "v1", "kind": "List", "items": OBJECTS}
    Path("dump.json").write_text(json.dumps(dump))
    _, out, _ = run("check", "dump.json", "--format", "json")
    of_dump = sorted(
        (f["rule"], (f["workload"] or {}).get("name", "")) for f in json.loads(out)["findings"]
    )
    assert found == of_dump
    assert all(method == "GET" for method, _ in server.asked)
    assert not any("secrets" in path for _, path in server.asked)
    assert not any("watch" in path for _, path in server.asked)
    assert sum("/deployments?" in path for _, path in server.asked) == 3


def test_secrets_are_never_wanted() -> None:
    assert ("", "Secret") not in wanted_kinds()
    assert not any(kind.endswith("Secret") for group, kind in wanted_kinds() if not group)


def test_a_kind_that_is_forbidden_is_named(server: FakeServer) -> None:
    server.forbidden.add("configmaps")
    code, found, _ = check()
    assert code == 2
    assert ("SL108", "web3") in found
    out = run("check", "--cluster", "prod")[1]
    assert "prod/ConfigMap" in out
    assert "not listed: forbidden" in out


@pytest.mark.parametrize("fault", ["gone once", "gone", "no JSON", "the same page"])
def test_a_list_that_goes_wrong_is_named_or_read_again(server: FakeServer, fault: str) -> None:
    server.faults["services"] = fault
    code, found, _ = check()
    again = fault == "gone once"
    assert (code, ("SL001", "") in found, ("SL108", "web3") in found) == (
        2 - again,
        not again,
        again,
    )


def test_pages_without_end(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_CLUSTER_REQUESTS", 30)
    server.faults["pods"] = "endless"
    code, _, err = check()
    assert (code, "pages without end" in err) == (2, True)


def test_a_server_that_is_slow(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_CLUSTER_SECONDS", 0.2)
    server.faults["pods"] = "slow"
    code, _, err = check()
    assert (code, "no answer within 0.2s" in err) == (2, True)


def test_credentials(server: FakeServer, tmp_path: Path) -> None:
    server.token = "secret"
    code, _, err = check()
    assert (code, "its credentials are refused" in err) == (2, True)
    (tmp_path / "token").write_text("secret\n")
    for user in ({"token": "secret"}, {"tokenFile": "token"}):
        write_kubeconfig(server, user)
        assert check()[0] == 1


def test_a_program_is_run_only_where_it_is_allowed(server: FakeServer, tmp_path: Path) -> None:
    server.token = "made"
    plugin = tmp_path / "plugin"
    plugin.write_text('#!/bin/sh\ntouch ran\necho \'{"status": {"token": "made"}}\'\n')
    plugin.chmod(0o700)
    exec_plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin)}
    write_kubeconfig(server, {"exec": exec_plugin})
    code, _, err = check()
    assert (code, "--allow-exec" in err, Path("ran").exists()) == (2, True, False)
    assert check("--allow-exec")[0] == 1
    assert Path("ran").exists()


def test_contexts(server: FakeServer) -> None:
    code, _, err = run("check", "--cluster", "nowhere")
    assert (code, "it has: other, prod" in err) == (2, True)
    code, _, err = run("check", "--cluster", "prod", "--cluster", "prod")
    assert (code, "named twice" in err) == (2, True)
    assert server.asked


def test_the_current_folder_is_not_read(server: FakeServer) -> None:
    Path("pod.yaml").write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: own}\nspec: {containers: [{name: a, image: b}]}\n"
    )
    code, out, _ = run("explain", "--cluster", "current", "--summary")
    assert (code, "web3" in out, "own" in out) == (0, True, False)
    assert server.asked
