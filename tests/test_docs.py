"""Pages that are made from the rule files; run this file as a script to write them anew."""

from __future__ import annotations

from pathlib import Path

from shutdownlint.rules.load import load_rules

PAGE = Path(__file__).resolve().parents[1] / "docs" / "rule-list.md"
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


def test_the_list_of_rules_is_fresh() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), f"stale: run python {Path(__file__).name}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
