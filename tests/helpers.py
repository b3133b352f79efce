"""Short ways to read, plan and check a text."""

from __future__ import annotations

import textwrap
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from typer.testing import CliRunner

from shutdownlint.cli.app import command_line
from shutdownlint.config import Config
from shutdownlint.engine.loader import load_rules
from shutdownlint.linter.linter import check, read
from shutdownlint.manifests.discovery import InputFile
from shutdownlint.manifests.loader import InputSource
from shutdownlint.platforms.durations import go_duration
from shutdownlint.platforms.versions import Version

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shutdownlint.engine.finding import Finding
    from shutdownlint.engine.rule import Rule
    from shutdownlint.linter.linter import Result, Scene
    from shutdownlint.platforms.user_facts import UserFacts
    from shutdownlint.shutdown import Plan


@cache
def rules() -> tuple[Rule, ...]:
    """The bundled rules."""
    return tuple(load_rules())


def given(
    p99: str | None = None, kubernetes: str | None = None, istio: str | None = None
) -> UserFacts:
    """What a user says."""
    config = Config(
        kubernetes=Version.parse(kubernetes) if kubernetes else None,
        istio=Version.parse(istio) if istio else None,
    )
    return config.given(go_duration(p99) if p99 else None)


def check_text(text: str | bytes, said: UserFacts | None = None, name: str = "shop.yaml") -> Result:
    """Lint a text as a file of that name."""
    return check_files({name: text}, said)


def check_files(files: Mapping[str, str | bytes], said: UserFacts | None = None) -> Result:
    """Lint several files together; findings name them as given here."""
    with TemporaryDirectory() as folder:
        sources = _sources(files, Path(folder))
        return check(sources, said or given(), rules=lambda: list(rules()))


def read_files(files: Mapping[str, str | bytes], said: UserFacts | None = None) -> Scene:
    """Read and plan only. Places stay findable after the files are gone."""
    with TemporaryDirectory() as folder:
        return read(_sources(files, Path(folder)), said or given())


def _sources(files: Mapping[str, str | bytes], folder: Path) -> list[InputSource]:
    sources = []
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(dedent(text).encode() if isinstance(text, str) else text)
        sources.append(InputSource(InputFile(path, name)))
    return sources


def dedent(text: str) -> str:
    """A text block without its common indentation and first line break."""
    return textwrap.dedent(text.removeprefix("\n"))


def plan_of(text: str, said: UserFacts | None = None) -> Plan:
    """The plan of the only workload of a text."""
    (pod,) = read_files({"shop.yaml": text}, said).pods
    assert pod.plan is not None
    return pod.plan


def told(findings: list[Finding], *, notes: bool = False) -> list[tuple[str, int]]:
    """Rule and line of each finding."""
    return [(f.rule, f.region.line) for f in findings if notes or f.severity != "note"]


def run(*arguments: str) -> tuple[int, str, str]:
    """The command line: exit code, standard output, standard error."""
    result = CliRunner().invoke(command_line(), list(arguments))
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.stdout, result.stderr
