"""What is printed: one writer, which lets no line of the input act on its reader."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from shutdownlint import outputs
from tests.helpers import run

PACKAGE = Path(__file__).parents[1] / "src" / "shutdownlint"
#: Nothing of the input is in them: versions, a counter, a file from standard input with its fixes.
ALLOWED = {
    "outputs.py": 3,
    "__main__.py": 2,
    "cli/app.py": 1,
    "cli/check.py": 1,
    "cli/images.py": 2,
}
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: "::error::name", namespace: "::error::space"}
spec:
  containers:
    - name: "::error::x"
      image: "::error::image"
      lifecycle: {preStop: {exec: {command: [sleep, "40"]}}}
"""
#: As GitHub's runner reads a line: blanks are left out, and the command ends with "::".
COMMAND = re.compile(r"\s*::[^:\s]+.*::")


def writes(path: Path) -> int:
    """Count where a module writes to the screen by itself."""
    found = 0
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            text = ast.unparse(node.func)
            screen = re.fullmatch(r"sys\.(stdout|stderr)(\.buffer)?\.write(lines)?", text)
            found += bool(screen) or text == "print"
    return found


def test_only_one_module_writes_to_the_screen() -> None:
    found = {str(p.relative_to(PACKAGE)): writes(p) for p in sorted(PACKAGE.rglob("*.py"))}
    assert {name: count for name, count in found.items() if count} == ALLOWED


@pytest.mark.parametrize(
    "text", ["::error::x", "  ::error::x", "\t::error::x", "\u3000::error::x", "a\n ::stop::", "\n\n::a::"]
)  # fmt: skip
def test_no_line_begins_with_a_command(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    for where in (outputs.SCREEN, outputs.ERRORS):
        outputs.write(where, f"{text}\n")
    out, err = capsys.readouterr()
    for line in (out + err).splitlines():
        assert COMMAND.match(line) is None
    outputs.write(outputs.COMMANDS, "::error file=a::b\n")


@pytest.mark.parametrize(
    "words",
    [
        *(
            ["check", f"--format={name}"]
            for name in ("text", "concise", "markdown", "html", "json")
        ),
        *(["explain", f"--format={name}"] for name in ("text", "json", "svg", "html")),
        ["explain", "--summary"],
        ["suggest"],
        ["suggest", "--format=json"],
        ["suggest", "--format=kustomize"],
        ["verify"],
        ["check", "--diff", "--unsafe-fixes"],
    ],
)
def test_names_are_no_commands(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "::error::file.yaml").write_text(POD)
    _, out, err = run(*words, str(tmp_path))
    assert out + err
    assert [line for line in (out + err).splitlines() if COMMAND.match(line)] == []


@pytest.mark.parametrize("comment", ["# \u202e", "#\n  ::error::x: y", "# ##[error]x"])
def test_a_diff_that_would_act_is_not_shown(comment: str, tmp_path: Path) -> None:
    text = f"""\
apiVersion: v1
kind: Pod
metadata: {{name: shop}}
spec:
  terminationGracePeriodSeconds: 30
  {comment}
  containers:
    - name: app
      image: shop/app:1
      lifecycle: {{preStop: {{exec: {{command: [sleep, "40"]}}}}}}
"""
    (tmp_path / "pod.yaml").write_text(text)
    code, out, err = run("check", "--diff", str(tmp_path))
    assert (code, out) == (2, "")
    assert "a line of its diff would act on the screen: use --fix" in err
    code, out, err = run("suggest", "--format=diff", "--p99=2s", str(tmp_path))
    assert (code, out) == (2, "")
    run("check", "--fix", str(tmp_path))
    fixed = (tmp_path / "pod.yaml").read_text()
    assert comment in fixed
    assert "terminationGracePeriodSeconds: 30" not in fixed
