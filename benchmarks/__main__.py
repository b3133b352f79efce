"""The time and memory of runs, compared with floors, peers and an older version.

``python -m benchmarks`` prints the tables of docs/performance.md. Commands of a table run in turn,
and every figure is a ratio of runs that followed each other, with its spread: nothing is compared
with a number of another machine. Peers are taken from PATH; ``--old`` names the program of an older
version. kubeconform needs its schemas: ``SHUTDOWNLINT_KUBECONFORM_SCHEMAS`` says where.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.corpus import files_of, write_corpus
from benchmarks.timing import Command, alternate, median_ms, say, spread

ROOT: Final = Path(__file__).resolve().parents[1]
CORPUS: Final = Path(os.environ.get("SHUTDOWNLINT_CORPUS", ROOT.parent / "shared" / "corpus"))
#: Parses everything with libyaml and makes nothing of it.
RAW_PARSE: Final = """
import sys
from pathlib import Path
from yaml._yaml import CParser
for name in Path(sys.argv[1]).read_text().split("\\n"):
    try:
        CParser(Path(name).read_bytes()).raw_parse()
    except Exception:
        pass
"""
READ: Final = """
import sys
from pathlib import Path
for name in Path(sys.argv[1]).read_text().split("\\n"):
    Path(name).read_bytes()
"""
WORKLOAD: Final = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: a%d}
spec:
  selector: {matchLabels: {app: a%d}}
  template:
    metadata: {labels: {app: a%d}}
    spec: {containers: [{name: a, image: b}]}
"""
#: Its preStop hook takes longer than the grace period: there is a safe fix.
FIXABLE: Final = WORKLOAD.replace(
    "{containers: [{name: a, image: b}]}",
    """
      terminationGracePeriodSeconds: 30
      containers:
        - name: a
          image: b
          lifecycle: {preStop: {sleep: {seconds: 40}}}""",
)


class Bench:
    """The tables."""

    def __init__(self, folder: Path, old: str | None, *, peers: bool) -> None:
        self.folder = folder
        self.old = old
        self.peers = peers
        self.one = folder / "one.yaml"
        self.one.write_text(WORKLOAD.replace("%d", "1"))
        self.ten = folder / "ten"
        self.ten.mkdir()
        for number in range(10):
            (self.ten / f"{number}.yaml").write_text(WORKLOAD.replace("%d", str(number)))

    def ours(self, name: str, *words: str, folder: Path | None = None) -> list[Command]:
        """Return a command of ours; with an older version, the same with that one."""
        new = Command(name, [_program(), *words], folder=folder, environment=self._cache("new"))
        if self.old is None:
            return [new]
        old = Command(f"{name} (old)", [self.old, *words], folder=folder)
        old.environment = self._cache("old")
        return [new, old]

    def _cache(self, name: str) -> dict[str, str]:
        return {"SHUTDOWNLINT_CACHE_DIR": str(self.folder / f"cache-{name}")}

    def table(self, title: str, floor: str, commands: list[Command], rounds: int) -> None:
        """Run the commands in turn, and print what they took as multiples of the first."""
        alternate(commands, rounds)
        old = {each.name.removesuffix(" (old)"): each for each in commands if "(old)" in each.name}
        say(f"| {title} | ms | x {floor} | new / old | peak MB |\n|---|---|---|---|---|")
        for each in commands:
            if "(old)" in each.name:
                continue
            before = old.get(each.name)
            cells = [
                each.name,
                median_ms(sample.wall for sample in each.samples),
                spread(each.ratios(commands[0])),
                spread(each.ratios(before)) if before is not None else "",
                f"{statistics.median(sample.peak for sample in each.samples):.0f}",
            ]
            say(f"| {' | '.join(cells)} |")
        say()

    def start_up(self) -> None:
        """Measure the cost of a hook, in multiples of a bare interpreter."""
        one, ten = str(self.one), str(self.ten)
        changing = self.folder / "changing.yaml"

        def change(number: int) -> None:
            changing.write_text(f"{self.one.read_text()}# {number}\n")

        new = self.ours("one file, changed since the last run", "check", str(changing))
        for command in new:
            command.prepare = change
        commands = [
            Command("`python -c pass`", [sys.executable, "-c", "pass"]),
            *self.ours("`--version`", "--version"),
            *self.ours("one file, as it was", "check", one),
            *new,
            *self.ours("one file, `--no-cache`", "check", "--no-cache", one),
            *self.ours("ten files, as they were", "check", ten),
            *self.ours("ten files, `--no-cache`", "check", "--no-cache", ten),
            *self.ours("`explain` of one workload", "explain", one, "a1"),
            *self.ours("`suggest` for one workload", "suggest", one, "a1"),
            *self._peers(one, "one file"),
            *self._peers(ten, "ten files"),
        ]
        self.table("start-up", "bare Python", commands, 11)

    def _peers(self, path: str, what: str) -> list[Command]:
        found = []
        for name, words in _peers(path).items():
            if self.peers and shutil.which(words[0]):
                found.append(Command(f"{name}, {what}", words))
        return found

    def corpus(self, corpus: Path) -> None:
        """Measure the real manifests, in multiples of the raw parse of the same bytes."""
        names = self.folder / "names"
        names.write_text("\n".join(map(str, files_of(corpus))))
        copy = self.folder / "corpus"
        shutil.copytree(corpus, copy, symlinks=True)
        changed = next(copy.rglob("no_proxy_private_ip.yaml"), None) or files_of(copy)[0]
        text = changed.read_text()

        def change(number: int) -> None:
            changed.write_text(f"{text}# {number}\n")

        again = self.ours("one workload changed", "check", ".", folder=copy)
        for command in again:
            command.prepare = change
        where = str(corpus)
        commands = [
            Command("raw parse (libyaml)", [sys.executable, "-c", RAW_PARSE, str(names)]),
            Command("reading the files", [sys.executable, "-c", READ, str(names)]),
            *self.ours("cold", "check", "--no-cache", where),
            *self.ours("as it was", "check", where),
            *again,
            *self.ours("cold, JSON", "check", "--no-cache", "--format", "json", where),
            *self.ours("cold, SARIF", "check", "--no-cache", "--format", "sarif", where),
        ]
        linter = _peers(where)["kube-linter"]
        if self.peers and shutil.which(linter[0]):
            commands.append(Command("kube-linter", linter))
        self.table("real manifests", "raw parse", commands, 5)

    def scales(self, scales: list[int]) -> None:
        """Measure how time and memory grow with generated manifests."""
        commands = []
        for scale in scales:
            made = self.folder / f"generated-{scale}"
            write_corpus(made, scale)
            commands += self.ours(f"{scale}x", "check", "--no-cache", str(made))
            commands += self.ours(f"{scale}x, kept", "check", str(made))
        self.table("generated manifests", "the first", commands, 3)

    def fixes(self, count: int) -> None:
        """``--fix`` of many findings, each proven by the model."""
        folder = self.folder / "fixable"

        def restore(_number: int) -> None:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            for number in range(count):
                (folder / f"{number}.yaml").write_text(FIXABLE.replace("%d", str(number)))

        restore(0)
        fixing = self.ours(f"`--fix` of {count} findings", "check", "--fix", str(folder))
        checking = self.ours("the check alone", "check", "--no-cache", str(folder))
        for command in (*fixing, *checking):
            command.prepare = restore
        self.table("fixes", "the check", [*checking, *fixing], 3)


def _program() -> str:
    """Return the installed command, as a hook runs it."""
    return str(Path(sys.executable).with_name("shutdownlint"))


def _peers(path: str) -> dict[str, list[str]]:
    """Other linters of the same manifests, with their defaults."""
    folder = Path(path)
    files = list(map(str, files_of(folder))) if folder.is_dir() else [path]
    schemas = os.environ.get("SHUTDOWNLINT_KUBECONFORM_SCHEMAS", "")
    peers = {
        "kube-score": ["kube-score", "score", *files],
        "kube-linter": ["kube-linter", "lint", path],
        "checkov": [
            *("checkov", "--framework", "kubernetes", "--quiet", "--compact"),
            *("-d" if folder.is_dir() else "-f", path),
        ],
    }
    if schemas:  # it would fetch them
        peers["kubeconform"] = ["kubeconform", "-schema-location", schemas, path]
    return peers


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--old", help="the program of an older version")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--scales", type=int, nargs="*", default=[1, 10, 50])
    parser.add_argument("--fixes", type=int, default=500)
    options = parser.parse_args()
    with TemporaryDirectory() as temporary:
        bench = Bench(Path(temporary).resolve(), options.old, peers=not options.no_peers)
        if not options.no_peers:
            missing = [name for name, words in _peers(".").items() if not shutil.which(words[0])]
            say(f"not here: {', '.join(missing)}\n" if missing else "")
        bench.start_up()
        if CORPUS.is_dir():
            bench.corpus(CORPUS)
        else:
            say("(the corpus of real manifests is not here: only a generated one is measured)\n")
        if options.scales:
            bench.scales(options.scales)
        if options.fixes:
            bench.fixes(options.fixes)


if __name__ == "__main__":
    main()
