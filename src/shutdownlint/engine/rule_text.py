"""The texts of a rule's file for people, read without the checks made when it was loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shutdownlint import files
from shutdownlint.yaml_source.composer import compose
from shutdownlint.yaml_source.tree import Tree

if TYPE_CHECKING:
    from shutdownlint.engine.rule import Rule


def read_explanation(rule: Rule) -> tuple[str, list[str]]:
    """Return the explanation of a rule, and its sources. Raises ``OSError`` if the file is gone."""
    data: Any = Tree(compose(files.read_text(rule.file))[0]).to_python()
    return str(data.get("explanation", "")), [str(source) for source in data.get("sources", ())]
