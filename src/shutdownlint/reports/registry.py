"""All report formats, by command. A new format is a module and an entry here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from shutdownlint.reports.output import ReportOutput

_PACKAGE: Final = "shutdownlint.reports"


class Reporter(Struct, frozen=True):
    """A format: its name and its function, ``module:function``.

    The function takes the report and a ``ReportOutput``, and gives the text to write; None where
    it has drawn on the terminal already. ``describe``, in the same form, says what it has to know
    of each pod and its findings.
    """

    name: str
    function: str
    describe: str = ""

    def render(self, report: Any, output: ReportOutput) -> str | None:
        """Return the report as text, or None where it is drawn already."""
        text: str | None = _load(self.function)(report, output)
        return text


def _load(function: str) -> Any:
    module, _, name = function.partition(":")
    return getattr(import_module(f"{_PACKAGE}.{module}"), name)


def pod_description(reporters: Iterable[Reporter]) -> Callable[..., dict[str, Any]] | None:
    """Return a function that describes a pod for the reporters, by name; None if none needs one."""
    wanted = {each.name: _load(each.describe) for each in reporters if each.describe}
    if not wanted:
        return None
    return lambda pod, findings: {name: f(pod, findings) for name, f in wanted.items()}


#: Of a ``Report``.
CHECK_REPORTERS: Final = (
    Reporter("text", "text:render_text"),
    Reporter("concise", "text:render_concise"),
    Reporter("statistics", "text:render_statistics"),
    Reporter("json", "json:render_json"),
    Reporter("sarif", "sarif:render_sarif", describe="sarif_flow:describe_flow"),
    Reporter("junit", "junit:render_junit"),
    Reporter("github", "github:render_github"),
    Reporter("gitlab", "gitlab:render_gitlab"),
    Reporter("markdown", "markdown:render_markdown"),
    Reporter("html", "html:render_html", describe="html:draw_timeline"),
    Reporter("policyreport", "policy_report:render_policy_reports"),
    Reporter("openreport", "policy_report:render_open_reports"),
)
#: Of a list of ``Explanation``.
EXPLAIN_REPORTERS: Final = (
    Reporter("text", "explain_text:render_text"),
    Reporter("json", "explain_json:render_json"),
    Reporter("svg", "explain_svg:render_svg"),
    Reporter("html", "explain_html:render_html"),
)
#: Of a list of ``WorkloadVerdict``.
SUMMARY_REPORTERS: Final = (
    Reporter("text", "explain_summary:render_text"),
    Reporter("json", "explain_summary:render_json"),
)
#: Of a list of ``PlannedPod``.
OVERRIDE_REPORTERS: Final = (
    Reporter("text", "overrides:render_text"),
    Reporter("json", "overrides:render_json"),
)
#: Of a ``SuggestReport``.
SUGGEST_REPORTERS: Final = (
    Reporter("text", "suggest_text:render_text"),
    Reporter("json", "suggest_json:render_json"),
    Reporter("diff", "suggest_patch:render_diff"),
    Reporter("kustomize", "suggest_patch:render_kustomize"),
    Reporter("helm", "suggest_patch:render_helm"),
)


#: Of a list of ``MeshSuggestion``.
MESH_REPORTERS: Final = (
    Reporter("text", "mesh_wide:render_text"),
    Reporter("json", "mesh_wide:render_json"),
    Reporter("diff", "mesh_wide:render_diff"),
)
#: Of a list of ``VerificationPlan``.
VERIFY_REPORTERS: Final = (
    Reporter("shell", "verify_shell:render_shell"),
    Reporter("k6", "verify_k6:render_k6"),
)


#: Of a ``History``.
HISTORY_REPORTERS: Final = (
    Reporter("text", "history:render_text"),
    Reporter("markdown", "history:render_markdown"),
    Reporter("json", "history:render_json"),
)


#: Of a ``Fleet``.
FLEET_REPORTERS: Final = (Reporter("html", "fleet:render_html"),)


def find_reporter(reporters: tuple[Reporter, ...], name: str) -> Reporter:
    """Return the reporter of that name. Raises ``KeyError``."""
    return {reporter.name: reporter for reporter in reporters}[name]
