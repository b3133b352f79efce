"""``rule``: the rules, and each one's page."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from shutdownlint.cli.given import (
    rules_for,
)
from shutdownlint.cli.say import stop
from shutdownlint.config import Config


def command(
    rule_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Such as SL101.", show_default=False)
    ] = None,
) -> None:
    """Show a rule's page; without an id, the list of rules."""
    rules = rules_for(Config(notes=True))
    if rule_id is None:
        for rule in rules:
            sys.stdout.write(f"{rule.id}  {rule.severity.value:<8} {rule.name}\n")
        return
    found = next((rule for rule in rules if rule_id.upper() in (rule.id, rule.name.upper())), None)
    if found is None:
        raise stop(f"there is no rule {rule_id}; 'shutdownlint rule' lists them")
    from shutdownlint.reports.page import rule_page  # noqa: PLC0415

    sys.stdout.write(rule_page(found))
