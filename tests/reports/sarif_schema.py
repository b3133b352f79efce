"""The official SARIF 2.1.0 schema, fetched with pip: a published source package carries it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

#: A source package whose root holds OASIS' schema file, unchanged.
PACKAGE, MEMBER = "sarif-pydantic==0.6.2", "sarif-schema-2.1.0.json"
ID = (
    "https://raw.githubusercontent.com/oasis-tcs/sarif-spec/master/Schemata/sarif-schema-2.1.0.json"
)


def official_schema(scratch: Path) -> dict[str, Any]:
    """Return the schema, or skip if it cannot be fetched (SHUTDOWNLINT_SARIF_SCHEMA names it)."""
    given = os.environ.get("SHUTDOWNLINT_SARIF_SCHEMA")
    if given:
        return _checked(json.loads(Path(given).read_text(encoding="utf-8")))
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary"]
    command += [":all:", "--dest", str(scratch), PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(
            f"the official SARIF schema cannot be fetched here: {done.stderr.strip()[-200:]}"
        )
    (archive,) = scratch.glob("sarif_pydantic-*.tar.gz")
    with tarfile.open(archive) as tar:
        name = next(name for name in tar.getnames() if name.endswith(f"/{MEMBER}"))
        member = tar.extractfile(name)
        assert member is not None
        return _checked(json.load(member))


def _checked(schema: dict[str, Any]) -> dict[str, Any]:
    assert schema["$id"] == ID
    assert len(schema["definitions"]) > 50
    return schema
