"""``verify``: a test plan with predictions, as a script."""

from typing import TYPE_CHECKING, Annotated

from shutdownlint.cli.declarations import Option
from shutdownlint.cli.options import (
    OUTPUT,
    EnvironmentOptions,
    FileOptions,
    OutputFile,
    PathsAndWorkload,
    choice,
)
from shutdownlint.cli.output import INCOMPLETE, check_outputs, usage_error, warn, write_output
from shutdownlint.cli.requests import read_request
from shutdownlint.cli.session import Session
from shutdownlint.platforms.user_facts import REQUESTS
from shutdownlint.reports.output import ReportOutput
from shutdownlint.reports.registry import VERIFY_REPORTERS, find_reporter
from shutdownlint.reports.verification import refusal
from shutdownlint.verification.plan import plan_verification

_SHELL = "shell"
if TYPE_CHECKING:
    from enum import StrEnum as VerifyFormat

    from shutdownlint.platforms.planned_pod import PlannedPod
else:
    VerifyFormat = choice("VerifyFormat", [reporter.name for reporter in VERIFY_REPORTERS])


def command(
    *,
    paths: PathsAndWorkload = None,
    files: FileOptions,
    environment: EnvironmentOptions,
    request: Annotated[
        list[str] | None,
        Option(
            panel=REQUESTS,
            metavar="DURATION[@ARRIVAL]",
            help="A request to send, as explain takes it; repeatable. Default: requests at the "
            "borders of each loss.",
        ),
    ] = None,
    output_format: Annotated[
        VerifyFormat | None,
        Option(
            names=("--format",),
            panel=OUTPUT,
            help="Output format.  \\[default: shell]",
        ),
    ] = None,
    output: OutputFile = None,
) -> None:
    """Write a test for each workload: requests to send while a pod is deleted, with predictions.

    The requests are chosen at the borders of each loss. For each one the script knows what becomes
    of it with the settings as they are, and with those that suggest names, and compares that with
    what it sees. Nothing is run: the script is printed, for kubectl and curl, or for k6.

    Examples:

      shutdownlint verify k8s/ checkout > verify.sh

      shutdownlint verify k8s/ checkout --measured measured.toml --format k6 -o verify.js
    """
    check_outputs([output])
    requests = [read_request(text) for text in request or ()]
    session = Session.of(files, environment)
    selected = session.plan(paths)

    plans = []
    made = session.each(selected.pods, lambda pod: (pod, plan_verification(pod, requests)))
    for pod, plan in made:
        why = refusal(plan) if plan is not None else _nothing_to_test(pod)
        if plan is not None and not why:
            plans.append(plan)
        elif why:
            warn(f"{pod.title}: no test: {why}")
    if not plans:
        if not selected.pods:
            selected.warn_no_match()
        raise SystemExit(INCOMPLETE)
    if any(plan.pod.id.namespace is None for plan in plans):
        warn("without a namespace the test deletes in kubectl's own: set --namespace")
    if len(plans) > 1:
        warn(
            f"the test deletes a pod of each of {len(plans):,} workloads: name one to test it alone"
        )
    name = str(output_format.value) if output_format is not None else _SHELL
    if len(plans) > 1 and name != _SHELL:
        raise usage_error(f"--format {name} is for one workload: name it as the last argument")
    write_output(find_reporter(VERIFY_REPORTERS, name).render(plans, ReportOutput(output)), output)
    if selected.run.stats.unreadable or session.config.refusals or not made.complete:
        raise SystemExit(INCOMPLETE)


def _nothing_to_test(pod: "PlannedPod") -> str:
    if pod.plan is None:
        return ""
    if pod.rejections:
        return f"no pod is created: {pod.rejections[0]}"
    return (
        "it serves no requests" if pod.plan.runs_to_completion else "its grace period is not known"
    )
