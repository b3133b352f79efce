"""``rule``: the rules, and each one's page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from shutdownlint.cli.common import (
    configured,
    rules_for,
)
from shutdownlint.cli.options import ConfigFile
from shutdownlint.cli.output import CLEAN, FINDINGS, stop
from shutdownlint.config import Config


def command(
    rule_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Such as SL101.", show_default=False)
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Try the rules of a folder on their own examples.",
            show_default=False,
        ),
    ] = None,
    config_file: ConfigFile = None,
) -> None:
    """Show a rule's page; without an id, the list of rules (the configuration's own among them).

    Examples:

      shutdownlint rule SL102

      shutdownlint rule --test our-rules/
    """
    if test is not None:
        raise typer.Exit(_tried(Path(test)))
    config = configured(config_file, None, None, None, None)
    rules = rules_for(Config(notes=True, rules=config.rules))
    if rule_id is None:
        for rule in rules:
            sys.stdout.write(f"{rule.id}  {rule.severity.value:<8} {rule.name}\n")
        return
    found = next((rule for rule in rules if rule_id.upper() in (rule.id, rule.name.upper())), None)
    if found is None:
        raise stop(f"there is no rule {rule_id}; 'shutdownlint rule' lists them")
    from shutdownlint.reports.report import safe  # noqa: PLC0415
    from shutdownlint.reports.rule_page import rule_page  # noqa: PLC0415

    lines = (safe(line) for line in rule_page(found).split("\n"))
    sys.stdout.write("\n".join(lines))


def _tried(folder: Path) -> int:
    """Try a folder's rules; the exit code."""
    from shutdownlint.engine.cache import load_cached_rules  # noqa: PLC0415
    from shutdownlint.engine.loader import load_rules  # noqa: PLC0415
    from shutdownlint.engine.rule import RuleFileError, bundled_folder, merge_rules  # noqa: PLC0415
    from shutdownlint.linter.rule_examples import problems  # noqa: PLC0415 - needs pydantic

    try:
        rules = load_rules(folder)
        if folder.resolve() != bundled_folder().resolve():
            merge_rules(load_cached_rules(bundled_folder()), rules)  # an id may be taken
    except (RuleFileError, OSError) as error:
        raise stop(str(error)) from None
    wrong = 0
    for rule in rules:
        count = len(rule.form.examples)
        found = list(problems(rule))
        wrong += len(found)
        examples = f"{count} example{'' if count == 1 else 's'}" if count else "no examples"
        sys.stdout.write(f"{rule.id}  {'wrong' if found else 'ok'}  {rule.name}: {examples}\n")
        for problem in found:
            sys.stdout.write(f"    {rule.file}:{rule.region.line}: {problem}\n")
    return FINDINGS if wrong else CLEAN
