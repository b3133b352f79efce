"""Records of programs: their examples, and mistakes in files of users."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from shutdownlint.linter.program_examples import example_problems, example_verdict
from shutdownlint.programs.errors import ProgramFileError
from shutdownlint.programs.known import bundled, load_bundled
from shutdownlint.programs.record import Example
from shutdownlint.programs.record_file import load_folder, parse_record
from tests.helpers import run

if TYPE_CHECKING:
    from pathlib import Path

OWN = """\
name: Order gateway
programs: [order-gateway]
images:
  - name: registry.example.com/shop/order-gateway
    stop_signal: SIGINT
at_signal: {SIGTERM: cuts, SIGINT: finishes}
late: 503
serves_on: {variables: [GATEWAY_LAME_DUCK], units: true, default: 5s}
limit: {flags: [--drain-timeout], units: true, default: 20s}
sources: ["gateway/main.go:88"]
examples:
  - image: registry.example.com/shop/order-gateway:2.4
    args: --drain-timeout=40s
    verdict: serves for 5s, then finishes its requests within 40s
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: shop, labels: {app: shop}}
spec:
  containers:
    - name: app
      image: mirror.example.com/registry.example.com/shop/order-gateway:2.4
      args: [--drain-timeout=100s]
      ports: [{containerPort: 8080}]
"""


@pytest.mark.parametrize("file", load_bundled())
def test_examples(file: str) -> None:
    program = load_bundled()[file]
    assert program.examples
    assert [*example_problems(program, bundled())] == []


def test_every_behaviour_has_an_example() -> None:
    shown = {v for p in load_bundled().values() for e in p.examples for v in e.verdict.split("; ")}
    assert len(shown) > 20


@pytest.mark.parametrize(
    ("image", "args", "verdict"),
    [
        ("vllm/vllm-openai:v0.18.0", "--shutdown-timeout 90", "finishes its requests within 90s"),
        ("tomcat:10.1", "", "finishes its requests within 2s"),
        ("redis:7", "--maxmemory 1g", "cuts its requests"),
        ("redis:7", "redis-server --maxmemory 1g", "cuts its requests"),
        ("ollama/ollama:0.5.0", "", "cuts its requests"),
    ],
)
def test_args_follow_the_entrypoint(image: str, args: str, verdict: str) -> None:
    found = _verdict(image, args)
    assert found.startswith(verdict)
    assert "; or" not in found


@pytest.mark.parametrize(
    ("image", "args"),
    [("tomcat:10.1", "status"), ("ollama/ollama:0.5.0", "list"), ("redis:7", "backup")],
)
def test_args_replace_the_command(image: str, args: str) -> None:
    # Nothing is known of what these start.
    assert "; or " in _verdict(image, args)


def _verdict(image: str, args: str) -> str:
    return example_verdict(Example("", args=args, image=image), bundled())


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("name: x\nprogramms: [x]\nsources: [s]\n", "2: programms: is not a key of program records;"),
        ("name: x\nprograms: [x]\nat_signal: {SIGTERM: dies}\nsources: [s]\n", "3: at_signal"),
        ("name: x\nprograms: [x]\nlimit:\n  default: soon\nsources: [s]\n", "4: limit.default"),
        ("name: x\nsources: [s]\n", "1: name: nothing shows that it runs"),
        ("name: x\nprograms: [x]\n", "1: name: needs 'measured' or 'sources'"),
        ("name: x\nprograms: [x]\nat_signal: {SIGINT: cuts}\nsources: [s]\n", "3: at_signal: needs"),
        ("name: x\nprograms: [x]\nat_signal: {SIGTERM: needs-handler}\nsources: [s]\n", "3: at_sig"),
        ("name: x\nprograms: x\nsources: [s]\n", "2: programs: expected"),
        ("[]\n", "1: a record file is a mapping"),
        ("a: 1\n---\nb: 1\n", "1: a record file has exactly one document"),
        ("name: [\n", "2: "),
        ("name: x\nprograms: [x]\nversions: '<a'\nsources: [s]\n", "3: versions"),
        ("name: x\nprograms: [x]\nversions: '<'\nsources: [s]\n", "3: versions"),
        ("name: x\nprograms: [x]\nversions: '>=1'\nsources: [s]\n", "3: versions"),
    ],
)  # fmt: skip
def test_a_mistake_has_its_line(text: str, mistake: str) -> None:
    with pytest.raises(ProgramFileError, match=r"^own\.yaml:") as found:
        parse_record(text, "own.yaml")
    assert str(found.value).startswith(f"own.yaml:{mistake}")


def configure(folder: Path, text: str = OWN) -> None:
    (folder / "ops").mkdir()
    (folder / "ops" / "gateway.yaml").write_text(text)
    (folder / "shutdownlint.toml").write_text('programs = ["ops"]\n')
    (folder / "pod.yaml").write_text(POD)


def test_own_records_count_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(tmp_path)
    monkeypatch.chdir(tmp_path)
    code, out, err = run("check", "--notes", "pod.yaml")
    assert code == 1, err
    assert "SL124" in out
    assert "100s" in out
    code, out, err = run("program", "order-gateway")
    assert code == 0, err
    assert out.startswith("# Order gateway")
    _, out, _ = run("program", "lame_duck")
    assert "Order gateway" in out


def test_records_are_tested(tmp_path: Path) -> None:
    configure(tmp_path)
    code, out, _ = run("program", "--test", str(tmp_path / "ops"))
    assert (code, out) == (0, "ok  Order gateway: 1 example\n")
    (tmp_path / "ops" / "gateway.yaml").write_text(OWN.replace("within 40s", "within 41s"))
    code, out, _ = run("program", "--test", str(tmp_path / "ops"))
    assert code == 1
    assert "written is 'serves for 5s, then finishes its requests within 41s'" in out


def test_a_mistake_stops_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(tmp_path, OWN.replace("late: 503", "late: 200"))
    monkeypatch.chdir(tmp_path)
    code, _, err = run("check", "pod.yaml")
    assert code == 2
    assert "gateway.yaml:7: late" in err


def test_a_record_of_a_user_has_no_reader(tmp_path: Path) -> None:
    configure(tmp_path, OWN + "reader: traefik\n")
    with pytest.raises(ProgramFileError, match="only records of shutdownlint have one"):
        load_folder(tmp_path / "ops")


def test_words_find_programs() -> None:
    code, out, _ = run("program", "graceful")
    assert code == 0
    assert "Gunicorn" in out
    code, _, err = run("program", "gunicron")
    assert code == 2
    assert "did you mean Gunicorn?" in err
