"""Hostile input: each a finding or a clean refusal, everything else still checked."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from typer.testing import CliRunner

from shutdownlint import files, limits
from shutdownlint.cli.app import command_line
from shutdownlint.reports.registry import CHECK_REPORTERS
from shutdownlint.reports.report import safe, to_json
from tests.helpers import check_files, dedent, rule_lines
from tests.helpers import run as run_command

GOOD = textwrap.dedent("""\
    apiVersion: v1
    kind: Pod
    metadata: {name: good}
    spec:
      containers: [{name: a, image: a, lifecycle: {preStop: {exec: {command: [sleep, "30"]}}}}]
""")
#: The finding of the file beside the hostile one: it must always be there.
STILL = ("SL102", 5)
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec:\n  containers: [{name: a, image: a}]\n"


def beside(hostile: bytes | str) -> tuple[list[tuple[str, int]], list[str]]:
    """Return the findings in a good and a hostile file, and why the rest could not be read."""
    result = check_files({"a.yaml": hostile, "b.yaml": GOOD})
    reasons = [unreadable.reason for unreadable in result.stats.unreadable]
    return rule_lines(result.findings), reasons


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{','.join([f'*{chr(97 + i)}'] * 9)}]\n" for i in range(8)
)
CHAIN = "".join(f"m{i}: &m{i} {{<<: *m{i - 1}}}\n" if i else "m0: &m0 {a: b}\n" for i in range(90))


@pytest.mark.parametrize(
    ("hostile", "reason"),
    [
        (POD + "x: " + "[" * 5000 + "]" * 5000, "nested deeper"),
        (POD + "x:\n" + "".join(" " * i + "a:\n" for i in range(1, 2000)), "nested deeper"),
        (POD + "x: " + "{a: " * 3000 + "1" + "}" * 3000, "nested deeper"),
        (BOMB + POD.replace("spec:\n", "spec:\n  volumes: *i\n"), "after expanding YAML aliases"),
        (POD + "x: \0\n", "U+0000"),
        (b"\xff" + POD.encode(), "not UTF-8"),
        (POD.encode() + b"x: \xc3\x28\n", "not UTF-8"),
        (POD + "x: [\n", "expected"),
        (POD + "\tx: 1\n", "token"),
        *((POD.encode(name), "U+0000") for name in ("utf-16-le", "utf-16-be")),
        *((POD.encode(name), "U+0000") for name in ("utf-32", "utf-32-le", "utf-32-be")),
    ],
)
def test_refused_with_a_reason(hostile: bytes | str, reason: str) -> None:
    found, reasons = beside(hostile)
    assert found[-1] == STILL
    assert [r for r, _ in found[:-1]] == ["SL001"]
    assert reason in reasons[0]


@pytest.mark.parametrize(
    "harmless",
    [
        POD + "x: &a [*a]\n",
        POD.replace("spec:\n", "spec: &s\n  self: *s\n"),
        CHAIN + POD,
        POD.encode("utf-16"),
        b"\xef\xbb\xbf" + POD.encode(),
        POD.replace("\n", "\r"),
        POD.replace("\n", "\u2028"),
        "# \u2028\n" + POD,
        POD + "x: " + "a" * 2_000_000 + "\n",
        "---\na: 1\n" * 100_000 + "---\n" + POD,
        POD + "".join(f"k{i}: 1\n" for i in range(100_000)),
        "",
        "\n" * 100_000,
        "%YAML 1.1\n---\n" + POD,
        '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "\\u0000"}, "spec": {"containers": []}}',
    ],
)
def test_read_as_it_is(harmless: bytes | str) -> None:
    found, reasons = beside(harmless)
    assert reasons == []
    assert found == [STILL]


def run(*arguments: str | Path, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "shutdownlint", *map(str, arguments)]
    return subprocess.run(
        command, cwd=folder, capture_output=True, encoding="utf-8", timeout=120, check=False
    )


def test_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(GOOD)
    os.mkfifo(tmp_path / "pipe.yaml")
    with socket.socket(socket.AF_UNIX) as listener:
        os.chdir(tmp_path)
        listener.bind("socket.yaml")
        (tmp_path / "loop").symlink_to(tmp_path)
        (tmp_path / "self.yaml").symlink_to(tmp_path / "self.yaml")
        (tmp_path / "gone.yaml").symlink_to(tmp_path / "nowhere")
        done = run("check", "--format", "json", tmp_path)
        assert done.returncode == 2
        found = sorted(f["rule"] for f in json.loads(done.stdout)["findings"])
        assert found == ["SL001"] * 4 + ["SL102"]
        for name, why in (
            ("pipe.yaml", "neither a file nor a folder"),
            ("socket.yaml", "neither a file nor a folder"),
            ("self.yaml", "symbolic links"),
            ("gone.yaml", "No such file"),
        ):
            done = run("check", "--format", "json", tmp_path / name, tmp_path / "good.yaml")
            assert done.returncode == 2, name
            data = json.loads(done.stdout)
            assert why in data["unreadable"][0]["reason"], name
            assert [f["rule"] for f in data["findings"]][-1] == "SL102" or len(
                data["findings"]
            ) == 2


def test_a_device_is_refused(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(GOOD)
    done = run("check", "/dev/zero", tmp_path / "good.yaml")
    assert done.returncode == 2
    assert "neither a file nor a folder" in done.stdout
    assert "SL102" in done.stdout


def test_a_file_that_vanishes_or_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.yaml").write_text(GOOD)
    honest = files.read_file

    def read_file(path: Path) -> bytes:
        if path.name == "b.yaml":
            raise PermissionError(13, "Permission denied")
        if path.name == "a.yaml":
            (tmp_path / "c.yaml").unlink(missing_ok=True)
        return honest(path)

    monkeypatch.setattr(files, "read_file", read_file)
    result = CliRunner().invoke(command_line(), ["check", "--format", "json", str(tmp_path)])
    assert result.exit_code == 2
    data = json.loads(result.stdout)
    reasons = {Path(u["file"]).name: u["reason"] for u in data["unreadable"]}
    assert reasons.pop("b.yaml") == "Permission denied"
    # gone before it was listed, or named on stderr
    assert reasons in ({}, {"c.yaml": "No such file or directory"})
    assert "SL102" in [f["rule"] for f in data["findings"]]


EVIL = "\\e]0;owned\\a\\e[31m\\n::error::x\\n<script>|`[a](b)"


@pytest.mark.parametrize("output", ["text", "concise", "json", "sarif"])
def test_names_are_never_echoed_raw(output: str, tmp_path: Path) -> None:
    text = GOOD.replace("metadata: {name: good}", f'metadata: {{name: "{EVIL}"}}').replace(
        "name: a,", f'name: "{EVIL}",'
    )
    (tmp_path / "a\x1b[31m.yaml").write_text(text)
    done = run("check", "--format", output, tmp_path)
    assert done.returncode == 1
    assert "\x1b" not in done.stdout
    assert "\x07" not in done.stdout
    assert "\n::error" not in done.stdout
    assert "SL102" in done.stdout
    assert "\x1b" not in run("explain", tmp_path).stdout
    assert "\x1b" not in run("suggest", tmp_path, "--p99", "40s").stdout


def test_a_source_comment_is_a_name_and_no_path(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(f"---\n# Source: ../../../../etc/passwd\n{GOOD}")
    done = run("check", "--fix", "--format", "json", tmp_path)
    (finding,) = json.loads(done.stdout)["findings"]
    assert finding["template"] == "../../../../etc/passwd"
    assert finding["file"] == str(tmp_path / "a.yaml")
    assert "not fixed" in done.stderr


def test_a_closed_pipe_ends_quietly(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("---\n".join([GOOD] * 300))
    command = f"{sys.executable} -m shutdownlint check {tmp_path} | head -1"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, encoding="utf-8", timeout=60, check=False
    )
    assert "Traceback" not in done.stderr
    assert "Broken" not in done.stderr


def test_an_interrupt_ends_quietly_and_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("---\n".join([GOOD] * 3000))
    report = tmp_path / "report.json"
    # A background job of a shell inherits that SIGINT is ignored: the default must be set again.
    starts = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "import runpy; runpy.run_module('shutdownlint', run_name='__main__', alter_sys=True)"
    )
    command = [sys.executable, "-c", starts, "check", "--format", "json"]
    with subprocess.Popen(
        [*command, "-o", str(report), str(tmp_path)],
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1.0)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=30)
    assert process.returncode in (130, -signal.SIGINT)
    assert "Traceback" not in stderr
    assert [p.name for p in tmp_path.iterdir()] == ["a.yaml"]


def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(GOOD)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutdownlint.atomic_write.os.fsync", full)
    result = CliRunner().invoke(command_line(), ["check", "--fix", str(path)])
    assert result.exit_code == 2
    assert "No space left" in result.stderr
    assert path.read_text() == GOOD
    assert [p.name for p in tmp_path.iterdir()] == ["a.yaml"]
    result = CliRunner().invoke(
        command_line(), ["check", "-o", str(tmp_path / "report.txt"), str(path)]
    )
    assert result.exit_code == 2
    assert [p.name for p in tmp_path.iterdir()] == ["a.yaml"]


def test_memory_follows_the_largest_document(tmp_path: Path) -> None:
    """Test that a hundred times the documents take hardly more memory than ten times as many."""
    secret = (
        "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {x: " + "y" * 2000 + "}\n---\n"
    )
    peaks = []
    for count in (2000, 20000):
        path = tmp_path / f"{count}.yaml"
        for part in range(count // 2000):
            (tmp_path / f"{count}-{part}.yaml").write_text(secret * 2000)
        code = (
            "import resource, sys\nfrom shutdownlint.__main__ import run\n"
            "try:\n    run()\nexcept SystemExit:\n    pass\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)\n"
        )
        files = [str(p) for p in tmp_path.glob(f"{count}-*.yaml")]
        done = subprocess.run(
            [sys.executable, "-c", code, "check", *files],
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=True,
        )
        peaks.append(int(done.stderr.split()[-1]))
        assert not path.exists()
    assert peaks[1] < 1.3 * peaks[0]
    assert resource.getpagesize() > 0


CYCLIC = "a: &a\n  <<: *a\nkind: Pod\napiVersion: v1\nspec: {containers: [{<<: *a, name: a, image: b}]}\n"
LONG_CHAIN = "a0: &a0 {x: 1}\n" + "".join(
    f"a{i}: &a{i} {{<<: *a{i - 1}}}\n" for i in range(1, 1500)
)
DEEP = "kind: Pod\napiVersion: v1\nspec: {containers: [{name: a, image: b}], x: %s%s}\n"


@pytest.mark.parametrize(
    "text",
    [
        CYCLIC,
        LONG_CHAIN
        + "kind: Pod\napiVersion: v1\nspec: {containers: [{<<: *a1499, name: a, image: b}]}\n",
        DEEP % ("[" * 490, "]" * 490),
        DEEP % ("[" * 4000, "]" * 4000),
        "kind: Pod\napiVersion: v1\nmetadata: {name: [1], labels: [1]}\nspec: {containers: [{name: {}}]}\n",
    ],
    ids=["circular merge", "chain of merges", "deep", "too deep", "wrong types"],
)
def test_one_document_never_costs_the_others(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(f"{text}---\n{GOOD}")
    (tmp_path / "b.yaml").write_text(GOOD)
    for command in ("check", "explain", "suggest", "verify", "measure"):
        options = ("--format", "concise") if command == "check" else ()
        result = CliRunner().invoke(command_line(), [command, *options, str(tmp_path)])
        assert "Traceback" not in result.output
        assert "internal error" not in result.output
        assert result.exit_code in (0, 1, 2)
        if command == "check":
            assert result.stdout.count("error SL102") == 2


@pytest.mark.skipif(sys.platform != "linux", reason="file names are text there")
@pytest.mark.parametrize("format_", [reporter.name for reporter in CHECK_REPORTERS])
def test_a_file_name_that_is_not_utf8(format_: str, tmp_path: Path) -> None:
    name = os.path.join(os.fsencode(tmp_path), b"\xff\xfe.yaml")  # noqa: PTH118 - bytes
    Path(os.fsdecode(name)).write_text(GOOD)
    command = [sys.executable, "-m", "shutdownlint", "check", "--format", format_, "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 1
    assert b"internal error" not in done.stderr
    assert done.stdout


def test_characters_that_are_not_seen_are_escaped() -> None:
    hidden = "\u00ad\u200b\u2060\ufeff\u061c\U000e0041\u202e\ud800"
    shown = safe(f"a{hidden}b")
    assert shown == "a\\u00ad\\u200b\\u2060\\ufeff\\u061c\\U000e0041\\u202e\\ud800b"
    assert safe("é 日本 🙂") == "é 日本 🙂"
    text = to_json({"name": hidden})
    assert text.isascii()
    assert json.loads(text) == {"name": hidden}


def test_a_suggestion_for_a_file_that_is_not_written_is_named(tmp_path: Path) -> None:
    pod = """
        apiVersion: v1
        kind: Pod
        metadata: {name: wide}
        spec:
          terminationGracePeriodSeconds: 5
          containers: [{name: a, image: b, lifecycle: {preStop: {sleep: {seconds: 3}}}}]
        """
    (tmp_path / "wide.yaml").write_bytes(dedent(pod).encode("utf-16"))
    (tmp_path / "plain.yaml").write_text(dedent(pod).replace("wide", "plain"))
    code, out, err = run_command("suggest", str(tmp_path), "--format", "diff")
    assert "Pod wide: the encoding is UTF-16" in err
    assert "plain.yaml" in out
    assert code == 0


def test_a_pod_with_very_many_services() -> None:
    """Test that the note names one of them; it is not made for each."""
    service = "{apiVersion: v1, kind: Service, metadata: {name: s%s}, spec: {selector: {app: a}}}"
    pod = "{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {app: a, b: c}}, spec: {%s}}"
    texts = [service % number for number in range(300)]
    text = "\n---\n".join([*texts, pod % "containers: [{name: a, image: b}]"])
    found = [f for f in check_files({"many.yaml": text}).findings if f.rule == "SL108"]
    assert len(found) == 1


def test_services_are_found_by_the_rarest_label_of_their_selector() -> None:
    service = (
        "{apiVersion: v1, kind: Service, metadata: {name: s%s}, spec: {selector: {a: b, n: x%s}}}"
    )
    pod = "{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {a: b, n: %s}}, spec: {%s}}"
    texts = [service % (number, number) for number in range(50)]
    for name, expected in (("x7", ["SL108"]), ("z", [])):
        own = pod % (name, "containers: [{name: a, image: b}]")
        result = check_files({"many.yaml": "\n---\n".join([*texts, own])})
        reported = [f for f in result.findings if f.rule == "SL108"]
        assert [f.rule for f in reported] == expected
        assert all("Service s7 " in f.message for f in reported)


@pytest.mark.parametrize("encoding", ["ascii", "cp437", "latin-1"])
@pytest.mark.parametrize(
    "command",
    [
        "check --notes",
        "check --format json",
        "check --format junit",
        "check --diff --unsafe-fixes",
        "explain",
        "explain --format html",
        "suggest",
        "verify",
        "measure",
    ],
)
def test_an_encoding_without_a_character_costs_nothing(
    tmp_path: Path, encoding: str, command: str
) -> None:
    name = "日本-ü"
    text = f"# {name}\n" + GOOD.replace("name: good", f"name: {name}").replace(
        "name: a,", "name: å,"
    )
    (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")

    def output(chosen: str) -> tuple[int, bytes]:
        done = subprocess.run(
            [sys.executable, "-m", "shutdownlint", *command.split(), "."],
            cwd=tmp_path,
            env={**os.environ, "PYTHONIOENCODING": chosen},
            capture_output=True,
            check=False,
        )
        assert b"internal error" not in done.stderr
        return done.returncode, done.stdout

    code, out = output(encoding)
    expected_code, expected = output("utf-8")
    assert code == expected_code
    # What programs read is UTF-8 everywhere.
    if "--format" in command or "--diff" in command or command in ("verify", "measure"):
        assert out == expected
    else:
        assert "\\u65e5" in out.decode(encoding)


@pytest.mark.parametrize(
    "text",
    [
        # Each of these failed in a run of tests/fuzz/whole_runs.py.
        GOOD.replace("name: a, image", "name: [a], image"),
        GOOD.replace("metadata: {name: good}", "metadata: 5"),
        GOOD.replace("metadata: {name: good}\n", ""),
        GOOD.replace("name: a, image: a", "image: a"),
    ],
)
@pytest.mark.parametrize("name", ["kustomize", "helm", "diff", "text"])
def test_suggestions_for_odd_pods(tmp_path: Path, text: str, name: str) -> None:
    (tmp_path / "a.yaml").write_text(text)
    code, _, err = run_command("suggest", "--format", name, "--p99", "40s", str(tmp_path))
    assert code in (0, 1, 2)
    assert "internal error" not in err


def test_of_very_many_problems_of_a_kind_the_first_are_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "MAX_PROBLEMS_OF_A_KIND", 3)
    names = ", ".join(f"EXIT_ON_ZERO_ACTIVE_CONNECTIONZ{number}: a" for number in range(9))
    annotation = f"proxy.istio.io/config: '{{proxyMetadata: {{{names}}}}}'"
    text = POD.replace("{name: x}", f"{{name: x, annotations: {{{annotation}}}}}")
    found = check_files({"a.yaml": text, "b.yaml": GOOD})
    lines = rule_lines(found.findings)
    assert lines.count(("SL251", 3)) == 3
    assert STILL in lines
