"""The language server, asked by a real client over standard input and output."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from shutdownlint.server.positions import split_lines, text_edit
from tests.helpers import run
from tests.server.editor import PATIENCE, Editor, _offset, in_editor

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: shop, namespace: shop, labels: {app: shop}}
spec:
  terminationGracePeriodSeconds: 20
  containers:
    - name: app
      image: shop/app:1
      ports: [{containerPort: 8080}]
      lifecycle: {preStop: {exec: {command: [sleep, "30"]}}}
"""
SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: shop, namespace: shop}
spec: {selector: {app: shop}, ports: [{port: 80, targetPort: 8080}]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path.resolve()
    (root / "pod.yaml").write_text(POD)
    (root / "service.yaml").write_text(SERVICE)
    (root / "namespace.yaml").write_text(
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"
    )
    return root


def test_findings_follow_an_unsaved_text(folder: Path) -> None:
    async def act(editor: Editor) -> None:
        editor.open("pod.yaml")
        await editor.until("pod.yaml", lambda rules: "SL102" in rules)
        (found,) = [each for each in editor.shown["pod.yaml"] if each.code == "SL102"]
        assert found.range.start.line == 9
        assert found.code_description is not None
        editor.change("pod.yaml", POD.replace('"30"', '"6"'))
        await editor.until("pod.yaml", lambda rules: "SL102" not in rules)
        assert (folder / "pod.yaml").read_text() == POD

    in_editor(folder, act)


def test_what_other_files_say_counts(folder: Path) -> None:
    fine = POD.replace('      lifecycle: {preStop: {exec: {command: [sleep, "30"]}}}\n', "")
    (folder / "pod.yaml").write_text(fine)

    async def act(editor: Editor) -> None:
        editor.open("pod.yaml")
        await editor.until("pod.yaml", lambda rules: "SL108" in rules)
        editor.open("service.yaml")
        # Nothing sends to it any more.
        editor.change("service.yaml", SERVICE.replace("{app: shop}", "{app: other}"))
        await editor.until("pod.yaml", lambda rules: "SL108" not in rules)

    in_editor(folder, act)


def test_hovers(folder: Path) -> None:
    (folder / "pod.yaml").write_text(POD + "# shutdownlint: ignore[SL102] why\n")

    async def act(editor: Editor) -> None:
        editor.open("pod.yaml")
        text = await editor.hover("pod.yaml", 6)
        assert "Pod shop/shop" in text
        assert "the grace period ends: SIGKILL" in text
        assert f"{editor.uri('pod.yaml')}#L5" in text
        page = await editor.hover("pod.yaml", 10, 26)
        assert "SL102" in page
        assert "preStop" in page

    in_editor(folder, act)


def test_a_hover_over_a_service_is_about_its_pods(folder: Path) -> None:
    async def act(editor: Editor) -> None:
        editor.open("service.yaml")
        text = await editor.hover("service.yaml", 2)
        assert f"[Pod shop/shop]({editor.uri('pod.yaml')}#L1): " in text
        assert "cut" in text or "late" in text

    in_editor(folder, act)


def test_quick_fixes(folder: Path) -> None:
    async def act(editor: Editor) -> None:
        editor.open("pod.yaml")
        await editor.until("pod.yaml", lambda rules: "SL102" in rules)
        actions = await editor.actions("pod.yaml", 9)
        (fix,) = [each for title, each in actions.items() if title.startswith("SL102: set")]
        (ignore,) = [each for title, each in actions.items() if "ignore with a reason" in title]
        assert any("to serve every request" in title for title in actions)
        assert any("how long the slowest requests" in title for title in actions)
        editor.apply(ignore)
        await editor.until("pod.yaml", lambda rules: "SL102" not in rules)
        assert "# shutdownlint: ignore[SL102]" in editor.texts["pod.yaml"]
        editor.change("pod.yaml", POD)
        await editor.until("pod.yaml", lambda rules: "SL102" in rules)
        editor.apply(fix)
        await editor.until("pod.yaml", lambda rules: "SL102" not in rules)
        assert (folder / "pod.yaml").read_text() == POD

    in_editor(folder, act)


def test_the_suggestion_and_a_p99(folder: Path) -> None:
    (folder / "pod.yaml").write_text(POD.replace('"30"', '"5"').replace("20", "6"))

    async def act(editor: Editor) -> None:
        editor.open("pod.yaml")
        await editor.until("pod.yaml", lambda _rules: True)
        actions = await editor.actions("pod.yaml", 6)
        (suggest,) = [each for title, each in actions.items() if "serve every request" in title]
        editor.apply(suggest)
        text = editor.texts["pod.yaml"]
        assert "terminationGracePeriodSeconds: 6\n" not in text
        actions = await editor.actions("pod.yaml", 6)
        (p99,) = [each for title, each in actions.items() if "how long the slowest" in title]
        editor.apply(p99)
        assert "shutdownlint.dev/p99: 10s" in editor.texts["pod.yaml"]

    in_editor(folder, act)


def test_a_line_above_each_workload(folder: Path) -> None:
    async def act(editor: Editor) -> None:
        editor.open("pod.yaml")
        shown = await editor.lenses("pod.yaml")
        assert list(shown) == [0]
        assert "cut" in shown[0] or "lost" in shown[0]

    in_editor(folder, act)


def test_the_configuration(folder: Path) -> None:
    config = folder / "shutdownlint.toml"
    config.write_text('fail-on = "warning"\n\n[[workloads]]\nmatch = "*"\n\n')

    async def act(editor: Editor) -> None:
        editor.open("shutdownlint.toml")
        await editor.until("shutdownlint.toml", lambda rules: rules == [])
        assert "p99" in await editor.completions("shutdownlint.toml", 1)
        inner = await editor.completions("shutdownlint.toml", 4)
        assert "longest-job" in inner
        assert "longest job" in inner["longest-job"]
        assert "fail-on" not in inner
        assert "exit code" in await editor.hover("shutdownlint.toml", 0)
        editor.change("shutdownlint.toml", 'fail-on = "warning"\np99 = "soon"\n')
        await editor.until("shutdownlint.toml", bool)
        assert editor.shown["shutdownlint.toml"][0].range.start.line == 1
        editor.change("shutdownlint.toml", "fail-on = \n")
        await editor.until("shutdownlint.toml", bool)

    in_editor(folder, act)


def test_rule_files(folder: Path) -> None:
    (folder / "shutdownlint.toml").write_text('rules = ["ops"]\n')
    (folder / "ops").mkdir()
    code, text, _ = run("rule", "SL102")
    assert (code, bool(text)) == (0, True)
    rule = "id: XX001\nname: ours\nfix:\n  \n"
    (folder / "ops/XX001-ours.yaml").write_text(rule)

    async def act(editor: Editor) -> None:
        editor.open("ops/XX001-ours.yaml")
        await editor.until("ops/XX001-ours.yaml", bool)
        assert "message" in await editor.completions("ops/XX001-ours.yaml", 0)
        assert "safety" in await editor.completions("ops/XX001-ours.yaml", 3)

    in_editor(folder, act)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\0",
        "a: [",
        "&a [*a]",
        "kind: Pod\n" * 2000,
        "🦀" * 100 + POD,
        POD.replace("\n", "\r\n"),
    ],
)
def test_any_text_leaves_the_server_alive(folder: Path, text: str) -> None:
    async def act(editor: Editor) -> None:
        editor.open("pod.yaml")
        await editor.until("pod.yaml", lambda rules: "SL102" in rules)
        editor.change("pod.yaml", text)
        for line in (0, 5, 5000):
            await editor.hover("pod.yaml", line, 3)
            await editor.actions("pod.yaml", line)
        await editor.lenses("pod.yaml")
        editor.change("pod.yaml", POD)
        await editor.until("pod.yaml", lambda rules: "SL102" in rules)
        assert not [each for each in editor.messages if "internal" in each]

    in_editor(folder, act)


def test_a_configuration_that_cannot_be_read_is_said(folder: Path) -> None:
    (folder / "shutdownlint.toml").write_text("nonsense = 1\n")

    async def act(editor: Editor) -> list[str]:
        editor.open("pod.yaml")
        await editor.hover("pod.yaml", 1)
        return editor.messages

    assert any("nonsense" in each for each in in_editor(folder, act))


def test_isolated_obeys_nothing_of_the_repository(folder: Path) -> None:
    (folder / "shutdownlint.toml").write_text('ignore = ["SL102"]\n')

    async def act(editor: Editor) -> None:
        editor.open("pod.yaml")
        await editor.until("pod.yaml", lambda rules: "SL102" in rules)

    in_editor(folder, act, "--isolated")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a\nb\nc\n", "a\nx\nc\n"),
        ("a\nb\nc\n", "a\nc\n"),
        ("a\nc\n", "a\nb\nc\n"),
        ("a", "a\nb"),
        ("a\nb", "a"),
        ("", "a\n"),
        ("a\n", ""),
        ("🦀\nb", "🦀\nb🦀"),
        ("a\na\na\n", "a\na\n"),
    ],
)
def test_an_edit_makes_the_new_text(old: str, new: str) -> None:
    edit = text_edit(old, new)
    begin, end = _offset(old, edit.range.start), _offset(old, edit.range.end)
    assert old[:begin] + edit.new_text + old[end:] == new


def test_the_fresh_check_says_the_same(folder: Path) -> None:
    """After edits the editor shows what a check of the same texts reports."""

    async def act(editor: Editor) -> None:
        editor.open("pod.yaml")
        for number in range(1, 8):
            editor.change("pod.yaml", POD.replace('"30"', f'"{number * 3}"'))
        last = editor.texts["pod.yaml"]
        (folder / "copy").mkdir()
        for name, text in (("pod.yaml", last), ("service.yaml", SERVICE)):
            (folder / "copy" / name).write_text(text)
        code, out, _ = run("check", str(folder / "copy"), "--format", "json")
        assert code in (0, 1)
        wanted = sorted(
            each["rule"]
            for each in json.loads(out)["findings"]
            if each["file"].endswith("pod.yaml")
        )
        await editor.until("pod.yaml", lambda rules: sorted(rules) == wanted)

    in_editor(folder, act)


def test_lines_end_where_editors_end_them() -> None:
    assert split_lines("a\r\nb\rc\n") == ["a", "b", "c", ""]


def test_malformed_messages_leave_the_server_alive(folder: Path) -> None:
    words = [sys.executable, "-m", "shutdownlint", "server"]
    messages = [
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}',
        b'{"jsonrpc":"2.0","method":"initialized","params":{}}',
        *(b"{not json", b"[1,2]", b"null", b'{"jsonrpc":"2.0","id":5,"method":"no"}'),
        b'{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"a":1}}',
        (
            b'{"jsonrpc":"2.0","id":7,"method":"textDocument/hover","params":{"textDocument":'
            b'{"uri":"file:///etc/passwd"},"position":{"line":0,"character":0}}}'
        ),
        b'{"jsonrpc":"2.0","id":9,"method":"shutdown"}',
        b'{"jsonrpc":"2.0","method":"exit"}',
    ]
    data = b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(each), each) for each in messages)
    done = subprocess.run(
        words, cwd=folder, input=data, capture_output=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == 0
    assert b'"id":9,"jsonrpc":"2.0","result":null' in done.stdout.replace(b" ", b"")
    assert b'"id":7,"jsonrpc":"2.0","result":null' in done.stdout.replace(b" ", b"")


def test_a_huge_text_leaves_the_server_alive(folder: Path) -> None:
    async def act(editor: Editor) -> None:
        editor.open("pod.yaml")
        await editor.until("pod.yaml", lambda rules: "SL102" in rules)
        editor.change("pod.yaml", POD + "# " + "x" * 3_000_000 + "\n")
        await editor.hover("pod.yaml", 6)
        editor.change("pod.yaml", "a: " + "[" * 100_000)
        await editor.lenses("pod.yaml")
        editor.change("pod.yaml", POD)
        await editor.until("pod.yaml", lambda rules: "SL102" in rules)

    in_editor(folder, act)


def test_a_file_outside_of_the_workspace_is_left_alone(folder: Path) -> None:
    inner = folder / "inner"
    inner.mkdir()
    (inner / "pod.yaml").write_text(POD)

    async def act(editor: Editor) -> None:
        editor.open("pod.yaml")
        await editor.until("pod.yaml", bool)
        assert await editor.hover("../pod.yaml", 6) == ""
        assert "../pod.yaml" not in editor.shown

    in_editor(inner, act)
