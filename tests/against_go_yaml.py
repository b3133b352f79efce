"""Our reading of YAML against Kubernetes' own: ``python -m tests.against_go_yaml --documents 1000000``.

Mutated documents go through one process of the real library (built from ``tests/go_yaml``). What both
accept has to be the same data. A document that only one accepts is counted: where we refuse it, the
run says so (SL001); where the library refuses it, the API server will.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random
from typing import IO, TYPE_CHECKING, Any, Final

from shutdownlint.manifests.reader import decode_text
from shutdownlint.yaml_source.composer import ComposeError, compose
from shutdownlint.yaml_source.errors import BudgetExceededError
from shutdownlint.yaml_source.scalars import resolve_plain
from shutdownlint.yaml_source.tree import Tree
from tests.fuzz.targets import TARGETS

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM: Final = Path(__file__).parent / ".cache" / "bin" / "yaml-json"
BATCH: Final = 200
REFUSED: Final = object()


def ours(data: bytes) -> Any:
    """Return what this project reads; ``REFUSED`` if it refuses the data."""
    try:
        roots = compose(decode_text(data))
        return Tree(roots[0]).to_python() if roots else None
    except (UnicodeDecodeError, ComposeError, BudgetExceededError):
        return REFUSED


def theirs(documents: list[bytes], process: subprocess.Popen[bytes]) -> Iterator[Any]:
    """Yield what the library reads of each document."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"".join(len(each).to_bytes(4, "big") + each for each in documents))
    process.stdin.flush()
    for _ in documents:
        answer = _read(process.stdout, int.from_bytes(_read(process.stdout, 4), "big"))
        yield json.loads(answer) if answer else REFUSED


def _read(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size) if size else b""
    if len(data) < size:
        raise EOFError
    return data


def normal(data: Any) -> Any:
    """Return data without the differences of JSON itself: numbers as floats, keys as text."""
    if isinstance(data, dict):
        return {_key(str(key)): normal(value) for key, value in data.items()}
    if isinstance(data, list):
        return [normal(value) for value in data]
    if isinstance(data, bool) or not isinstance(data, int | float):
        return data
    try:
        number = float(data)
    except OverflowError:
        return str(data)
    return "nan" if math.isnan(number) else number


def _key(text: str) -> str:
    """Return a key; those that are numbers, true or false are compared by their value.

    The library writes them as JSON does, we as they are written. No field is called so.
    """
    value = resolve_plain(text) if text else text
    return text if isinstance(value, str) else str(normal(value))


def known_difference(data: bytes) -> str | None:
    """Why a document is read in another way, where that is known and of no use to an attacker."""
    if b"\xef\xbb\xbf" in data[1:]:
        return "different: a byte order mark inside of the text"
    return None


def make(rng: Random) -> bytes:
    """One document."""
    data = TARGETS["reading" if rng.random() < 0.6 else "manifests"][0].make(rng)
    parts = data.split(b"\n---")
    return rng.choice(parts).removeprefix(b"---")


def main() -> None:
    """Compare, and print how many were alike and the first that were not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=10)
    asked = parser.parse_args()
    if not PROGRAM.exists():
        sys.exit(f"{PROGRAM} is not built: .ci/run builds it where Go is there")
    rng, counts = Random(asked.seed), Counter[str]()
    with subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for _ in range(asked.documents // BATCH):
            documents = [make(rng) for _ in range(BATCH)]
            for data, answer in zip(documents, theirs(documents, process), strict=True):
                own = ours(data)
                if own is REFUSED or answer is REFUSED:
                    both = own is REFUSED and answer is REFUSED
                    who = "we" if own is REFUSED else "only the library"
                    counts["both refuse" if both else f"{who} refuse"] += 1
                elif normal(own) == normal(answer):
                    counts["the same"] += 1
                elif (reason := known_difference(data)) is not None:
                    counts[reason] += 1
                else:
                    counts["different"] += 1
                    if counts["different"] <= asked.show:
                        sys.stdout.write(f"{data!r}\n  ours   {own!r}\n  theirs {answer!r}\n")
        assert process.stdin is not None
        process.stdin.close()
    for name, count in counts.most_common():
        sys.stdout.write(f"{name}: {count:,}\n")
    sys.exit(1 if counts["different"] else 0)


if __name__ == "__main__":
    main()
