from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from shutdownlint import __version__
from shutdownlint.cli.app import command_line

RUN = CliRunner()

BAD = """\
apiVersion: v1
kind: Pod
metadata: {name: shop}
spec:
  containers:
    - name: app
      image: shop/app:1
      lifecycle: {preStop: {exec: {command: [sleep, "30"]}}}
"""
GOOD = BAD.replace('"30"', '"10"')


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(".git").mkdir()
    Path("good.yaml").write_text(GOOD)
    Path("bad.yaml").write_text(BAD)


def invoke(*arguments: str, stdin: str | None = None) -> tuple[int, str, str]:
    result = RUN.invoke(command_line(), list(arguments), input=stdin)
    return result.exit_code, result.stdout, result.stderr


def shell(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "shutdownlint", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, check=False)


def test_exit_codes() -> None:
    assert invoke("check", "good.yaml")[0] == 0
    assert invoke("check", "bad.yaml")[0] == 1
    assert invoke("check", "missing.yaml")[0] == 2
    assert invoke("check", "bad.yaml", "--fail-on", "never")[0] == 0
    Path("broken.yaml").write_text("apiVersion: v1\nkind: Pod\nx: [containers\n")
    assert invoke("check", "broken.yaml", "good.yaml")[0] == 2
    assert invoke("check", "good.yaml", "--p99", "10")[0] == 2
    assert invoke("check", "good.yaml", "--no-such-option")[0] == 2


def test_standard_input() -> None:
    done = shell("check", "--format", "concise", "-", stdin=BAD.encode())
    assert done.returncode == 1
    assert done.stdout.startswith(b"<stdin>:8:53: error SL102")
    full = shell("check", "-", stdin=BAD.encode()).stdout.decode()
    assert '8 |       lifecycle: {preStop: {exec: {command: [sleep, "30"]}}}' in full


def test_only_the_report_on_stdout() -> None:
    mesh = BAD.replace("{name: shop}", "{name: shop, labels: {sidecar.istio.io/inject: 'true'}}")
    Path("mesh.yaml").write_text(mesh)
    code, out, err = invoke("check", "mesh.yaml", "--format", "json")
    assert code == 1
    json.loads(out)
    assert "Istio's version is not known" in err


def test_no_colours_when_unknown_name_looks() -> None:
    done = shell("check", "bad.yaml")
    assert b"\x1b[" not in done.stdout + done.stderr


def test_version() -> None:
    for flag in ("--version", "-V"):
        assert shell(flag).stdout == f"shutdownlint {__version__}\n".encode()
    assert invoke("--version")[1] == f"shutdownlint {__version__}\n"


def test_help_teaches() -> None:
    code, out, _ = invoke("--help")
    assert code == 0
    for word in ("check", "explain", "rule", "Exit codes"):
        assert word in out
    assert "[tool.shutdownlint]" in " ".join(invoke("check", "--help")[1].split())


def test_select_ignore_and_notes() -> None:
    assert invoke("check", "bad.yaml", "--ignore", "SL102")[0] == 0
    assert invoke("check", "bad.yaml", "--select", "SL2")[0] == 0
    assert invoke("check", "bad.yaml", "--select", "SL1", "--ignore", "SL1")[0] == 0
    assert invoke("check", "bad.yaml", "--select", "SL102", "--ignore", "SL1")[0] == 1
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: {a: b}}\n"
    pod += "spec: {containers: [{name: c, image: i, ports: [{containerPort: 80}]}]}\n"
    Path("note.yaml").write_text(pod)
    code, out, _ = invoke("check", "note.yaml")
    assert (code, "note[SL108]" in out) == (0, False)
    assert "1 note (no-delay-for-late-requests 1): --notes" in out
    assert "note[SL108]" in invoke("check", "note.yaml", "--select", "SL108")[1]
    assert "note[SL108]" not in invoke("check", "note.yaml", "--select", "SL1")[1]
    assert "note[SL108]" in invoke("check", "note.yaml", "--fail-on", "note")[1]
    code, out, _ = invoke("check", "note.yaml", "--notes")
    assert (code, "note[SL108]" in out) == (0, True)
    assert invoke("check", "note.yaml", "--notes", "--fail-on", "note")[0] == 1


def test_output_goes_to_a_file_whole_or_not_at_all() -> None:
    code, out, _ = invoke("check", "bad.yaml", "--format", "sarif", "--output", "x.sarif")
    assert (code, out.splitlines()[-1]) == (1, "1 error; 1 workload in 1 document of 1 file")
    assert json.loads(Path("x.sarif").read_text())["version"] == "2.1.0"
    assert invoke("check", "bad.yaml", "--output", "nowhere/x.txt")[0] == 2
    assert sorted(p.name for p in Path().iterdir() if p.name.startswith(".x")) == []


def test_paths_are_told_as_given(tmp_path: Path) -> None:
    for argument, expected in (
        ("bad.yaml", "bad.yaml"),
        ("./bad.yaml", "./bad.yaml"),
        (".", "bad.yaml"),
        (str(tmp_path), f"{tmp_path}/bad.yaml"),
    ):
        data = json.loads(invoke("check", argument, "--format", "json")[1])
        assert [f["file"] for f in data["findings"]] == [expected]


def test_configuration() -> None:
    Path("shutdownlint.toml").write_text(
        'p99 = "25s"\nexclude = ["bad.yaml"]\n[[workloads]]\nmatch = "Pod/*/shop"\np99 = "1s"\n'
    )
    assert invoke("check")[0] == 0
    assert invoke("check", "--p99", "25s")[0] == 1
    Path("shutdownlint.toml").write_text('p99 = "25s"\n')
    code, out, _ = invoke("check", "good.yaml", "--format", "concise")
    assert (code, "SL101" in out, "25s" in out) == (1, True, True)
    Path("shutdownlint.toml").write_text('[severity]\nSL102 = "note"\n')
    assert invoke("check")[0] == 0
    Path("shutdownlint.toml").unlink()
    Path("pyproject.toml").write_text('[tool.shutdownlint]\nignore = ["SL102"]\n')
    assert invoke("check")[0] == 0


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("p99 = 10", "p99: must be a duration"),
        ("p98 = '10s'", "p98: is not a setting"),
        ("istio-version = 'new'", "istio-version: 'new' is not a version"),
        ("[[workloads]]\nmatch = 'a'\napp = 'rude'", "workloads.0.app"),
        ("p99 = ", "Invalid value"),
    ],
)
def test_mistakes_in_the_configuration(text: str, part: str) -> None:
    Path("shutdownlint.toml").write_text(text)
    code, out, err = invoke("check")
    assert (code, out) == (2, "")
    assert part in err


def test_context_is_read_but_not_checked() -> None:
    Path("mesh").mkdir()
    Path("mesh/ns.yaml").write_text(
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: side, labels: {istio-injection: enabled}}\n---\n"
        + BAD
    )
    Path("mesh/config.yaml").write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: istio}\n"
        "data: {mesh: 'defaultConfig: {drainDuration: 5}'}\n"
    )
    pod = BAD.replace("{name: shop}", "{name: shop, namespace: side}").replace('"30"', '"9"')
    Path("pod.yaml").write_text(pod)
    assert invoke("check", "pod.yaml")[0] == 0
    code, out, _ = invoke(
        "check", "pod.yaml", "--context", "mesh", "--istio-version", "1.26", "--format", "json"
    )
    assert code == 1
    assert [f["rule"] for f in json.loads(out)["findings"]] == ["SL201"]


def test_explain_draws_and_answers() -> None:
    code, out, _ = invoke("explain", "good.yaml", "--request", "10s", "--request", "1s@12s")
    assert code == 0
    for part in (
        "Pod shop",
        "in flight",
        "requests of up to 30s",
        "served, done at 10s",
        "refused",
    ):
        assert part in out


def test_explain_one_workload() -> None:
    other = GOOD.replace("name: shop", "name: other, namespace: side")
    Path("good.yaml").write_text(GOOD + "---\n" + other)

    def names(*arguments: str) -> list[str]:
        out = invoke("explain", *arguments, "--format", "json")[1]
        return [w["workload"]["name"] for w in json.loads(out)["workloads"]]

    assert names("good.yaml") == ["shop", "other"]
    for pattern in ("other", "side/other", "Pod/other", "Pod/side/other", "*/oth*"):
        assert names("good.yaml", pattern) == ["other"]
    assert invoke("explain", "good.yaml", "no-such-name")[0] == 2


def test_explain_keeps_its_contract() -> None:
    code, out, _ = invoke("explain", "good.yaml", "--request", "2s@4s", "--format", "json")
    data = json.loads(out)
    assert (code, data["version"]) == (0, 1)
    (workload,) = data["workloads"]
    assert workload["workload"] == {"kind": "Pod", "namespace": None, "name": "shop"}
    assert (workload["file"], workload["line"]) == ("good.yaml", 1)
    headroom = workload["headroom"]
    assert (headroom["in_flight"], headroom["late"], headroom["late_at"]) == (30.0, 20.0, 10.0)
    assert headroom["cause"] == "terminationGracePeriodSeconds 30s (the Kubernetes default)"
    assert workload["requests"] == [
        {
            "direction": "inbound",
            "arrival": 4.0,
            "duration": 2.0,
            "reused": False,
            "stream": False,
            "outcome": "ok",
            "at": 6.0,
            "client_sees": "answer",
            "status": None,
            "retried": None,
            "cause": "",
            "doubt": None,
            "probability": None,
            "alternatives": [
                {
                    "when": "behind a classic Istio sidecar",
                    "outcome": "cut",
                    "at": 5.0,
                    "how_to_say": "set --mesh istio, linkerd, consul, kuma or none",
                }
            ],
        }
    ]
    assert workload["assumed"][0].startswith("the program of image app is assumed to be graceful")
    assert {frozenset(event) for event in workload["events"]} == {
        frozenset(("at", "container", "kind", "text", "cause"))
    }
    assert invoke("explain", "good.yaml", "--request", "soon")[0] == 2


def test_rule_pages() -> None:
    code, out, _ = invoke("rule")
    assert code == 0
    assert "SL101  error    grace-too-short" in out
    page = invoke("rule", "sl102")[1]
    assert page.startswith("# SL102 The preStop hook uses the whole grace period")
    assert "## Sources" in page
    assert invoke("rule", "SL999")[0] == 2


def test_a_closed_pipe_is_no_traceback() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "shutdownlint", "check", "bad.yaml"],
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("text", [None, "", "a: 1\n", "---\n# nothing\n---\n"])
def test_a_run_without_manifests_is_not_green(text: str | None) -> None:
    Path("empty").mkdir()
    if text is not None:
        Path("empty/a.yaml").write_text(text)
    code, out, _ = invoke("check", "empty")
    assert (code, out.splitlines()[-1]) == (2, "no Kubernetes manifests found")
    code, out, err = invoke("check", "--format", "json", "empty")
    assert (code, "no Kubernetes manifests found" in err) == (2, True)
    assert invoke("check", "empty", "--allow-empty")[0] == 0
    assert invoke("check", "-", "--allow-empty", stdin="")[0] == 0
    assert invoke("check", "-", stdin="")[0] == 2


def test_a_run_in_which_no_pod_could_be_checked_is_not_green() -> None:
    Path("chart/templates").mkdir(parents=True)
    Path("chart/templates/a.yaml").write_text(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: {{ .Release.Name }}}\n"
        "spec:\n  template:\n    spec:\n      containers:\n        - {name: a, image: b}\n"
    )
    for options in ((), ("--allow-empty",)):
        code, out, _ = invoke("check", "chart", *options)
        assert code == 2
        last = "nothing could be checked: unrendered Helm or Go templates (1). Render them, or "
        assert out.splitlines()[-1].startswith(last)
    Path("pod.yaml").write_text(BAD)
    assert invoke("check", ".")[0] == 1


@pytest.mark.parametrize(
    "entry",
    ["helmCharts: [{name: shop, repo: https://charts.test}]", "resources: [https://a.test/b]"],
)
def test_pods_that_come_from_elsewhere_are_not_green(entry: str) -> None:
    Path("remote").mkdir()
    Path("remote/kustomization.yaml").write_text(
        f"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n{entry}\n"
    )
    for options in ((), ("--allow-empty",)):
        code, out, _ = invoke("check", "remote", *options)
        assert code == 2
        assert out.splitlines()[-1].startswith(
            "nothing could be checked: kustomizations with charts or remote resources (1)"
        )
    Path("remote/pod.yaml").write_text(BAD)
    code, out, _ = invoke("check", "remote")
    assert code == 1
    assert "not checked: 1 kustomization of remote resources" in out


def test_objects_without_pods_are_no_findings() -> None:
    Path("a.yaml").write_text("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n")
    code, out, _ = invoke("check", "a.yaml")
    assert code == 0
    assert out.splitlines()[-1].startswith("no workloads to check; ")


@pytest.mark.parametrize(
    "options", [["--select", "SL9"], ["--ignore", "foo"], ["--select", "SL1,x"]]
)
def test_a_mistyped_rule_is_an_error(options: list[str]) -> None:
    code, out, err = invoke("check", "good.yaml", *options)
    assert (code, out) == (2, "")
    assert "unknown rule or prefix" in err


def test_commas_in_a_selection() -> None:
    assert invoke("check", "bad.yaml", "--ignore", "SL2,SL102")[0] == 0


def test_what_makes_the_run_fail_is_told_whatever_is_selected() -> None:
    Path("broken.yaml").write_text("apiVersion: v1\nkind: Pod\nx: [containers\n")
    code, out, _ = invoke("check", "broken.yaml", "--select", "SL1", "--format", "concise")
    assert code == 2
    assert "broken.yaml:4:1: error SL001" in out


def test_output_through_links_and_pipes() -> None:
    Path("real.txt").write_text("old")
    Path("link.txt").symlink_to("real.txt")
    invoke("check", "bad.yaml", "--output", "link.txt")
    assert Path("link.txt").is_symlink()
    assert "SL102" in Path("real.txt").read_text()
    assert invoke("check", "bad.yaml", "--output", "/dev/null")[0] == 1
    assert not Path("/dev/null").is_file()


@pytest.mark.parametrize("request_text", ["-2s@3s", "2s@-3s", "2s@", "@2s", ""])
def test_impossible_requests_are_refused(request_text: str) -> None:
    assert invoke("explain", "good.yaml", f"--request={request_text}")[0] == 2


def test_explain_with_idle_and_open_connections() -> None:
    mesh = GOOD.replace(
        "{name: shop}",
        "{name: shop, annotations: {proxy.istio.io/config: "
        "'proxyMetadata: {EXIT_ON_ZERO_ACTIVE_CONNECTIONS: \"true\"}'}}",
    )
    Path("mesh.yaml").write_text(mesh)
    ask = ["explain", "mesh.yaml", "--request", "1s@8s", "--istio-version", "1.26"]
    assert "served in 25% of cases" in invoke(*ask, "--open-connections", "0.69315")[1]
    assert "refused at 8s" in invoke(*ask, "--open-connections", "0")[1]
    assert "served, done at 9s" in invoke(*ask, "--idle-connections", "1")[1]


def test_a_placeholder_grace_period_has_no_timeline() -> None:
    Path("ph.yaml").write_text(
        GOOD.replace("spec:", "spec:\n  terminationGracePeriodSeconds: ${G}")
    )
    out = invoke("explain", "ph.yaml")[1]
    assert "no timeline without the grace period" in out
    (workload,) = json.loads(invoke("explain", "ph.yaml", "--format", "json")[1])["workloads"]
    assert (workload["events"], workload["headroom"]["in_flight"]) == ([], None)


def test_a_native_proxy_is_drawn_as_long_as_its_app() -> None:
    native = GOOD.replace(
        "{name: shop}",
        "{name: shop, labels: {sidecar.istio.io/inject: 'true'}, "
        "annotations: {sidecar.istio.io/nativeSidecar: 'true'}}",
    )
    Path("native.yaml").write_text(native)
    out = invoke("explain", "native.yaml", "--istio-version", "1.27")[1]
    (lane,) = [line for line in out.splitlines() if line.startswith("  istio-proxy")]
    assert lane.count("\u2588") >= 55


@pytest.mark.parametrize("command", ["explain", "suggest"])
def test_nothing_to_explain_is_not_a_success(command: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    result = CliRunner().invoke(command_line(), [command, "empty"])
    assert result.exit_code == 2
    assert "no complete pod template in" in result.stderr
