"""A test plan as a k6 script: the same requests, timed from the start of the test."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any, Final

from shutdownlint.reports.report import safe
from shutdownlint.reports.texts import format_outcome, format_request
from shutdownlint.reports.verification import (
    LEAD_SECONDS,
    READY_PODS,
    assumptions,
    describe_lost,
    file_and_line,
    limit_seconds,
    namespace_option,
    observations,
    pod_selector,
    sent_seconds,
    suggested_changes,
)
from shutdownlint.shutdown.durations import ZERO
from shutdownlint.verification.plan import expectation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shutdownlint.reports.output import ReportOutput
    from shutdownlint.shutdown.analysis import Answer
    from shutdownlint.verification.plan import PlannedRequest, VerificationPlan

#: When the pod is deleted, in seconds after the start of the test.
_DELETE_AT: Final = 10
_SCRIPT: Final = """\
import http from 'k6/http';
import exec from 'k6/execution';
import { check } from 'k6';

const expect = __ENV.EXPECT || 'before';
const base = `${__ENV.SCHEME || 'http'}://${__ENV.ADDRESS}`;
const path = __ENV.REQUEST_PATH;
if (!__ENV.ADDRESS || !path) {
  throw new Error('set ADDRESS (host:port of the pod) and REQUEST_PATH (with %s for the seconds)');
}

// A steady load on top, for the error rate of a whole rollout: RATE is requests a second.
const load = __ENV.RATE
  ? {
      load: {
        executor: 'constant-arrival-rate',
        rate: Number(__ENV.RATE),
        timeUnit: '1s',
        duration: __ENV.LOAD_FOR || '2m',
        preAllocatedVUs: 50,
        exec: 'short',
      },
    }
  : {};

const scenarios = {};
plan.forEach((request, number) => {
  scenarios[`request_${number + 1}`] = {
    executor: 'per-vu-iterations',
    vus: 1,
    iterations: 1,
    startTime: `${request.start}s`,
    maxDuration: `${request.limit}s`,
    gracefulStop: '0s',
    exec: 'planned',
    env: { NUMBER: String(number) },
  };
});

export const options = {
  scenarios: { ...scenarios, ...load },
  thresholds: { checks: ['rate==1'] },
};

export function planned() {
  const request = plan[Number(__ENV.NUMBER)];
  const wanted = request[expect];
  const url = base + path.replace('%s', String(request.seconds));
  const answer = http.get(url, { timeout: `${request.limit}s`, tags: { request: request.name } });
  const answered = answer.status >= 200 && answer.status < 400;
  const early = answer.timings.duration < (request.seconds - 1.5) * 1000;
  const seen = !answered ? 'lost' : early ? 'answered too early' : 'served';
  const text = `${request.name}: ${wanted.text}`;
  console.log(`${text}; seen: ${seen}, HTTP ${answer.status} ${answer.error}`);
  check(answer, { [text]: () => wanted.seen === 'either' || wanted.seen === seen });
}

export function short() {
  http.get(base + path.replace('%s', '1'), { tags: { request: `load ${exec.scenario.name}` } });
}
"""


def render_k6(plans: Sequence[VerificationPlan], _output: ReportOutput) -> str:
    """Return the script of one workload. Raises ``ValueError`` for several."""
    (plan,) = plans
    return "".join(_workload(plan))


def _workload(plan: VerificationPlan) -> Iterator[str]:
    option = f"{namespace_option(plan)} ".lstrip()
    selector = shlex.quote(pod_selector(plan))
    names = shlex.quote(f"go-template={READY_PODS}")
    lines = [
        f"Written by shutdownlint verify: {plan.pod.title}, {file_and_line(plan)}",
        f"The pod has to be deleted {_DELETE_AT}s after the start:",
        f"  pod=$(kubectl get pods {option}--selector {selector} --output {names} | head -n 1)",
        f'  (sleep {_DELETE_AT}; kubectl delete pod {option}"$pod" --wait=false) &',
        "  k6 run --env ADDRESS=HOST:PORT --env REQUEST_PATH='/delay/%s' verify.js",
        "With --env EXPECT=after once the suggested settings are in place.",
        *suggested_changes(plan),
        *(f"assumption: {text}" for text in assumptions(plan)),
        *describe_lost(plan),
        *(f"watch: {each.command}: {each.meaning}" for each in observations(plan)),
    ]
    yield from (f"// {safe(line)}\n" for line in lines)
    requests = [_request(planned) for planned in plan.requests]
    yield f"const plan = {json.dumps(requests, indent=2)};\n\n"
    yield _SCRIPT


def _request(planned: PlannedRequest) -> dict[str, Any]:
    request = planned.request
    arrival = -LEAD_SECONDS if request.arrival == ZERO else request.arrival.total_seconds()
    return {
        "name": format_request(request),
        "start": _DELETE_AT + arrival,
        "seconds": sent_seconds(request),
        "limit": limit_seconds(request),
        "before": _expected(planned.before),
        "after": _expected(planned.in_the_end),
    }


def _expected(answer: Answer) -> dict[str, str]:
    return {"seen": str(expectation(answer)), "text": safe(format_outcome(answer))}
