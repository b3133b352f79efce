"""The actions of Go templates in a text: ``{{ … }}``.

Found by looking for the braces: an expression would scan the rest of the text for every one of them
that is never closed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def find_actions(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each action."""
    start = text.find("{{")
    while start >= 0:
        end = text.find("}}", start + 2)
        if end < 0:
            return
        yield start, end + 2
        start = text.find("{{", end + 2)


def action_text(action: str) -> str:
    """Return the text of an action, without its braces and the signs that trim white space."""
    return action[2:-2].removeprefix("-").removesuffix("-").strip()


def replace_actions(text: str, new: str) -> str:
    """Return the text with another text in the place of every action."""
    parts, at = [], 0
    for start, end in find_actions(text):
        parts += [text[at:start], new]
        at = end
    return "".join([*parts, text[at:]])
