"""How long Services go on sending: where it is stated, and what is concluded from it."""

from __future__ import annotations

from msgspec.structs import replace

from shutdownlint.platforms.user_facts import AppFacts
from shutdownlint.shutdown.analysis import LossKind, ShutdownAnalysis
from shutdownlint.shutdown.durations import seconds
from shutdownlint.shutdown.solver import Targets
from tests.helpers import check_text, plan_of, rule_lines, served, user_facts

SHOP = served()
SLEEP = 18


def refused(propagation: str | None) -> list[tuple[float, float, bool]]:
    """The windows in which requests are refused, and whether that is certain."""
    plan = plan_of(SHOP, user_facts(mesh=["none"], propagation=propagation))
    return [
        (loss.begin.total_seconds(), loss.end.total_seconds(), loss.certain)
        for loss in ShutdownAnalysis(plan).losses
        if loss.kind is LossKind.NEW_REFUSED
    ]


def test_a_sleep_that_lasts_as_long_as_requests_arrive_is_enough() -> None:
    assert refused(None) == []
    assert refused("5s") == []
    assert refused("6s") == [(5, 6, True)]


def test_what_is_assumed_is_no_certain_loss() -> None:
    short = SHOP.replace("seconds: 5", "seconds: 2")
    (loss,) = ShutdownAnalysis(plan_of(short, user_facts(mesh=["none"]))).losses
    assert (loss.begin, loss.end, loss.certain) == (seconds(2), seconds(5), False)
    assert loss.cause.describe(None) == "endpoint propagation 5s (the default for endpoints)"


def test_a_measured_time_makes_a_short_sleep_a_warning() -> None:
    for propagation, rule in (("5s", None), ("6s", "SL195"), (None, None)):
        facts = user_facts(mesh=["none"], propagation=propagation)
        found = rule_lines(check_text(SHOP, facts).findings, notes=True)
        expected = [] if rule is None else [(rule, SLEEP)]
        assert [each for each in found if each[0] in ("SL108", "SL195")] == expected


def test_a_statement_about_a_workload_comes_before_one_about_all() -> None:
    everywhere = user_facts(mesh=["none"], propagation="9s")
    own = AppFacts("Deployment/shop/shop", propagation=seconds(4))
    assert Targets.of(plan_of(SHOP, everywhere)).propagation == seconds(9)
    both = replace(everywhere, apps=(own, *everywhere.apps))
    assert Targets.of(plan_of(SHOP, both)).propagation == seconds(4)


def test_what_was_measured_of_services_makes_none() -> None:
    worker = SHOP.partition("---\n")[2]
    measured = user_facts(mesh=["none"])
    own = AppFacts("*", propagation=seconds(9), of_services=True)
    facts = replace(measured, apps=(own, *measured.apps))
    assert plan_of(worker, facts).senders == ()
    assert len(plan_of(SHOP, facts).senders) == 1
    # What is stated by hand is believed of any pod: declaring ports is optional.
    stated = user_facts(mesh=["none"], propagation="9s")
    assert len(plan_of(worker, stated).senders) == 1


def test_what_a_load_balancer_may_do_by_its_defaults_is_no_certain_loss() -> None:
    balancer = SHOP.replace(
        "metadata: {name: shop, namespace: shop}\nspec: {selector",
        "metadata: {name: shop, namespace: shop, annotations: "
        "{service.beta.kubernetes.io/aws-load-balancer-type: nlb}}\n"
        "spec: {type: LoadBalancer, externalTrafficPolicy: Local, selector",
    )
    plan = plan_of(balancer, user_facts(mesh=["none"]))
    assert [sender.window.value for sender in plan.senders][-1] == seconds(20)
    (loss,) = ShutdownAnalysis(plan).losses
    assert (loss.begin, loss.end, loss.certain) == (seconds(5), seconds(20), False)
