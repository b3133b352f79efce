"""Files that hold one mapping, such as a rule or the record of a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shutdownlint import files, limits
from shutdownlint.yaml_source.composer import ComposeError, compose
from shutdownlint.yaml_source.errors import TOO_MANY_VALUES, BudgetExceededError, SourceFileError
from shutdownlint.yaml_source.tree import Tree

if TYPE_CHECKING:
    from pathlib import Path


def read_source(path: Path, error: type[SourceFileError]) -> str:
    """Return the text of a file of limited size. Raises an error of that type."""
    file = str(path)
    try:
        if files.size_of(path) > limits.MAX_CONFIGURATION_BYTES:
            raise error(file, 1, f"larger than {limits.MAX_CONFIGURATION_BYTES:,} bytes")
        return files.read_text(path)
    except (OSError, UnicodeDecodeError) as reason:
        raise error(file, 1, f"cannot be read: {reason}") from None


def parse_mapping(
    text: str, file: str, what: str, error: type[SourceFileError]
) -> tuple[Tree, dict[Any, Any]]:
    """Return the only document of a text, which has to be a mapping: its places, and its values.

    ``what`` is what messages call the file. Raises an error of that type.
    """
    try:
        roots = compose(text)
        if len(roots) != 1:
            raise error(file, 1, f"{what} has exactly one document")
        tree = Tree(roots[0])
        data: Any = tree.to_python()
    except ComposeError as reason:
        raise error(file, reason.line, reason.reason) from None
    except BudgetExceededError:
        raise error(file, 1, TOO_MANY_VALUES) from None
    if not isinstance(data, dict):
        raise error(file, 1, f"{what} is a mapping")
    return tree, data
