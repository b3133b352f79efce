from __future__ import annotations

from datetime import timedelta

import pytest

from shutdownlint.platforms.durations import go_duration
from shutdownlint.platforms.istio.proxyconfig import ProxyConfigText, parse_bool, read_proxy_config
from shutdownlint.yaml_source.composer import compose
from shutdownlint.yaml_source.location import EntryPart, FixedLocation, KeyPath, Region


def read(text: str) -> ProxyConfigText:
    roots = compose(text)

    def at(_route: KeyPath, _part: EntryPart) -> FixedLocation:
        return FixedLocation(Region("f", 1, 1, 1, 1))

    return read_proxy_config(roots[0] if roots else None, (), at)


def metadata(value: str, key: str = "MINIMUM_DRAIN_DURATION") -> ProxyConfigText:
    return read(f"proxyMetadata:\n  {key}: {value}\n")


# facts/istio.md section 3: every row was run with Istio's own libraries
@pytest.mark.parametrize(
    "value",
    [
        "true",
        "yes",
        "on",
        "y",
        "30",
        "0x10",
        "010",
        "0o10",
        "1_000",
        "1e3",
        ".5",
        "n",
        "NO",
        "Off",
        ".inf",
        "{a: b}",
        "[a]",
    ],
)
def test_metadata_values_that_reject_the_pod(value: str) -> None:
    assert len(metadata(value).rejected) == 1


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("'true'", "true"),
        ('"True"', "True"),
        ("30s", "30s"),
        ('"30"', "30"),
        ("12:30", "12:30"),
        ("2024-01-01", "2024-01-01"),
        ("!!str true", "true"),
        ("5s # comment", "5s"),
        ("", ""),
        ("null", ""),
    ],
)
def test_metadata_values_that_pass(value: str, text: str) -> None:
    found = metadata(value)
    assert not found.rejected
    assert found.env["MINIMUM_DRAIN_DURATION"][0] == text


def test_nested_stats_matcher_says_where_it_belongs() -> None:
    found = read("proxyMetadata:\n  proxyStatsMatcher:\n    inclusionRegexps: [x]\n")
    assert "one level up" in found.rejected[0].reason


@pytest.mark.parametrize(
    "text",
    [
        "proxyMetadata: [{name: a, value: b}]",
        "terminationDrainDuration: 60",
        "terminationDrainDuration: '60'",
        "terminationDrainDuration: 1d",
        "terminationDrainDuration: 60 s",
        "terminationDrainDuration: 60sec",
        "terminationDrainDuration: {seconds: 60}",
        "terminationDrainDuration: 5S",
        "terminationDrainDuration: 1m 30s",
        "terminationDrainDuration: ''",
        "holdApplicationUntilProxyStarts: 'true'",
        "terminationDrainDuration:60s",
        "plain text",
        "- a list",
        "concurrency: two",
        "configPath: 5",
    ],
)
def test_what_rejects_the_pod(text: str) -> None:
    assert len(read(text).rejected) == 1


@pytest.mark.parametrize(
    ("written", "length"),
    [
        ("60s", 60),
        ("1m", 60),
        ("1m30s", 90),
        ("1h", 3600),
        ("500ms", 0.5),
        ("0s", 0),
        ("-5s", -5),
        ('"0"', 0),
        ("1.5s", 1.5),
        (".5s", 0.5),
        ("+5s", 5),
    ],
)
def test_durations_that_pass(written: str, length: float) -> None:
    found = read(f"terminationDrainDuration: {written}")
    assert not found.rejected
    assert found.termination_drain is not None
    assert found.termination_drain[0] == timedelta(seconds=length)


@pytest.mark.parametrize(
    "text",
    [
        "TerminationDrainDuration: 20s",
        "terminationdrainduration: 20s",
        "terminationDrainDurations: 20s",
        "terminationGracePeriodSeconds: 60",
        "EXIT_ON_ZERO_ACTIVE_CONNECTIONS: 'true'",
        "defaultConfig: {terminationDrainDuration: 60s}",
    ],
)
def test_what_istio_drops_without_a_word(text: str) -> None:
    found = read(text)
    assert not found.rejected
    assert len(found.ignored) == 1
    assert found.termination_drain is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "# comment",
        "concurrency: '2'",
        "termination_drain_duration: 20s",
        "somethingOfTheFuture: 1",
        "tracing: {sampling: 5}",
        "meshId: x",
    ],
)
def test_what_passes(text: str) -> None:
    found = read(text)
    assert not found.rejected
    assert not found.ignored


def test_last_of_duplicate_keys_wins() -> None:
    found = read("terminationDrainDuration: 5s\nterminationDrainDuration: 20s\n")
    assert found.termination_drain is not None
    assert found.termination_drain[0] == timedelta(seconds=20)


def test_go_bools() -> None:
    assert [parse_bool(text) for text in ("1", "t", "TRUE", "True")] == [True] * 4
    assert [parse_bool(text) for text in ("0", "f", "FALSE", "False")] == [False] * 4
    assert [parse_bool(text) for text in ("yes", "on", "tRUE", " true", "")] == [None] * 5


@pytest.mark.parametrize("text", ["30", "", "s", "5 s", "1d", "--5s", "5s5"])
def test_go_durations_that_fail(text: str) -> None:
    with pytest.raises(ValueError, match="duration"):
        go_duration(text)


@pytest.mark.parametrize("text", ["500ms", "0s", "1.5s"])
def test_what_was_read_but_not_run_is_only_doubtful(text: str) -> None:
    found = read(f"drainDuration: {text}")
    assert not found.rejected
    assert len(found.doubtful) == 1


def test_a_field_of_older_releases() -> None:
    found = read("parentShutdownDuration: 60s")
    assert not found.ignored
    assert [problem.key for problem in found.removed] == ["parentShutdownDuration"]


@pytest.mark.parametrize(
    ("value", "rejected"), [("2", 0), ("2.0", 0), ("'2'", 0), ("2.5", 1), (".inf", 1), ("true", 1)]
)
def test_whole_numbers(value: str, rejected: int) -> None:
    assert len(read(f"concurrency: {value}\n").rejected) == rejected
