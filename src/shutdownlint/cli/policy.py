"""``policy``: rules as policies of the API server, or of Kyverno."""

# No postponed annotations here: they are read as the program runs.
from enum import StrEnum
from typing import Annotated

from shutdownlint.cli.declarations import Option
from shutdownlint.cli.options import RULES, FileOptions, OutputFile
from shutdownlint.cli.output import CLEAN, usage_error, warn, write_output
from shutdownlint.cli.session import Session, rule_errors, split_commas
from shutdownlint.engine.finding import Severity
from shutdownlint.engine.rule_loader import load_all_bundled
from shutdownlint.engine.selection import ALWAYS_REPORTED, RuleSelection
from shutdownlint.policies.conditions import LeftOut, PolicyCondition, conditions_of
from shutdownlint.policies.render import (
    kyverno_policies,
    mutating_policies,
    validating_policies,
)
from shutdownlint.reports.report import to_json_documents
from shutdownlint.wording import plural


class PolicyFormat(StrEnum):
    """What the policies are for."""

    VALIDATING = "validating-admission-policy"
    MUTATING = "mutating-admission-policy"
    KYVERNO = "kyverno"


def command(
    *,
    output_format: Annotated[
        PolicyFormat,
        Option(names=("--format",), panel=RULES, help="The kind of policy."),
    ] = PolicyFormat.VALIDATING,
    select: Annotated[
        list[str] | None,
        Option(panel=RULES, metavar="RULE", help="Only these rules: ids or prefixes (SL102, SL1)."),
    ] = None,
    deny: Annotated[
        Severity | None,
        Option(
            panel=RULES,
            help="Deny findings of this severity and worse; all others are audited and warned of.  "
            "\\[default: none is denied]",
        ),
    ] = None,
    output: OutputFile = None,
    files: FileOptions,
) -> None:
    """Print rules as policies that the API server enforces.

    Only what an object shows by itself can be decided there: rules over a container's settings. The
    conditions are those of the rules; where a policy cannot know what check knows, it is silent.
    Rules that are left out are named with the reason. Suppressions of the configuration are
    exceptions of the policies.

    Examples:

      shutdownlint policy | kubectl apply -f -

      shutdownlint policy --select SL102 --deny error

      shutdownlint policy --format kyverno
    """
    session = Session.of(files)
    if output_format is PolicyFormat.MUTATING:
        if deny is not None or select:
            raise usage_error("--select and --deny are about validating policies")
        write_output(to_json_documents(mutating_policies()), output)
        raise SystemExit(CLEAN)
    selection = RuleSelection(select=tuple(split_commas(select)))
    with rule_errors():
        rules = [rule for rule in load_all_bundled() if selection.includes(rule)]
        found = [*conditions_of(rule for rule in rules if rule.id not in ALWAYS_REPORTED)]
    conditions = [each for each in found if isinstance(each, PolicyCondition)]
    left_out = [each for each in found if isinstance(each, LeftOut)]
    if select:
        for each in left_out:
            warn(f"{each.rule.id} is left out: {each.reason}")
    else:
        warn(f"{plural(len(conditions), 'rule')}; {plural(len(left_out), 'rule')} left out")
    ignores = session.config.user_facts().suppressions
    make = kyverno_policies if output_format is PolicyFormat.KYVERNO else validating_policies
    write_output(to_json_documents(make(conditions, ignores, deny)), output)
    raise SystemExit(CLEAN if conditions else 2)
