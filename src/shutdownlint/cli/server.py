"""``server``: findings while a manifest is edited, for editors."""

# No postponed annotations here: they are read as the program runs.
import gc
import os
import sys
from typing import TYPE_CHECKING

from shutdownlint import files as file_reads
from shutdownlint import outputs
from shutdownlint.cli.options import EnvironmentOptions, FileOptions
from shutdownlint.cli.output import usage_error
from shutdownlint.cli.session import Session

try:
    from shutdownlint.server.handlers import make_server
    from shutdownlint.server.workspace import WorkspaceError
except ImportError:  # the extra is not installed
    make_server = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from shutdownlint.linter.options import LintOptions
    from shutdownlint.manifests.inputs import Inputs


def command(*, files: FileOptions, environment: EnvironmentOptions) -> None:
    """Speak the language server protocol on standard input and output.

    An editor starts it in the folder of a workspace. It shows findings while a manifest is edited,
    timelines as hovers, fixes, and above each workload what a stop of it loses. It runs no program,
    renders nothing and writes no file.

    Examples:

      shutdownlint server
    """
    if make_server is None:
        raise usage_error("the server needs more packages: pip install 'shutdownlint[server]'")
    file_reads.disable_caching("it runs until the editor ends it")

    def load() -> "tuple[Inputs, LintOptions]":
        with outputs.recording() as written:
            try:
                session = Session.of(files, environment)
                return session.read(["."]), session.options()
            except SystemExit:
                message = " ".join(text.strip() for _, _, text in written)
                raise WorkspaceError(message) from None

    gc.enable()  # a run does without, a server lives long
    # Nothing but the protocol goes to the editor: what anything else would print goes to stderr.
    editor = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    server = make_server(load)
    try:
        server.start_io(stdout=editor)
    finally:
        server.close()
