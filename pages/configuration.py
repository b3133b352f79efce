"""The configuration of the site's generator."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from pages.sources import PAGES, PROGRAMS, RULES, programs_by_page, rules_by_title
from shutdownlint.project import PROJECT_URL, SITE_URL
from shutdownlint.reports.explain_svg import DARK, LIGHT, color_properties

if TYPE_CHECKING:
    from collections.abc import Mapping

#: The sections of the navigation, with the pages of each.
_SECTIONS: Final = {
    "Guide": (
        "guides.md",
        "first-week.md",
        "ci.md",
        "editors.md",
        "clusters.md",
        "policies.md",
        "configuration.md",
        "model-servers.md",
        "fixes.md",
        "measure-and-verify.md",
        "own-rules.md",
        "own-programs.md",
        "rule-fields.md",
    ),
    "Sources and verification": (
        "platforms.md",
        "facts.md",
        "conformance.md",
        "story.md",
        "comparison.md",
    ),
    "Project": (
        "security.md",
        "limits.md",
        "architecture.md",
        "writing-style.md",
        "performance.md",
        "versions.md",
        "decisions.md",
        "contributing.md",
        "long-tests.md",
        "changelog.md",
    ),
}
#: The pictures follow the colours that the reader chose for the site.
_PAPER: Final = {"paper": "var(--md-default-bg-color)"}
STYLE: Final = f"""\
[data-md-color-scheme="default"] .sdl {{ {color_properties({**LIGHT, **_PAPER})} }}
[data-md-color-scheme="slate"] .sdl {{ {color_properties({**DARK, **_PAPER})} }}
.timeline {{ overflow-x: auto; margin: 1em 0; }}
.timeline svg {{ min-width: 520px; max-width: 680px; width: 100%; height: auto; }}
[data-md-color-scheme="default"] .md-nav__link--active .md-ellipsis {{ color: #3a4fd0; }}
[data-md-color-scheme="slate"] .md-nav__link--active .md-ellipsis {{ color: #9aa9ff; }}
details table {{ width: 100%; }}
details caption {{ text-align: left; font-weight: 600; }}
"""
#: The theme lets wide tables scroll; with this a keyboard can scroll them too.
SCRIPT: Final = """\
addEventListener("load", () => {
  for (const table of document.querySelectorAll(".md-typeset__scrollwrap")) table.tabIndex = 0;
});
"""


def configuration(pages: Mapping[str, str]) -> str:
    """Return the generator's configuration file, for pages by their path."""
    nav = [
        {"Start here": "index.md"},
        {"Rules": _rules(pages)},
        {"Programs": [PROGRAMS, *({_title(pages[name]): name} for name in programs_by_page())]},
        *({title: [{PAGES[p][1]: p} for p in found]} for title, found in _SECTIONS.items()),
    ]
    settings = {
        "site_name": "shutdownlint",
        "site_description": "How each Kubernetes pod shuts down, and which requests are lost.",
        "site_url": f"{SITE_URL}/",
        "repo_url": PROJECT_URL,
        "docs_dir": "docs",
        "site_dir": "site",
        "extra_css": ["timelines.css"],
        "extra_javascript": ["tables.js"],
        "nav": nav,
    }
    lines = ["[project]", *(f"{key} = {_toml(value)}" for key, value in settings.items())]
    return "\n".join(lines) + _THEME


def _rules(pages: Mapping[str, str]) -> list[object]:
    families = [
        {title: [{_title(pages[name]): name} for name in (f"rules/{r.id}.md" for r in rules)]}
        for title, rules in rules_by_title().items()
    ]
    return [RULES, *families]


def _title(page: str) -> str:
    return page.partition("\n")[0].removeprefix("# ")


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_toml(k)} = {_toml(v)}' for k, v in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value)


#: No fonts or scripts of others: no other server learns of a reader's visit.
_THEME: Final = """
[project.theme]
language = "en"
font = false
features = ["content.code.copy", "navigation.indexes", "navigation.path", "navigation.footer",
  "navigation.top", "navigation.sections", "navigation.prune", "search.highlight"]

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"
toggle.icon = "lucide/sun"
toggle.name = "Dark"

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"
toggle.icon = "lucide/moon"
toggle.name = "Light"

[project.markdown_extensions]
tables = {}
admonition = {}
attr_list = {}
md_in_html = {}
toc.permalink = true
pymdownx.highlight.pygments_lang_class = true
pymdownx.superfences = {}
pymdownx.inlinehilite = {}
"""
