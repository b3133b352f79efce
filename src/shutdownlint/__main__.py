"""The entry point of the ``shutdownlint`` command.

``--version`` is handled here, before anything else is imported, so that editors and hooks that
call it do not wait.
"""

from __future__ import annotations

import gc
import os
import sys

from shutdownlint import __version__

TYPE_CHECKING = False  # importing typing costs more than --version does
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> NoReturn:
    """Run the command line, and end the process with the run's code."""
    code = 2
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # it was closed by who called this
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
    try:
        run()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        code = 128 + 2
    except BrokenPipeError:
        code = 1
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:  # the reader of the report has gone
        code = code or 1
    # Taking every object apart at the end costs a small run as much as its checks.
    os._exit(code)


def run() -> NoReturn:
    """Run the command line; exits with the run's code."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        sys.stdout.write(f"shutdownlint {__version__}\n")
        raise SystemExit(0)
    # A run makes many objects that stay and few cycles. Looking for them costs a fourth of a large
    # run with a JSON report.
    gc.disable()
    from shutdownlint.cli.start import run_command  # noqa: PLC0415 - see above

    try:
        run_command()
    except BrokenPipeError:
        raise
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
