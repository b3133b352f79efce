"""``python -m pages`` builds the site into ``build/pages/site``.

The generator is Zensical (``pip install '.[pages]'``); docs/decisions.md has the reason.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from pages.configuration import SCRIPT, STYLE, configuration
from pages.sources import ROOT, markdown
from shutdownlint.cli.schema import Which, schema_text

FOLDER = ROOT / "build" / "pages"


def main() -> int:
    """Write the sources and have the site built; the generator's exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sources-only", action="store_true", help="write what it is built from")
    asked = parser.parse_args()
    shutil.rmtree(FOLDER, ignore_errors=True)
    found = markdown()
    for page, text in found.items():
        _write(FOLDER / "docs" / page, text)
    shutil.copytree(ROOT / "docs" / "images", FOLDER / "docs" / "images")
    _write(FOLDER / "docs" / "timelines.css", STYLE)
    for which in Which:
        _write(FOLDER / "docs" / "schema" / f"{which}.json", schema_text(which))
    _write(FOLDER / "docs" / "tables.js", SCRIPT)
    _write(FOLDER / "zensical.toml", configuration(found))
    if asked.sources_only:
        return 0
    zensical = Path(sys.executable).with_name("zensical")
    command = [str(zensical), "build", "--clean", "--strict"]
    return subprocess.run(command, cwd=FOLDER, check=False).returncode


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


if __name__ == "__main__":
    sys.exit(main())
