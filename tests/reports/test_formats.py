"""JUnit, GitHub, GitLab and Markdown, also with names that contain markup."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest
from typer.testing import CliRunner

from shutdownlint.cli.app import command_line

NASTY = "a\\n::error::x%0A<b>|`@me\\e[31m"
POD = f"""\
apiVersion: v1
kind: Pod
metadata:
  name: "{NASTY}"
spec:
  containers:
  - name: "{NASTY}"
    image: i
    lifecycle: {{preStop: {{exec: {{command: [sleep, "30"]}}}}}}
"""


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(command_line(), ["check", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.yaml").write_text(POD)
    Path("good.yaml").write_text("apiVersion: v1\nkind: Secret\n")


def test_junit() -> None:
    code, out, _ = run("--format", "junit", "bad.yaml")
    root = fromstring(out.partition("\n")[2])
    assert (code, root.attrib["failures"], root.attrib["tests"]) == (1, "1", "1")
    (suite,) = root
    (case,) = suite
    assert (suite.attrib["name"], case.attrib["line"]) == ("bad.yaml", "9")
    assert "\x1b" not in out
    assert "SIGKILL" in (case[0].text or "")
    clean = fromstring(run("--format", "junit", "good.yaml")[1].partition("\n")[2])
    assert (clean.attrib["failures"], clean.attrib["tests"]) == ("0", "1")


def test_github() -> None:
    _, out, _ = run("--format", "github", "bad.yaml")
    command, count = out.splitlines()
    assert command.startswith(
        "::error file=bad.yaml,line=9,endLine=9,title=SL102 The preStop hook uses"
    )
    assert "%250A" in command
    assert not any(line.startswith("::error::x") for line in out.splitlines())
    assert count == "1 error; 1 workload in 1 document of 1 file"


def test_github_says_that_it_cuts() -> None:
    for count, cut in ((10, False), (11, True)):
        Path("many.yaml").write_text("---\n".join(POD for _ in range(count)))
        lines = run("--format", "github", "many.yaml")[1].splitlines()
        assert len([line for line in lines if line.startswith("::error ")]) == count
        assert any("the first 10 of a level" in line for line in lines) is cut


def test_gitlab() -> None:
    Path("same.yaml").write_text(f"{POD}---\n{POD}".replace("a\\n", "\\n", 2))
    entries = json.loads(run("--format", "gitlab", ".")[1])
    assert len({entry["fingerprint"] for entry in entries}) == len(entries) == 3
    assert entries[0]["location"] == {"path": "bad.yaml", "lines": {"begin": 9, "end": 9}}
    assert entries[0]["severity"] == "critical"
    assert json.loads(run("--format", "gitlab", "good.yaml")[1]) == []


def test_markdown() -> None:
    _, out, _ = run("--format", "markdown", "bad.yaml")
    (row,) = [line for line in out.splitlines() if line.startswith("| error")]
    assert "<b>" not in row
    assert "@me" not in row
    assert row.replace("\\|", "").count("|") == 6
    assert run("--format", "markdown", "good.yaml")[1].startswith("**shutdownlint**: no workloads")


def test_markdown_is_cut_where_a_comment_ends() -> None:
    many = "---\n".join(
        POD.replace(NASTY, f"pod-{number}").replace('"30"', f'"{number + 30}"')
        for number in range(300)
    )
    Path("bad.yaml").write_text(many)
    _, out, _ = run("--format", "markdown", "bad.yaml")
    assert len(out) < 65_536
    assert "more: this is as much as a comment holds" in out


def test_several_reports_at_once() -> None:
    code, out, _ = run(
        "--format", "sarif", "-o", "x.sarif", "--format", "junit", "-o", "x.xml", "bad.yaml"
    )
    assert code == 1
    assert out.startswith("error[SL102]")
    assert json.loads(Path("x.sarif").read_text())["version"] == "2.1.0"
    assert Path("x.xml").read_text().startswith("<?xml")
    code, out, _ = run("--format", "sarif", "-o", "x.sarif", "--format", "github", "bad.yaml")
    assert out.startswith("::error")
    assert run("--format", "sarif", "--format", "junit", "bad.yaml")[0] == 2
    assert run("-o", "a", "-o", "b", "bad.yaml")[0] == 2


def test_of_a_long_line_only_the_deciding_part_is_shown() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "annotations": {"before": "b" * 400}},
        "spec": {
            "terminationGracePeriodSeconds": 30,
            "containers": [
                {
                    "name": "a",
                    "image": "b",
                    "lifecycle": {"preStop": {"sleep": {"seconds": 40}}},
                    "env": [{"name": "AFTER", "value": "a" * 400}],
                }
            ],
        },
    }
    Path("pod.json").write_text(json.dumps(pod))
    _, out, _ = run("--format", "text", "pod.json")
    (shown,) = [line for line in out.splitlines() if line.startswith("1 | ")]
    assert "… " not in shown
    assert shown.count("…") == 2
    assert len(shown) < 200
    marked = out.splitlines()[out.splitlines().index(shown) + 1]
    assert shown[marked.index("^") : marked.rindex("^") + 1] == "40"
