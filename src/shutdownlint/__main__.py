"""The entry point of the ``shutdownlint`` command.

``--version`` is handled here, before the command-line library is imported, so that editors and
hooks that call it do not wait.
"""

from __future__ import annotations

import gc
import sys

from shutdownlint import __version__


def main() -> None:
    """Run the command line; never returns normally (exits with the run's code)."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        sys.stdout.write(f"shutdownlint {__version__}\n")
        raise SystemExit(0)
    # A run is short and makes few cycles: looking for them costs more than they hold.
    gc.disable()
    from shutdownlint.cli.app import run  # noqa: PLC0415 - see the module's docstring

    try:
        run()
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        location = error.__traceback__
        while location is not None and location.tb_next is not None:
            location = location.tb_next
        at = f"{location.tb_frame.f_code.co_filename}:{location.tb_lineno}: " if location else ""
        text = f"{at}{type(error).__name__}: {error}"
        sys.stderr.write(f"shutdownlint: internal error; please report it: {text}\n")
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
