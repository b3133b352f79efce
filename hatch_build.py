"""Compile the rule files while the package is built, so that runs load them fast."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_NAME = "compiled_rules.bin"


class CompileRules(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the compiled rules to the package."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the rules; for an editable installation into the source folder."""
        source = Path(self.root) / "src"
        sys.path.insert(0, str(source))
        from shutdownlint.engine.rule_loader import compile_rules  # noqa: PLC0415 - added above

        if version == "editable":
            (source / "shutdownlint" / _NAME).write_bytes(compile_rules(in_checkout=True))
            return
        folder = tempfile.mkdtemp()
        made = Path(folder) / _NAME
        made.write_bytes(compile_rules(in_checkout=False))
        build_data["force_include"][str(made)] = f"shutdownlint/{_NAME}"
