"""The report as a page, and the history of reports."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.helpers import POD, run, served

NASTY = "<script>alert(1)</script>"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.yaml").write_text(POD)


def _page(*arguments: str) -> str:
    run("check", "--format", "html=r.html", *arguments, ".")
    return Path("r.html").read_text()


def test_the_page_has_findings_timelines_and_workloads() -> None:
    Path("b.yaml").write_text(served())
    page = _page()
    assert "<h2>no team (1)</h2>" in page
    assert '<article data-team="no team" data-namespace="no namespace" data-rule="SL102' in page
    assert "<mark>&quot;20&quot;</mark>" in page or '<mark>"20"</mark>' in page
    (anchor,) = re.findall(r'<a href="#(t\d+)">Timeline', page)
    assert f'<details id="{anchor}"><summary>Pod shop: ' in page
    assert page.count("<svg") == 1
    assert "Deployment shop/shop" in page
    assert "2 workloads" in page
    assert "http" not in re.sub(
        r"https://shutdownlint\.github\.io|http://www\.w3\.org/2000/svg", "", page
    )


def test_nothing_of_the_input_is_markup() -> None:
    Path("a.yaml").write_text(
        POD.replace("{name: shop}", f"{{name: '{NASTY}', namespace: '\"{NASTY}'}}")
    )
    page = _page("--notes")
    assert NASTY not in page
    assert page.count("<script>") == 1


def test_a_report_without_findings() -> None:
    Path("a.yaml").write_text(served(sleep=10))
    page = _page()
    assert "<article" not in page
    assert "no findings; 1 workload" in page


def test_the_history_of_a_folder() -> None:
    Path("reports").mkdir()
    run("check", "--format", "json=reports/2026-01-01.json", ".")
    Path("b.yaml").write_text(POD.replace("{name: shop}", "{name: other}"))
    run("check", "--format", "json=reports/2026-01-08.json", ".")
    Path("a.yaml").unlink()
    run("check", "--format", "json=reports/2026-01-15.json", ".")
    code, out, _ = run("history", "reports")
    assert code == 0
    rows = [line.split() for line in out.splitlines()[1:]]
    assert rows == [
        ["2026-01-01.json", "1", "0", "0", "-", "-", "1"],
        ["2026-01-08.json", "2", "0", "0", "1", "0", "2"],
        ["2026-01-15.json", "1", "0", "0", "0", "1", "1"],
    ]
    data = json.loads(run("history", "reports", "--format", "json")[1])
    assert [each["new"] for each in data["reports"]] == [None, 1, 0]
    assert "| 2026-01-15.json | 1 |" in run("history", "reports", "--format", "markdown")[
        1
    ].replace("\\-", "-")


def test_what_is_only_hidden_is_not_fixed() -> None:
    Path("reports").mkdir()
    Path("a.yaml").write_text(served())
    run("check", "--notes", "--format", "json=reports/1.json", ".")
    run("check", "--format", "json=reports/2.json", ".")
    run("check", "--write-baseline", "known.json", "--notes", ".")
    run("check", "--notes", "--baseline", "known.json", "--format", "json=reports/3.json", ".")
    rows = [line.split() for line in run("history", "reports")[1].splitlines()[1:]]
    assert [row[4:6] for row in rows[:3]] == [["-", "-"], ["0", "0"], ["-", "-"]]


@pytest.mark.parametrize(
    "text", ["", "[]", '{"findings": 1}', '{"findings": [1], "summary": {"workloads": 1}}']
)
def test_what_is_no_report_is_named(text: str) -> None:
    Path("reports").mkdir()
    Path("reports/x.json").write_text(text)
    code, out, stderr = run("history", "reports")
    assert (code, out) == (2, "")
    assert "x.json: not a report of shutdownlint check --format json" in stderr
    assert run("history", "nowhere")[0] == 2
    Path("reports/x.json").unlink()
    assert run("history", "reports")[0] == 2
