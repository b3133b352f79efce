"""Message templates: ``{field}`` for a value, ``{field.origin}`` for where it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct

from shutdownlint.patterns import lazy_pattern
from shutdownlint.platforms.fields import edit_distance_suggestion

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shutdownlint.platforms.fields import Field


class TemplateValues(Protocol):
    """The values that fill a template."""

    def value_text(self, name: str) -> str:
        """Return a field's value as messages write it."""

    def origin_text(self, name: str, file: str) -> str:
        """Describe the origin of a field's value, in a text about ``file``."""


class TemplatePart(Struct, frozen=True, array_like=True):
    """Literal text and the field behind it, if there is one."""

    literal: str
    field: str | None = None
    origin: bool = False


class MessageTemplate(Struct, frozen=True, array_like=True):
    """A template, split into its parts."""

    parts: tuple[TemplatePart, ...]

    @classmethod
    def parse(cls, text: str, fields: Mapping[str, Field]) -> MessageTemplate:
        """Parse a template. Raises ``ValueError`` for an unknown field or broken braces."""
        from string import Formatter  # noqa: PLC0415 - a run has rules that were read before

        parts = []
        for literal, name, spec, conversion in Formatter().parse(" ".join(text.split())):
            if name is None:
                parts.append(TemplatePart(literal))
                continue
            base, _, attribute = name.partition(".")
            if base not in fields or spec or conversion or attribute not in ("", "origin"):
                hint = edit_distance_suggestion(base, list(fields))
                raise ValueError(f"unknown field '{{{name}}}'{hint}")
            if attribute and not fields[base].setting:
                raise ValueError(f"'{base}' has no origin")
            parts.append(TemplatePart(literal, base, bool(attribute)))
        return cls(tuple(parts))

    @property
    def names(self) -> tuple[str, ...]:
        """The fields that it mentions."""
        return tuple(dict.fromkeys(part.field for part in self.parts if part.field is not None))

    def fill(self, values: TemplateValues, file: str) -> str:
        """Return the message for one subject, in a report about ``file``."""
        out: list[str] = []
        for part in self.parts:
            out.append(part.literal)
            if part.field is None:
                continue
            if part.origin:
                out.append(values.origin_text(part.field, file))
                continue
            value = values.value_text(part.field)
            if not value:  # an empty value leaves no gap
                out[-1] = out[-1].removesuffix(" ")
            out.append(value)
        text = without_absent_hook("".join(out).strip())
        return _without_zero_terms(text) if " + " in text or ", minus " in text else text


#: Terms of a sum that are zero or not known, and a sum of one term that is left.
_ZERO_TERM: Final = lazy_pattern(
    r"an unknown time [A-Za-z0-9-]+ \+ "
    r"|(?<![\w.])0s [A-Za-z0-9-]+(?: [a-z]{1,20}){0,5} \+ | \+ 0s [A-Za-z0-9-]+|, minus 0s \w+"
)
_ONE_TERM: Final = lazy_pattern(
    r"(?<!\+ )(?<![\w.])([0-9][0-9a-z.]*) "
    r"([A-Za-z][A-Za-z0-9 -]{0,40}(?: \([^()]{0,80}\))?) = \1(?![\w.])"
)


_ABSENT_HOOK: Final = lazy_pattern(r"(?:[^\s(]{1,80} )?preStop 0s, (no preStop hook)")


def without_absent_hook(text: str) -> str:
    """``app preStop 0s, no preStop hook`` as ``no preStop hook``."""
    return _ABSENT_HOOK.sub(r"\1", text) if "no preStop hook" in text else text


def _without_zero_terms(text: str) -> str:
    """``0s preStop + 10s p99 = 10s`` as ``10s p99``."""
    return _ONE_TERM.sub(r"\1 \2", _ZERO_TERM.sub("", text))
