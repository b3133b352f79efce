"""`schema`: prints JSON Schemas for editors: configuration, rule files, program records."""

# No postponed annotations here: they are read as the program runs.
import json
from enum import StrEnum
from typing import Annotated, Any

from msgspec.json import schema as make_schema

from shutdownlint.cli.declarations import Argument
from shutdownlint.cli.output import show_page


class Which(StrEnum):
    """The files that have a schema."""

    CONFIG = "config"
    RULE = "rule"
    PROGRAM = "program"


def command(
    *,
    which: Annotated[Which, Argument(metavar="config|rule|program", help="The file.")],
) -> None:
    """Print the JSON Schema of the configuration, of rule files, or of program records.

    Examples:

      shutdownlint schema rule > rule.schema.json
    """
    show_page(schema_text(which))


def schema_text(which: Which) -> str:
    """Return a schema, generated from the model that reads the file."""
    if which is Which.CONFIG:
        from shutdownlint.config.load import ConfigForm  # noqa: PLC0415 - needs pydantic

        schema: dict[str, Any] = ConfigForm.model_json_schema()
    elif which is Which.RULE:
        from shutdownlint.engine.schema import RuleSchema  # noqa: PLC0415 - needs pydantic

        schema = RuleSchema.model_json_schema()
    else:
        from shutdownlint.programs.record import Program  # noqa: PLC0415 - for this schema only

        schema = make_schema(Program)
    title = {"title": f"shutdownlint {which.value} file"}
    complete = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, **title}
    return json.dumps(complete, indent=2) + "\n"
