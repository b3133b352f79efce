"""PromQL as text. Names of workloads come from manifests, so each is quoted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint.patterns import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import timedelta

_SPECIAL: Final = lazy_pattern(r"[^a-zA-Z0-9_/:@-]")
#: The quantiles that are asked of native histograms, which have no buckets of their own.
QUANTILES: Final = (0.5, 0.9, 0.95, 0.99, 0.999)


class Matcher(Struct, frozen=True):
    """A condition on a label."""

    label: str
    operator: str
    value: str

    def __str__(self) -> str:
        return f"{self.label}{self.operator}{quote(self.value)}"


def equals(label: str, value: str) -> Matcher:
    """Return the matcher of a label with this value."""
    return Matcher(label, "=", value)


def matches(label: str, expression: str, *, negated: bool = False) -> Matcher:
    """Return the label's whole value matches an expression, or does not."""
    return Matcher(label, "!~" if negated else "=~", expression)


def quote(text: str) -> str:
    """Return a string of PromQL."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def quote_expression(text: str) -> str:
    """Return an expression that matches this text only."""
    return _SPECIAL.sub(lambda found: f"\\x{{{ord(found[0]):x}}}", text)


def window_text(window: timedelta) -> str:
    """Return a range of PromQL: whole days, hours, minutes or seconds."""
    seconds = int(window.total_seconds())
    for unit, length in (("d", 86_400), ("h", 3600), ("m", 60)):
        if seconds % length == 0:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def select(name: str, matchers: Sequence[Matcher], window: timedelta) -> str:
    """Return the samples of a metric in the window."""
    # A name with a colon is valid; others with rare characters are quoted by their label.
    return f"{name}{{{', '.join(map(str, matchers))}}}[{window_text(window)}]"


def bucket_counts(name: str, selection: Iterable[Sequence[Matcher]], window: timedelta) -> str:
    """Return a query for the number of requests in each bucket of a classic histogram."""
    parts = [f"increase({select(name, each, window)})" for each in selection]
    return f"sum by (le) ({' or '.join(parts)})"


def share_text(share: float) -> str:
    """Return a share as it is written in a query and in the labels of its answer."""
    return f"{share:.10g}"


def native_quantile(
    quantile: float, name: str, selection: Iterable[Sequence[Matcher]], window: timedelta
) -> str:
    """Return a quantile of a native histogram."""
    parts = [f"rate({select(name, each, window)})" for each in selection]
    return f"histogram_quantile({share_text(quantile)}, sum({' or '.join(parts)}))"


def maximum(name: str, selection: Iterable[Sequence[Matcher]], window: timedelta) -> str:
    """Return the largest sample in the window."""
    parts = [f"max_over_time({select(name, each, window)})" for each in selection]
    return f"max({' or '.join(parts)})"


def label(expression: str, name: str, value: str) -> str:
    """Return the same series with one more label, by which they are recognized."""
    return f"label_replace({expression}, {quote(name)}, {quote(value)}, {quote('')}, {quote('')})"
