"""The destination of a report: drawn on the terminal, or as text into a file."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from shutdownlint import files, outputs

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

#: The width of a report that does not go to a terminal.
_FILE_WIDTH = 100


class ReportOutput(Struct, frozen=True):
    """``file`` is None for standard output. ``color`` is auto, always or never."""

    file: str | None = None
    color: str = "auto"

    def draw(self, draw: Callable[[Console], None]) -> str | None:
        """Draw on the terminal, and give nothing to write; or draw into a text."""
        from rich.console import Console  # noqa: PLC0415 - most reports do not draw

        options: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}
        if self.color == "always":
            # Before NO_COLOR: it was asked for in this run.
            options |= {"force_terminal": True, "color_system": "standard", "no_color": False}
        elif self.color == "never":
            options["no_color"] = True
        if self.file is None:
            console = Console(**options)
            if console.legacy_windows:  # it draws with calls of the system
                files.disable_caching("it draws on a console of Windows")
                draw(console)
                return None
            with console.capture() as captured:
                draw(console)
            outputs.write(outputs.SCREEN, captured.get())
            return None
        # Not a terminal: no colours, and a width of its own.
        text = io.StringIO()
        draw(Console(file=text, width=_FILE_WIDTH, **options))
        return text.getvalue()
