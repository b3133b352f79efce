"""Compile rule files and program records while the package is built: runs load them fast."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompileData(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the compiled rules and program records to the package."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile them; for an editable installation into the source folder."""
        source = Path(self.root) / "src"
        sys.path.insert(0, str(source))
        from shutdownlint.engine.rule_loader import compile_rules  # noqa: PLC0415 - added above
        from shutdownlint.programs.known import compile_programs  # noqa: PLC0415 - added above

        editable = version == "editable"
        folder = source / "shutdownlint" if editable else Path(tempfile.mkdtemp())
        made = {"compiled_rules.bin": compile_rules, "compiled_programs.bin": compile_programs}
        for name, compile_data in made.items():
            (folder / name).write_bytes(compile_data(in_checkout=editable))
            if not editable:
                build_data["force_include"][str(folder / name)] = f"shutdownlint/{name}"
