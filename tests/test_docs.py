"""Pages that are made from the rule files; run this file as a script to write them anew."""

from __future__ import annotations

from pathlib import Path

from shutdownlint.engine.fields import shown
from shutdownlint.engine.loader import load_rules
from shutdownlint.platforms.facts import Fact
from shutdownlint.platforms.frameworks import facts as frameworks
from shutdownlint.platforms.istio import facts as istio
from shutdownlint.platforms.kubernetes import facts as kubernetes
from shutdownlint.platforms.loadbalancers import facts as balancers
from shutdownlint.platforms.versions import Range

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "rule-list.md"
FACTS = DOCS / "facts.md"
HEAD = """# All rules

Made from the rule files (`python tests/test_docs.py`). `shutdownlint rule SL102` shows a rule's page: why,
what to do, examples and sources. Without a version in the last column a rule holds for all.

| rule | name | severity | fires when | versions |
|---|---|---|---|---|
"""


def page() -> str:
    rows = []
    for rule in load_rules():
        form = rule.form
        when = " ".join(form.when.split()).replace("|", "\\|")
        since = ", ".join(
            f"{system} {versions.text}".replace("|", "\\|")
            for system, versions in (
                ("Kubernetes", form.since.kubernetes),
                ("Istio", form.since.istio),
            )
            if versions is not None
        )
        cells = [form.id, form.name, form.severity.value, f"`{when}`", since]
        rows.append(f"| {' | '.join(cells)} |")
    return HEAD + "\n".join(rows) + "\n"


FACTS_HEAD = """# Facts

What the platforms do by themselves, each with the source it was read in. Made from the code
(`python tests/test_docs.py`): rules, messages and the model read them from the same place.

"""


def facts_page() -> str:
    parts = [FACTS_HEAD]
    modules = (("Kubernetes", kubernetes), ("Istio", istio))
    for title, module in modules:
        rows = [
            f"| {dated.setting} | {_cell(versions)} | {_cell(meaning)} | {_cell(dated.source)} |"
            for dated in module.BY_VERSION
            for versions, meaning in dated.meanings
        ]
        head = f"## {title}: what a setting means, by version\n\n"
        head += "| setting | versions | default and meaning | source |\n|---|---|---|---|\n"
        parts.append(head + "\n".join(rows))
    for title, module in (*modules, ("Load balancers", balancers)):
        rows = [
            f"| {name.replace('_', ' ').lower()} | {_value(fact.value)} | {_cell(fact.source)} |"
            for name, fact in vars(module).items()
            if isinstance(fact, Fact)
        ]
        parts.append(f"## {title}\n\n| fact | value | source |\n|---|---|---|\n" + "\n".join(rows))
    rows = []
    for fact in frameworks.FRAMEWORKS:
        one = fact.value
        names = (*one.flags, *one.variables, *one.properties)
        told = ", ".join(f"`{name}`" for name in names)
        usual = "no limit" if one.endless else shown(one.usual) if one.usual is not None else ""
        rows.append(f"| {one.name} | {told} | {usual} | {_cell(fact.source)} |")
    head = (
        "\n\n## Frameworks\n\n| framework | its limit is read from | without it | source |\n"
        "|---|---|---|---|\n"
    )
    return "\n\n".join(parts[:1]) + "\n\n".join(parts[1:]) + head + "\n".join(rows) + "\n"


def _value(value: object) -> str:
    if isinstance(value, Range):
        return _cell(value.text)
    if isinstance(value, tuple):
        return _cell(", ".join(str(item) for item in value))
    if isinstance(value, dict):
        return _cell("; ".join(f"{_key(key)}: {_said(item)}" for key, item in value.items()))
    return _cell(shown(value))


def _key(key: object) -> str:
    return "=".join(key) if isinstance(key, tuple) else str(key)


def _said(item: object) -> str:
    return ", ".join(shown(part) for part in item) if isinstance(item, tuple) else shown(item)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def test_the_list_of_rules_is_fresh() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), f"stale: run python {Path(__file__).name}"


def test_the_table_of_facts_is_fresh() -> None:
    assert FACTS.read_text(encoding="utf-8") == facts_page()
    assert "| termination drain duration | 5s |" in facts_page()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    FACTS.write_text(facts_page(), encoding="utf-8")
