"""The time that Services go on sending: where it is stated, and what is concluded from it."""

from __future__ import annotations

from msgspec.structs import replace

from shutdownlint.platforms.user_facts import AppFacts
from shutdownlint.shutdown.analysis import ShutdownAnalysis
from shutdownlint.shutdown.durations import seconds
from shutdownlint.shutdown.loss import LossKind, LossWeight
from shutdownlint.shutdown.solver import Targets
from tests.helpers import check_text, plan_of, rule_lines, served, user_facts

SHOP = served()
SLEEP = 18


def refused(propagation: str | None) -> list[tuple[float, float, LossWeight]]:
    """Return the windows in which requests are refused, and how much is known of them."""
    plan = plan_of(SHOP, user_facts(mesh=["none"], propagation=propagation))
    return [
        (loss.begin.total_seconds(), loss.end.total_seconds(), loss.weight)
        for loss in ShutdownAnalysis(plan).losses
        if loss.kind is LossKind.LATE
    ]


def test_a_sleep_that_lasts_as_long_as_requests_arrive_is_enough() -> None:
    assert refused(None) == []
    assert refused("5s") == []
    assert refused("6s") == [(5, 6, LossWeight.LIKELY)]


def test_a_sleep_that_is_shorter_than_a_service_needs_loses_requests() -> None:
    short = SHOP.replace("seconds: 5", "seconds: 2")
    (loss,) = ShutdownAnalysis(plan_of(short, user_facts(mesh=["none"]))).losses
    assert (loss.begin, loss.end, loss.weight) == (seconds(2), seconds(5), LossWeight.LIKELY)
    assert loss.sender is not None
    assert str(loss.sender.window) == "endpoint propagation 5s (the default for endpoints)"
    assert rule_lines(check_text(short, user_facts(mesh=["none"])).findings) == [("SL108", SLEEP)]


def test_a_measured_time_makes_a_short_sleep_a_warning() -> None:
    for propagation, expected in (("5s", []), ("6s", [("SL108", SLEEP)]), (None, [])):
        facts = user_facts(mesh=["none"], propagation=propagation)
        found = rule_lines(check_text(SHOP, facts).findings)
        assert found == expected


def test_a_statement_about_a_workload_comes_before_one_about_all() -> None:
    everywhere = user_facts(mesh=["none"], propagation="9s")
    own = AppFacts("Deployment/shop/shop", propagation=seconds(4))
    assert Targets.of(plan_of(SHOP, everywhere)).propagation == seconds(9)
    both = replace(everywhere, apps=(own, *everywhere.apps))
    assert Targets.of(plan_of(SHOP, both)).propagation == seconds(4)


def test_what_was_measured_of_services_holds_for_one_that_is_assumed() -> None:
    worker = SHOP.partition("---\n")[2]
    measured = user_facts(mesh=["none"])
    own = AppFacts("*", propagation=seconds(9), of_services=True)
    facts = replace(measured, apps=(own, *measured.apps))
    (assumed,) = plan_of(worker, facts).senders
    assert (assumed.is_shown, assumed.window.value) == (False, seconds(9))
    (shown,) = plan_of(SHOP, facts).senders
    assert (shown.is_shown, shown.window.value) == (True, seconds(9))
    # What is stated by hand is believed of any pod: declaring ports is optional.
    stated = user_facts(mesh=["none"], propagation="9s")
    assert len(plan_of(worker, stated).senders) == 1


def test_a_delay_that_is_shorter_than_a_load_balancer_needs_loses_requests() -> None:
    balancer = SHOP.replace(
        "metadata: {name: shop, namespace: shop}\nspec: {selector",
        "metadata: {name: shop, namespace: shop, annotations: "
        "{service.beta.kubernetes.io/aws-load-balancer-type: nlb}}\n"
        "spec: {type: LoadBalancer, externalTrafficPolicy: Local, selector",
    )
    plan = plan_of(balancer, user_facts(mesh=["none"]))
    assert [sender.window.value for sender in plan.senders][-1] == seconds(20)
    (loss,) = ShutdownAnalysis(plan).losses
    assert (loss.begin, loss.end) == (seconds(5), seconds(20))
    assert loss.weight is LossWeight.LIKELY
