"""Mistakes in the configuration have their line; patterns that match nothing; rules by path."""

from __future__ import annotations

from pathlib import Path

import pytest

from shutdownlint import limits
from shutdownlint.config.positions import key_lines, line_of
from tests.helpers import POD, run, served


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.yaml").write_text(POD)


def _config(text: str) -> tuple[int, str]:
    Path("shutdownlint.toml").write_text(text)
    code, _, stderr = run("check", ".")
    return code, stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "notes = true\nfail_on = 'error'\n",
            ":2: fail_on: is not a setting; did you mean fail-on?",
        ),
        ("\n\np99 = 10\n", ":3: p99: must be a duration with a unit"),
        (
            "[[workloads]]\nmatch = 'a'\n\n[[workloads]]\nmatch='b'\n  p99= '10'\n",
            ":6: workloads.1.p99: ",
        ),
        (
            "[[workloads]]\nmatch = 'a'\np9 = '1s'\n",
            ":3: workloads.0.p9: is not a setting; did you mean p99?",
        ),
        ("[[render]]\npaht = 'x'\n", ":2: render."),
        ("[severity]\nSL102 = 'eror'\n", ":2: severity.SL102: "),
    ],
)
def test_a_mistake_has_its_line(text: str, message: str) -> None:
    code, stderr = _config(text)
    assert code == 2
    assert f"shutdownlint.toml{message}" in stderr.replace(str(Path.cwd()) + "/", "")


def test_lines_in_pyproject() -> None:
    Path("pyproject.toml").write_text("[project]\np99 = 1\n\n[tool.shutdownlint]\np99 = 1\n")
    assert "pyproject.toml:5: p99" in run("check", ".")[2]


def test_lines_of_keys() -> None:
    text = 'a.b = 1\n[x."y.z"]  # text\nk = """\nfake = 1\n"""\n[[t]]\n[[t]]\n[t.u]\nv = 1\n'
    lines = key_lines(text)
    assert lines["a", "b"] == 1
    assert lines["x", "y.z", "k"] == 3
    assert lines["t", 1, "u", "v"] == 9
    assert line_of(lines, ("t", 1, "u", "w")) == 8
    assert line_of(lines, ("nothing",)) is None


def test_a_pattern_that_matches_nothing_is_named() -> None:
    Path("a.yaml").write_text(served())
    text = "[[workloads]]\nmatch = 'Deployment/shop/shopp'\np99 = '1s'\n\n[[namespaces]]\nmatch='shp'\nmesh='none'\n"
    _, stderr = _config(text)
    assert (
        "toml:2: Deployment/shop/shopp matches no workload; did you mean Deployment/shop/shop?"
        in stderr
    )
    assert "toml:6: shp matches no namespace; did you mean shop?" in stderr
    # A run over a part of the files shows nothing about the others.
    assert "matches no" not in run("check", "a.yaml")[2]
    _, stderr = _config(text.replace("shopp", "shop").replace("shp", "shop"))
    assert "matches no" not in stderr


def test_rules_and_severities_by_path() -> None:
    for folder in ("teams/a", "teams/b"):
        Path(folder).mkdir(parents=True)
        Path(folder, "pod.yaml").write_text(POD)
    Path("a.yaml").unlink()
    text = "[[paths]]\nmatch = 'teams/a/*'\nignore = ['SL102']\n\n[[paths]]\nmatch='teams/b'\n"
    Path("shutdownlint.toml").write_text(
        text + "[paths.severity]\ngrace-spent-by-prestop = 'note'\n"
    )
    code, out, _ = run("check", ".")
    assert code == 0
    assert "1 note (grace-spent-by-prestop 1): --notes" in out
    assert "note[SL102]" in run("check", "--notes", ".")[1]
    Path("shutdownlint.toml").write_text(
        "[[paths]]\nmatch='teams/b'\n[paths.severity]\nSL182 = 'error'\nSL102 = 'error'\n"
    )
    assert "teams/a" in run("check", ".")[1]
    assert "did you mean" in _config("[[paths]]\nmatch='x'\nignore=['grace-to-short']\n")[1]


def test_only_the_first_patterns_that_match_nothing_are_listed() -> None:
    Path("a.yaml").write_text(served())
    listed = limits.MAX_SUGGESTIONS
    for more, last in ((0, ""), (1, "1 more entry of"), (2, "2 more entries of")):
        entries = [f'[[workloads]]\nmatch = "gone{n}"\np99 = "1s"\n' for n in range(listed + more)]
        stderr = _config("".join(entries))[1]
        assert stderr.count("matches no workload") == listed
        assert ("the configuration match nothing" in stderr) is bool(more)
        assert last in stderr
