"""The entry point of the ``shutdownlint`` command.

``--version`` is answered here, before the command-line library is imported, so that
editors and hooks that ask for it do not wait.
"""

from __future__ import annotations

import sys

from shutdownlint import __version__


def main() -> None:
    """Run the command line; never returns normally (exits with the run's code)."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        sys.stdout.write(f"shutdownlint {__version__}\n")
        raise SystemExit(0)
    from shutdownlint.cli import app  # noqa: PLC0415 - see the module's docstring

    app()


if __name__ == "__main__":
    main()
