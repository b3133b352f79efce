"""The sources of the site: a page for each rule, valid links, valid pictures."""

from __future__ import annotations

import re
import tomllib
from xml.etree import ElementTree as ET

import pytest
from pages.configuration import configuration
from pages.sources import PAGES, ROOT, RULES, markdown

from shutdownlint.reports.rule_page import rule_page
from tests.helpers import rules, schema

FOUND = markdown()
PICTURE = re.compile(r'<div class="timeline" tabindex="0">(.*?)</div>')


def _slug(heading: str) -> str:
    """Return the anchor that the generator gives a heading."""
    plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain))


def test_every_rule_has_a_page_that_says_what_its_file_says() -> None:
    for rule in rules():
        page = FOUND[f"rules/{rule.id}.md"]
        without = re.sub(
            r'<div class="timeline" tabindex="0">.*?</div>\n\n<details>.*?</details>\n\n', "", page
        )
        assert without == rule_page(schema(rule.id))
        assert f"[{rule.id}]({rule.id}.md)" in FOUND[RULES]


@pytest.mark.parametrize("page", FOUND)
def test_every_link_leads_to_a_page_and_a_heading(page: str) -> None:
    folder = page.rpartition("/")[0]
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", FOUND[page]):
        if target.endswith(".svg"):
            assert (ROOT / "docs" / target).is_file()
            continue
        to = target if not folder or not target else f"{folder}/{target}"
        text = FOUND[to or page]
        headings = [_slug(found) for found in re.findall(r"^#+ (.+)$", text, re.MULTILINE)]
        assert not anchor or anchor in headings


def test_the_pictures_are_well_formed_and_also_tables() -> None:
    drawn = 0
    for page in FOUND.values():
        for picture in PICTURE.findall(page):
            assert ET.fromstring(picture).get("aria-label")
            drawn += 1
        assert page.count('<div class="timeline"') == page.count("<table><caption>Events")
    assert drawn > len(rules())


def test_what_is_lost_before_is_served_after() -> None:
    before, after = PICTURE.findall(FOUND["rules/SL201.md"])[:2]
    assert "requests of up to 5s" in before
    assert "requests of up to 30s" in after


def test_the_navigation_names_every_page_once() -> None:
    written = tomllib.loads(configuration(FOUND))["project"]

    def leaves(part: object) -> list[str]:
        if isinstance(part, dict):
            return [leaf for value in part.values() for leaf in leaves(value)]
        if isinstance(part, list):
            return [leaf for value in part for leaf in leaves(value)]
        return [str(part)]

    assert sorted(leaves(written["nav"])) == sorted(FOUND)
    assert set(PAGES) < set(FOUND)
