"""The programs that render, where a test machine has them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

TOOLS = Path(__file__).parent / ".cache" / "bin"


def search_path() -> str:
    """Return the search path with the programs that were built for the tests."""
    return f"{TOOLS}{os.pathsep}{os.environ['PATH']}"


def need(*tools: str) -> str:
    """Return the path of the first of these programs that exists; skip the test without one."""
    for tool in tools:
        found = shutil.which(tool, path=search_path())
        if found is not None:
            return found
    pytest.skip(f"{' and '.join(tools)} not installed: what they render is not tested")
