"""The file of measurements: how it is written and read, and the findings that use it."""

from __future__ import annotations

import math
import re
import tomllib
from datetime import date, timedelta
from typing import TYPE_CHECKING

import pytest

from shutdownlint.config import ConfigError
from shutdownlint.config.measured import load_measured
from shutdownlint.config.write_measured import write_measurements
from shutdownlint.manifests.object_id import ObjectId
from shutdownlint.measurement.histogram import Quantile, from_quantiles, read_buckets
from shutdownlint.measurement.measure import Measurement, Propagation, Reading, Settings
from shutdownlint.platforms.metric import Target, pod_pattern
from shutdownlint.shutdown.durations import seconds
from tests.helpers import dedent, run, served

if TYPE_CHECKING:
    from pathlib import Path

MEASURED = dedent("""\
    propagation = "4s"
    propagation-date = 2026-11-20

    [[workloads]]
    match = "Deployment/shop/checkout"
    p99 = "30s"
    date = 2026-11-20
    shares = {"1s" = 0.9, "10s" = 0.98, "30s" = 0.995, "60s" = 0.9985}
    """)
SHOP = served("checkout")
_SECOND = timedelta(seconds=1)
DAY = date(2026, 11, 23)
GIVEN = ("--mesh", "none", "--measured", "measured.toml")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "shop.yaml").write_text(SHOP)
    (tmp_path / "measured.toml").write_text(MEASURED)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_is_written_is_read(folder: Path) -> None:
    histogram = read_buckets({0.5: 900, 10: 995, math.inf: 1000}, _SECOND)
    assert histogram is not None
    found = [
        Measurement(
            Target(ObjectId("Deployment", name=name, namespace="shop")),
            Reading("m", histogram, histogram.quantile(share)),
        )
        for name, share in (("closed", 0.99), ("open", 0.999))
    ]
    found.append(
        Measurement(
            Target(ObjectId("Deployment", name="none", namespace="shop")), problem="no metric"
        )
    )
    endpoints = Propagation(Quantile(seconds(1), seconds(2)), ("k",), whole=True)
    text = write_measurements(found, endpoints, Settings(), DAY)
    file = folder / "written.toml"
    file.write_text(text)
    closed, opened, everywhere = load_measured(file)
    assert (closed.match, closed.p99, closed.p99_at_least) == (
        "Deployment/shop/closed",
        seconds(10),
        False,
    )
    assert closed.shares == ((seconds(0.5), 0.9), (seconds(10), 0.995))
    assert (opened.p99, opened.p99_at_least) == (seconds(10), True)
    assert (everywhere.match, everywhere.propagation) == ("*", seconds(2))
    assert "none" not in text


@pytest.mark.parametrize(
    "propagation",
    [
        None,
        Propagation(Quantile(seconds(1), seconds(2)), ("part",), whole=False),
        Propagation(Quantile(seconds(300), None), ("k",), whole=True),
    ],
)
def test_a_part_of_the_propagation_is_not_written(propagation: Propagation | None) -> None:
    assert tomllib.loads(write_measurements([], propagation, Settings(), DAY)) == {}


def test_the_slowest_requests_are_judged_by_it() -> None:
    assert "SL101" not in run("check", "shop.yaml", "--mesh", "none")[1]
    out = run("check", "shop.yaml", *GIVEN)[1]
    assert "5s preStop + 30s for the slowest requests (measured 2026-11-20)" in out


def test_the_configuration_names_the_file_too(folder: Path) -> None:
    (folder / "shutdownlint.toml").write_text('mesh = "none"\nmeasured = ["measured.toml"]\n')
    assert "measured 2026-11-20" in run("check", "shop.yaml")[1]
    # What is stated by hand comes first.
    stated = '\n[[workloads]]\nmatch = "checkout"\np99 = "3s"\n'
    (folder / "shutdownlint.toml").write_text(
        f'mesh = "none"\nmeasured = ["measured.toml"]{stated}'
    )
    assert "SL101" not in run("check", "shop.yaml")[1]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[[workloads]]\nmatch = 'a'\np99 = '3s'\n", "workloads.0.date: is missing"),
        ("propagation = 3", "propagation: must be a duration with a unit"),
        ("[[workloads]]\nshares = {'1s' = 2}\n", "a share is a number from 0 to 1"),
        ("[[workloads]]\nshares = {'1s' = 0.9, '5s' = 0.5}\n", "a longer duration has a smaller"),
        ("p = ", "Invalid value"),
        ("[" * 5000, "measured.toml"),
    ],
)
def test_a_wrong_file_is_a_usage_error(text: str, problem: str, folder: Path) -> None:
    (folder / "measured.toml").write_text(text)
    with pytest.raises(ConfigError, match=re.escape(problem)):
        load_measured(folder / "measured.toml")
    code, _, err = run("check", "shop.yaml", *GIVEN)
    assert (code, problem in err) == (2, True)


def test_a_lower_bound_is_an_assumption(folder: Path) -> None:
    text = MEASURED.replace('p99 = "30s"', 'p99 = "30s"\nat-least = true')
    (folder / "measured.toml").write_text(text)
    out = run("explain", "shop.yaml", *GIVEN)[1]
    assert "requests may take longer than 30s: the measurement ends there" in out


@pytest.mark.parametrize(
    ("share", "grace", "err"),
    [
        ("90%", None, ""),
        ("0.99", "40s", ""),
        ("99.9%", "70s", "99.9% of its requests take longer than was measured: up to 60s is taken"),
    ],
)
def test_suggest_serves_a_share(share: str, grace: str | None, err: str) -> None:
    code, out, warned = run("suggest", "shop.yaml", *GIVEN, "--serve", share)
    assert code == 0
    assert (f"terminationGracePeriodSeconds: 30s -> {grace}" in out) is (grace is not None)
    assert err in warned
    changes = "not all are served; with what suggest changes a grace period of 40s is enough"
    assert f"99% of requests take up to 30s: {changes}" in out


def test_a_share_of_what_was_not_measured() -> None:
    _, _, err = run("suggest", "shop.yaml", "--serve", "99%")
    assert "its requests were not measured: up to 10s is taken" in err
    assert run("suggest", "shop.yaml", "--serve", "101%")[0] == 2


def test_explain_shows_what_each_share_costs() -> None:
    out = run("explain", "shop.yaml", *GIVEN)[1]
    assert "90% of requests take up to 1s  served; a grace period of 11s is enough" in out
    changes = "not all are served; with what suggest changes a grace period of 40s is enough"
    assert f"99% of requests take up to 30s  {changes}" in out
    assert "99.9% of requests: longer than was measured" in out
    picture = run("explain", "shop.yaml", *GIVEN, "--format", "svg")[1]
    assert "99% of requests take up to 30s" in picture


@pytest.mark.parametrize(
    ("buckets", "share", "expected"),
    [
        ({1: 99, math.inf: 100}, 0.99, (0, 1)),
        ({1: 98.9, 5: 99, math.inf: 100}, 0.99, (1, 5)),
        ({1: 98, math.inf: 100}, 0.99, (1, None)),
        # Extrapolated counts can go down by a little.
        ({1: 99.5, 5: 99.4, math.inf: 100}, 0.995, (0, 1)),
        ({1: 99, 5: math.nan, math.inf: 100}, 0.99, (0, 1)),
    ],
)
def test_quantiles(
    buckets: dict[float, float], share: float, expected: tuple[float, float | None]
) -> None:
    histogram = read_buckets(buckets, _SECOND)
    assert histogram is not None
    lower, upper = expected
    wanted = Quantile(seconds(lower), None if upper is None else seconds(upper))
    assert histogram.quantile(share) == wanted


def test_no_requests_are_no_histogram() -> None:
    assert read_buckets({}, _SECOND) is None
    assert read_buckets({1: 0, math.inf: 0}, _SECOND) is None
    assert read_buckets({1: math.nan, math.inf: math.nan}, _SECOND) is None
    assert from_quantiles({0.99: math.nan}, _SECOND) is None
    assert from_quantiles({0.99: math.inf}, _SECOND) is None
    with pytest.raises(ValueError, match="no bucket below"):
        read_buckets({math.inf: 5}, _SECOND)
    with pytest.raises(ValueError, match="no bucket below"):
        read_buckets({1e300: 4, math.inf: 5}, _SECOND)
    with pytest.raises(ValueError, match="too large"):
        read_buckets({1: 1e300, math.inf: 1e308}, _SECOND)
    ascending = from_quantiles({0.5: 9.0, 0.99: 3.0}, _SECOND)
    assert ascending is not None
    assert ascending.quantile(0.99) == Quantile(seconds(9), seconds(9))
    with pytest.raises(ValueError, match="no \\+Inf"):
        read_buckets({1: 5}, _SECOND)


@pytest.mark.parametrize(
    ("kind", "name", "yes", "no"),
    [
        ("Deployment", "shop", "shop-7d9fc6b5d4-x2bqz", "shop-api-x2bqz"),
        ("Deployment", "shop", "shop-5c4-x2bqz", "shop-0"),
        ("StatefulSet", "shop", "shop-12", "shop-x2bqz"),
        ("DaemonSet", "shop", "shop-x2bqz", "shop-7d9fc6b5d4-x2bqz"),
        ("Pod", "shop.a", "shop.a", "shopxa"),
        ("Rollout", "x" * 60, "x" * 58 + "x2bqz", "shop-x2bqz"),
    ],
)
def test_pods_of_a_workload(kind: str, name: str, yes: str, no: str) -> None:
    pattern = pod_pattern(ObjectId(kind, name=name, namespace="shop"))
    assert pattern is not None
    # Prometheus writes code points with braces, Python without.
    python = re.sub(r"\\x\{(..)\}", r"\\x\1", pattern)
    assert re.fullmatch(python, yes)
    assert not re.fullmatch(python, no)
    assert pod_pattern(ObjectId("CronJob", name="x", namespace="shop")) is None
