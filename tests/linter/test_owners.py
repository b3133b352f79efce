"""Who owns a finding: annotations, labels, the configuration, CODEOWNERS."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shutdownlint.linter.owner_lookup import OwnerLookup, _fits, matches
from shutdownlint.linter.owners import Owners
from tests.helpers import POD, run

#: From docs.github.com, about code owners: patterns, and files that they are about or not.
EXAMPLES = [
    ("*", "a/b/c.js", True),
    ("*.js", "a/b/c.js", True),
    ("*.js", "a/b/c.ts", False),
    ("/build/logs/", "build/logs/a/b.txt", True),
    ("/build/logs/", "x/build/logs/a.txt", False),
    ("docs/*", "docs/getting-started.md", True),
    ("docs/*", "docs/build-app/troubleshooting.md", False),
    ("apps/", "x/apps/a/b.md", True),
    ("apps/", "apps", False),
    ("/docs/", "docs/a/b.md", True),
    ("/scripts/", "x/scripts/a", False),
    ("**/logs", "build/logs/a", True),
    ("**/logs", "deeply/nested/logs/b/c", True),
    ("/apps/github", "apps/github/a/b.yaml", True),
    ("/apps/github", "apps/githubx/a.yaml", False),
    ("a/**/b", "a/b", True),
    ("a/**/b", "a/x/y/b", True),
    ("a/**/b", "x/a/b", False),
    ("k8s", "x/k8s/a.yaml", True),
    ("a?.yaml", "ab.yaml", True),
    ("a?.yaml", "a.yaml", False),
]


@pytest.mark.parametrize(("pattern", "file", "expected"), EXAMPLES)
def test_patterns_of_codeowners(pattern: str, file: str, *, expected: bool) -> None:
    assert matches(pattern, file) is expected


def test_patterns_are_matched_in_bounded_time() -> None:
    assert not matches("*a" * 500 + "b", "a" * 5000)
    assert not matches("**/a/" * 200 + "b", "a/" * 400 + "c")


def test_sections_of_gitlab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(".git").mkdir()
    Path("CODEOWNERS").write_text(
        "* @all\n/my\\ team/ @mine\n/none/\n\n[E][2] @default @second # why\n/e/\n/e/x.yaml @own\n"
        "^[G]\n/g/ @g\n!/g/six.yaml\n"
    )
    lookup = OwnerLookup(Owners(), ())
    files = (
        "a.yaml",
        "my team/a.yaml",
        "none/a.yaml",
        "e/a.yaml",
        "e/x.yaml",
        "g/a.yaml",
        "g/six.yaml",
    )
    assert [lookup.owner_of_file(file) for file in files] == [
        "@all",
        "@mine",
        "",
        "@default @second",
        "@own",
        "@g",
        "@all",
    ]


def test_the_nearest_statement_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(".git").mkdir()
    Path(".github").mkdir()
    Path(".github/CODEOWNERS").write_text("# who\n* @all\n/k8s/ @k8s @second # why\n[Section]\n")
    Path("shutdownlint.toml").write_text(
        "owner-label = 'team'\n[[paths]]\nmatch = 'k8s/b.yaml'\nowner = 'by path'\n"
    )
    Path("k8s").mkdir()
    named = POD.replace("{name: shop}", "{name: shop, labels: {team: by-label}}")
    own = "annotations: {shutdownlint.dev/owner: own}, labels: {team: by-label}"
    files = {
        "z.yaml": POD,
        "k8s/a.yaml": POD,
        "k8s/b.yaml": POD,
        "k8s/c.yaml": named,
        "k8s/d.yaml": POD.replace("{name: shop}", "{name: shop, " + own + "}"),
    }
    for name, text in files.items():
        Path(name).write_text(text)
    data = json.loads(run("check", "--format", "json", ".")[1])
    owners = {finding["file"]: finding["owner"] for finding in data["findings"]}
    assert owners == {
        "z.yaml": "@all",
        "k8s/a.yaml": "@k8s @second",
        "k8s/b.yaml": "by path",
        "k8s/c.yaml": "by-label",
        "k8s/d.yaml": "own",
    }


@pytest.mark.parametrize(
    ("name", "pattern", "fits"),
    [
        ("abcbd", "a*bd", True),
        ("a-b-c.yaml", "a*c.yaml", True),
        ("a-b-c.yaml", "*b*c*", True),
        ("a-b-c.yaml", "a?b?d*", False),
        ("ab", "a*b*c", False),
        ("abxbc", "a*bc", True),
    ],
)
def test_names_with_several_wildcards(name: str, pattern: str, fits: bool) -> None:
    assert _fits(name, pattern) is fits
