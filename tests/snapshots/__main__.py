"""Store the outputs again: ``python -m tests.snapshots``. Read the difference before committing."""

from __future__ import annotations

import os

from tests.snapshots.cases import CASES, STORED, output_of, path_of


def main() -> None:
    """Write every output, and remove those of commands that are gone."""
    os.environ["SHUTDOWNLINT_CACHE_DIR"] = ""
    os.environ["COLUMNS"] = "80"
    STORED.mkdir(exist_ok=True)
    wanted = {path_of(name): output_of(name) for name in CASES}
    for path in STORED.iterdir():
        if path not in wanted:
            path.unlink()
    for path, text in wanted.items():
        path.write_text(text, encoding="utf-8")


main()
