"""The reports of many repositories and clusters on one page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from shutdownlint.reports.fleet import read_fleet
from tests.helpers import run

LOSSES = {"workloads": 4, "cut": 1, "late": 1, "own_calls": 0, "work": 0, "long": 0, "none": 2}


def finding(rule: str, name: str, *, owner: str | None = None, **more: Any) -> dict[str, Any]:
    workload = {
        "kind": "Deployment",
        "namespace": "shop",
        "name": name,
        "file": "a.yaml",
        "line": 1,
    }
    return {
        "rule": rule,
        "title": f"The title of {rule}",
        "severity": "warning",
        "file": "base/a.yaml",
        "fingerprint": f"{rule}{name}:1",
        "fix": "set something",
        "workloads": [workload],
        "owner": owner,
        **more,
    }


def report(findings: list[dict[str, Any]], losses: dict[str, int] | None = None) -> str:
    summary = {"workloads": 4, "losses": losses or LOSSES, "hidden_notes": {}, "known": 0}
    return json.dumps({"findings": findings, "summary": summary})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "fleet"
    for source in ("team-a/shop", "team-b/pay"):
        own = root / source
        own.mkdir(parents=True)
        old = [finding("SL203", "web", owner="team-a")]
        (own / "2026-11-02.json").write_text(report(old))
        (own / "2026-11-16.json").write_text(report([*old, finding("SL108", "api")]))
        fresh = [*old, finding("SL108", "api"), finding("SL102", "new", severity="error")]
        (own / "2026-11-23.json").write_text(report(fresh, {**LOSSES, "late": 2}))
    return root


def page(folder: Path) -> tuple[int, str, str]:
    return run("history", str(folder), "--format", "html")


def test_what_the_page_says(folder: Path) -> None:
    code, html, err = page(folder)
    assert (code, err) == (0, "")
    text = " ".join(re.sub(r"<[^>]+>", " ", html).split())
    assert "6 of 8 workloads (75%) in 2 repositories and clusters" in text
    assert "4 workloads lost something on 2026-11-02, 6 on 2026-11-23" in text
    assert html.count("<circle") == 3
    assert 'href="team-a/shop/2026-11-23.json"' in html
    # A week before the newest is the report of the 16th.
    assert "SL102 Deployment/shop/new" in text
    assert "SL108 Deployment/shop/api" not in text
    assert "team-a" in text
    assert {"SL203", "SL108", "SL102"} == set(re.findall(r"(SL\d+) The title", text))


def test_what_cannot_be_read_is_named_and_all_else_is_shown(folder: Path) -> None:
    (folder / "team-a/shop/2026-11-24.json").write_text("{")
    (folder / "other").mkdir()
    (folder / "other/x.json").write_text("[]")
    (folder / "other/y.json").symlink_to("/etc/passwd")
    code, html, err = page(folder)
    assert code == 2
    assert err.count("not a report") == 2
    assert "y.json" in err
    assert "2026-11-23" in html
    assert run("history", str(folder / "other"), "--format", "html")[0] == 2


def test_without_dates_the_report_before_counts(tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text(report([]))
    (tmp_path / "2.json").write_text(report([finding("SL108", "api")]))
    fleet = read_fleet(tmp_path)
    (source,) = fleet.sources
    assert (source.name, len(source.new)) == (".", 1)
    assert "<svg" not in page(tmp_path)[1]


def test_the_ten_causes_that_concern_most(tmp_path: Path) -> None:
    found = [finding(f"SL{number:03}", f"w{n}") for number in range(1, 15) for n in range(number)]
    (tmp_path / "1.json").write_text(report(found))
    html = page(tmp_path)[1]
    rules = re.findall(r">(SL\d+)</a>", html)
    assert rules == [f"SL{number:03}" for number in range(14, 4, -1)]


@pytest.mark.parametrize("field", ["rule", "title", "file", "fix", "owner"])
def test_names_act_nowhere(tmp_path: Path, field: str) -> None:
    nasty = '"><script>alert(1)</script>\x1b[31m'
    (tmp_path / "a\"'<b>").mkdir()
    (tmp_path / "a\"'<b>" / "1.json").write_text(report([finding("SL1", "w") | {field: nasty}]))
    html = page(tmp_path)[1]
    assert "<script>alert" not in html
    assert "\x1b" not in html
    assert "<b>" not in html


@pytest.mark.parametrize("losses", [None, [], {"late": "x", "cut": 3}, {"late": -1}])
def test_reports_of_other_versions(tmp_path: Path, losses: Any) -> None:
    data = json.loads(report([]))
    data["summary"]["losses"] = losses
    (tmp_path / "1.json").write_text(json.dumps(data))
    assert page(tmp_path)[0] == 0
