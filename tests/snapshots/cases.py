"""The commands whose outputs are stored, and how an output is made."""

from __future__ import annotations

import re
from contextlib import chdir
from pathlib import Path
from typing import Final

from shutdownlint import __version__
from shutdownlint.reports.registry import (
    CHECK_REPORTERS,
    EXPLAIN_REPORTERS,
    MESH_REPORTERS,
    OVERRIDE_REPORTERS,
    SUGGEST_REPORTERS,
    SUMMARY_REPORTERS,
    VERIFY_REPORTERS,
)
from tests.helpers import run

ROOT: Final = Path(__file__).parents[2]
STORED: Final = Path(__file__).parent / "stored"
_SHOP: Final = "examples/shop"
_ENDINGS: Final = {"markdown": "md", "shell": "sh", "k6": "js", "sarif": "json", "gitlab": "json"}
_KNOWN: Final = frozenset(("json", "html", "svg", "md", "sh", "js"))

#: The words of each command, by the name of the file that its output is stored in. What libraries
#: draw (help, JSON Schema) is not stored: it changes with their versions.
CASES: Final[dict[str, tuple[str, ...]]] = {
    **{
        f"check-{r.name}": ("check", "--notes", "--p99", "10s", "--format", r.name, _SHOP)
        for r in CHECK_REPORTERS
    },
    "check-verbose": ("check", "--verbose", _SHOP),
    "check-diff": ("check", "--diff", "--unsafe-fixes", _SHOP),
    **{
        f"explain-{r.name}": (
            *("explain", _SHOP, "checkout", "--format", r.name, "--request", "10s"),
            *("--request", "2s@7s", "--outbound", "1s@6s"),
        )
        for r in EXPLAIN_REPORTERS
    },
    **{
        f"summary-{r.name}": (
            *("explain", "--summary", "--format", r.name, _SHOP),
            *("--rate", "100", "--rollouts", "5", "--p99", "3s"),
        )
        for r in SUMMARY_REPORTERS
    },
    **{
        f"overrides-{r.name}": ("explain", "--overrides", "--format", r.name, _SHOP)
        for r in OVERRIDE_REPORTERS
    },
    **{
        f"suggest-{r.name}": ("suggest", _SHOP, "--p99", "10s", "--format", r.name)
        for r in SUGGEST_REPORTERS
    },
    **{
        f"mesh-wide-{r.name}": ("suggest", "--mesh-wide", _SHOP, "--p99", "10s", "--format", r.name)
        for r in MESH_REPORTERS
    },
    **{
        f"verify-{r.name}": ("verify", _SHOP, "frontend", "--format", r.name)
        for r in VERIFY_REPORTERS
    },
    "measure": ("measure", _SHOP),
    "rule": ("rule", "SL201"),
    "rule-list": ("rule", "grace"),
    "rule-fields": ("rule", "--fields"),
}


def path_of(name: str) -> Path:
    """Return the file that an output is stored in."""
    last = name.rpartition("-")[2]
    ending = _ENDINGS.get(last, last if last in _KNOWN else "txt")
    return STORED / f"{name}.{ending}"


def output_of(name: str) -> str:
    """Return the output of a command, without what differs between machines and versions."""
    with chdir(ROOT):
        code, out, err = run(*CASES[name])
    text = f"{out}\n[stderr]\n{err}" if err else out
    text = text.replace(str(ROOT), "ROOT").replace(f'"{__version__}"', '"VERSION"')
    return re.sub(r"\r\n", "\n", f"{text}[exit code {code}]\n")
