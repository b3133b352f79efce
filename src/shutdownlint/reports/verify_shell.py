"""A test plan as a shell script: it deletes a pod while requests run, and compares their ends."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from shutdownlint.reports.report import safe
from shutdownlint.reports.texts import format_answer_cause, format_outcome, format_request
from shutdownlint.reports.verification import (
    LEAD_SECONDS,
    READY_PODS,
    address_port,
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
from shutdownlint.verification.plan import Expectation, expectation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shutdownlint.reports.output import ReportOutput
    from shutdownlint.shutdown.analysis import Answer
    from shutdownlint.shutdown.request import Request
    from shutdownlint.verification.plan import PlannedRequest, VerificationPlan

_HEAD: Final = """\
#!/bin/sh
# Written by shutdownlint verify. For each workload below it deletes one pod while requests run, and
# compares what becomes of them with what the timeline says. Read it before you run it.
#
#   REQUEST_PATH='/delay/%s' sh verify.sh                the settings as they are
#   REQUEST_PATH='/delay/%s' EXPECT=after sh verify.sh   once the suggested settings are in place
#
# REQUEST_PATH is the path of a request that takes as many seconds as %s says. The script has to run
# where it reaches the pods' addresses: in a pod of the cluster (of its mesh, if there is one), with
#   CURL='kubectl exec deploy/client -- curl'
# KUBECTL, POD, ADDRESS (host:port) and SCHEME (http) can be set too.
# Exit codes: 0: all as predicted. 1: something is not. 2: it could not be tested.
set -u
KUBECTL=${KUBECTL:-kubectl}
CURL=${CURL:-curl}
EXPECT=${EXPECT:-before}
SCHEME=${SCHEME:-http}
: "${REQUEST_PATH:?the path of a request that takes as many seconds as %s says}"
results=$(mktemp -d) || exit 2
trap 'rm -rf "$results"' EXIT
unlike=0

fail() {
  printf '%s\\n' "$1" >&2
  exit 2
}

case "$EXPECT" in before | after) ;; *) fail "EXPECT is before or after" ;; esac
case "$REQUEST_PATH" in *%s*) ;; *) fail "REQUEST_PATH has no %s for the seconds" ;; esac

# send NUMBER WAIT SECONDS LIMIT: one request, after a while; what became of it goes into a file.
send() {
  sleep "$2"
  path=$(printf "$REQUEST_PATH" "$3")
  answer=$($CURL --silent --output /dev/null --max-time "$4" \\
    --write-out '%{http_code} %{time_total}' "$SCHEME://$address$path")
  echo "$? $answer" > "$results/$1"
}

# try: a request of a second has to be answered after a second, or nothing else means anything.
try() {
  send 0 0 1 16
  read -r code status took < "$results/0" || fail "the first request has no result"
  case "$code/$status/${took%%.*}" in
    0/[23]??/[1-9]*) ;;
    *) fail "a request of 1s should be answered after 1s: HTTP $status, curl $code, ${took}s" ;;
  esac
}

# compare NUMBER SECONDS BEFORE AFTER TEXT-BEFORE TEXT-AFTER: whether it is as predicted.
compare() {
  expected=$3 text=$5
  if [ "$EXPECT" = after ]; then expected=$4 text=$6; fi
  read -r code status took < "$results/$1" || fail "request $1 has no result"
  case "$code/$status" in
    [1-6]/* | 126/* | 127/*) fail "curl cannot send request $1: exit code $code" ;;
    0/[23]??) seen=served ;;
    *) seen=lost ;;
  esac
  if [ "$seen" = served ] && [ "${took%%.*}" -lt "$2" ]; then
    fail "request $1 was answered after ${took}s: it takes less time than it was asked to"
  fi
  verdict='as predicted'
  case "$expected" in
    either) verdict='open        ' ;;
    "$seen") ;;
    *) verdict='UNLIKE      ' unlike=$((unlike + 1)) ;;
  esac
  printf '%s\\n' "$verdict  $text; seen: $seen, HTTP $status, curl $code, ${took}s"
}
"""
_TAIL: Final = """
if [ "$unlike" -gt 0 ]; then
  printf '%s\\n' "$unlike not as predicted"
  exit 1
fi
"""


def render_shell(plans: Sequence[VerificationPlan], _output: ReportOutput) -> str:
    """Return the script for all workloads, one after the other."""
    return "\n".join((_HEAD, *("\n".join(_workload(plan)) for plan in plans), _TAIL.lstrip("\n")))


def _workload(plan: VerificationPlan) -> Iterator[str]:
    option = namespace_option(plan)
    yield _comment(f"{plan.pod.title}, {file_and_line(plan)}")
    yield from map(_comment, suggested_changes(plan))
    yield from (_comment(f"assumption: {text}") for text in assumptions(plan))
    yield from map(_comment, describe_lost(plan))
    for observation in observations(plan):
        yield _comment(f"watch: {observation.command}")
        yield _comment(f"  {observation.meaning}")
    yield f"printf '%s\\n' {shlex.quote(safe(plan.pod.title))}"
    yield from _find_pod(plan, option)
    for number, planned in enumerate(plan.requests, 1):
        if planned.request.arrival == ZERO:
            yield _send(number, planned.request)
    yield f"sleep {_seconds(LEAD_SECONDS)}"
    yield f'$KUBECTL delete pod {option} "$pod" --wait=false || fail "the pod cannot be deleted"'
    for number, planned in enumerate(plan.requests, 1):
        if planned.request.arrival > ZERO:
            yield _send(number, planned.request)
    yield "wait"
    for number, planned in enumerate(plan.requests, 1):
        yield _compare(number, planned, plan)
    yield ""


def _find_pod(plan: VerificationPlan, option: str) -> Iterator[str]:
    name = plan.pod.id.name
    if plan.pod.id.kind == "Pod":
        yield f"pod=${{POD:-{shlex.quote(name)}}}"
    else:
        selector = shlex.quote(pod_selector(plan))
        yield (
            f"pod=${{POD:-$($KUBECTL get pods {option} --selector {selector} "
            f"--output {shlex.quote(f'go-template={READY_PODS}')} | head -n 1)}}"
        )
    yield '[ -n "$pod" ] || fail "no pod of it is ready"'
    port = address_port(plan)
    shown = str(port) if port is not None else "${PORT:?the port that requests are sent to}"
    yield f"""ip=$($KUBECTL get pod {option} "$pod" --output 'jsonpath={{.status.podIP}}')"""
    yield 'case "$ip" in *:*) ip="[$ip]" ;; esac'
    yield f"address=${{ADDRESS:-$ip:{shown}}}"
    yield "try"


def _send(number: int, request: Request) -> str:
    numbers = (request.arrival.total_seconds(), sent_seconds(request), limit_seconds(request))
    return f"send {number} {' '.join(map(_seconds, numbers))} &"


def _seconds(number: float) -> str:
    return f"{number:g}"


def _compare(number: int, planned: PlannedRequest, plan: VerificationPlan) -> str:
    file = plan.pod.ref.document.file
    answers = (planned.before, planned.in_the_end)
    words = (*map(expectation, answers), *(_text(answer, file) for answer in answers))
    least = max(int(planned.request.duration.total_seconds()) - 1, 0)
    return f"compare {number} {least} {' '.join(shlex.quote(str(word)) for word in words)}"


def _text(answer: Answer, file: str) -> str:
    request = format_request(answer.prediction.request)
    cause = format_answer_cause(answer, file)
    reason = f" ({cause})" if cause and expectation(answer) is not Expectation.SERVED else ""
    return safe(f"{request}: {format_outcome(answer)}{reason}")


def _comment(text: str) -> str:
    """Return a comment; nothing in it can begin a line of its own."""
    return f"# {safe(text)}"
