"""Common parts of the HTML reports: the frame of a page, its style, tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

from shutdownlint.reports.report import safe

if TYPE_CHECKING:
    from collections.abc import Sequence

_STYLE: Final = """
:root{color-scheme:light dark;--ink:#1c2430;--faint:#515c68;--line:#cfd6de;--paper:#fff;--soft:#f3f5f8;
--bad:#b3261e;--slow:#7a5300;--note:#0b5c9c;--link:#0b5c9c}
@media (prefers-color-scheme:dark){:root{--ink:#e7ebf0;--faint:#a9b3bf;--line:#39424e;--paper:#14181d;
--soft:#1d232b;--bad:#ff8a7e;--slow:#f0b95b;--note:#7cc0ff;--link:#7cc0ff}}
*{box-sizing:border-box}
body{font:16px/1.5 ui-sans-serif,system-ui,sans-serif;margin:0 auto;max-width:960px;padding:1rem;
background:var(--paper);color:var(--ink);overflow-wrap:anywhere}
a{color:var(--link)}h1{font-size:1.6rem;margin:.5rem 0}h2{font-size:1.25rem;margin:2rem 0 .5rem}
svg{width:100%;max-width:680px;min-width:520px;height:auto;display:block}code,pre{font:14px/1.45 ui-monospace,monospace}
pre{background:var(--soft);padding:.5rem .75rem;overflow-x:auto;margin:.5rem 0}
mark{background:none;color:var(--bad);font-weight:700;text-decoration:underline}
.wide{overflow-x:auto}table{border-collapse:collapse;margin:.5rem 0 1.5rem;width:100%}
caption{text-align:left;font-weight:600}
th,td{text-align:left;padding:.25rem .75rem .25rem 0;border-bottom:1px solid var(--line);vertical-align:top}
summary{cursor:pointer;padding:.25rem 0}details>summary:focus-visible,select:focus-visible,
input:focus-visible,a:focus-visible,.wide:focus-visible{outline:3px solid var(--link);outline-offset:2px}
th{overflow-wrap:normal}.number{white-space:nowrap}
.faint{color:var(--faint)}.error{color:var(--bad)}.warning{color:var(--slow)}.note{color:var(--note)}
.badge{font-weight:700}article{border-top:1px solid var(--line);padding:.75rem 0}
.tools{display:flex;flex-wrap:wrap;gap:.75rem 1.5rem;margin:1rem 0}
select,input{font:inherit;padding:.3rem .5rem;max-width:100%;background:var(--paper);color:var(--ink);
border:1px solid var(--faint);border-radius:4px}
@media print{svg{min-width:0}.tools{display:none}body{max-width:none}}
"""


def draw_page(title: str, body: str, script: str = "") -> str:
    """Return a whole page. It loads nothing from anywhere."""
    code = f"<script>{script}</script>" if script else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(safe(title))}</title><style>{_STYLE}</style></head>"
        f"<body><main>{body}</main>{code}</body></html>\n"
    )


def draw_table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of texts; nothing where it would be empty."""
    escaped = [[escape(safe(cell)) for cell in row] for row in rows]
    return draw_markup(heads, escaped, caption) if rows else ""


def draw_markup(heads: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "") -> str:
    """Return a table whose cells are HTML."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    above = f"<caption>{escape(caption)}</caption>" if caption else ""
    return draw_wide(f"<table>{above}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")


def draw_wide(content: str) -> str:
    """Something that may be wider than the page; a keyboard can scroll it."""
    return f'<div class="wide" tabindex="0">{content}</div>'
