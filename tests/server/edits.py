"""Random edits of a repository: ``python -m tests.server.edits FOLDER --edits 1000``.

An editor opens the file with the most workloads and changes it again and again. Printed: how long
it takes from a change until its findings are shown, the same for a file that has nothing to check
(the floor: transport, waiting, the server's own part), the memory of the server, and whether the
end is what a check of the same texts reports.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random

import tests.server.editor as editors
from tests.server.editor import Editor

#: Longer than the server waits before it checks everything, and than that takes, in seconds.
_PAUSE = 10
_NUMBERS = ("0", "1", "5", "30", "60", "600", "-1", "abc", "")
_LINES = (
    "          terminationGracePeriodSeconds: 45",
    "      # a comment",
    '        lifecycle: {preStop: {exec: {command: [sleep, "10"]}}}',
    "---",
    "  replicas: 3",
)


def _edited(text: str, rng: Random) -> str:
    """Return a text with a small change, as somebody types it."""
    lines = text.split("\n")
    number = rng.randrange(len(lines))
    match rng.randrange(4):
        case 0:
            lines.insert(number, rng.choice(_LINES))
        case 1:
            del lines[number]
        case 2:
            key, colon, _ = lines[number].partition(": ")
            lines[number] = f"{key}{colon}{rng.choice(_NUMBERS)}" if colon else lines[number] + " "
        case _:
            lines[number] = lines[number][: rng.randrange(len(lines[number]) + 1)]
    return "\n".join(lines)


def _memory(editor: Editor) -> int:
    """Return the memory of the server in kilobytes."""
    server = editor.client._server
    assert server is not None
    status = Path(f"/proc/{server.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])


def _check(folder: Path) -> list[dict[str, object]]:
    words = (sys.executable, "-m", "shutdownlint", "check", "--no-cache", "--format", "json", ".")
    done = subprocess.run(words, cwd=folder, capture_output=True, check=False)
    found: list[dict[str, object]] = json.loads(done.stdout)["findings"]
    return found


def _shown(found: list[dict[str, object]], name: str) -> Counter[str]:
    return Counter(str(each["rule"]) for each in found if each["file"] == name)


def _busiest(folder: Path) -> str:
    words = (sys.executable, "-m", "shutdownlint", "explain", "--summary", "--format", "json", ".")
    done = subprocess.run(words, cwd=folder, capture_output=True, check=False)
    files = Counter(each["file"] for each in json.loads(done.stdout)["workloads"])
    return next(str(name) for name, _ in files.most_common() if "kustom" not in name)


async def _time(editor: Editor, name: str, text: str) -> float:
    """Return how long it takes until the findings of a changed file are shown, in seconds."""
    editor.shown.pop(name, None)
    begin = time.perf_counter()
    editor.change(name, text)
    await editor.until(name, lambda _rules: True)
    return time.perf_counter() - begin


async def _run(folder: Path, edits: int, seed: int) -> int:
    name, rng = _busiest(folder), Random(seed)
    nothing = folder.parent / "nothing"
    nothing.mkdir()
    (nothing / "nothing.yaml").write_text("a: 1\n")
    editor, idle = Editor(folder), Editor(nothing)
    await editor.start()
    await idle.start()
    editor.open(name)
    idle.open("nothing.yaml")
    await editor.until(name, lambda _rules: True)
    await idle.until("nothing.yaml", lambda _rules: True)
    original = editor.texts[name]
    text, times, floors, memory = original, list[float](), list[float](), list[int]()
    for number in range(edits):
        text = _edited(text, rng) if number % 25 else original
        times.append(await _time(editor, name, text))
        if number % 10 == 0:
            floors.append(await _time(idle, "nothing.yaml", f"a: {number}\n"))
        if number in (9, edits - 1):
            await asyncio.sleep(_PAUSE)  # everything is checked
            memory.append(_memory(editor))
    last = editor.texts[name]
    (folder / name).write_text(last)
    wanted = _shown(_check(folder), name)
    try:
        await editor.until(name, lambda rules: Counter(rules) == wanted)
        same = True
    except TimeoutError:
        same = False
    for title, values in ((name, times), ("nothing to check", floors)):
        ordered = sorted(values)
        middle, high = statistics.median(ordered), ordered[int(len(ordered) * 0.99)]
        sys.stdout.write(
            f"{title}: {len(values)} edits, median {middle * 1000:.0f} ms, "
            f"99 % {high * 1000:.0f} ms\n"
        )
    sys.stdout.write(
        f"memory: {memory[0] // 1024} MB after 10 edits, {memory[-1] // 1024} MB at the end "
        f"({memory[-1] / memory[0]:.2f} times)\n"
        f"the end is that of a fresh check: {same} ({sum(wanted.values())} findings)\n"
        f"messages: {editor.messages}\n"
    )
    await editor.stop()
    await idle.stop()
    return int(not same or bool(editor.messages))


def main() -> int:
    """Run on a copy of the folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--edits", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    editors.PATIENCE = 120
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name).resolve() / "repository"
        shutil.copytree(asked.folder, copy, symlinks=True)
        return asyncio.run(_run(copy, asked.edits, asked.seed))


if __name__ == "__main__":
    sys.exit(main())
