"""The targets of fuzzing: each makes inputs and states what must hold for every one of them.

An input is bytes, so that one that was found can be kept in ``found`` and tried again.
"""

from __future__ import annotations

import json
import re
from functools import cache
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from shutdownlint.fixes.fixer import fix_files
from shutdownlint.linter.linter import check, plan_workloads
from shutdownlint.manifests.discovery import InputFile
from shutdownlint.manifests.inputs import Inputs, InputSource
from shutdownlint.manifests.prefilter import Content, Prefilter
from shutdownlint.manifests.skips import CRDS, NOT_KUBERNETES, SkipReason
from shutdownlint.manifests.splitter import split
from shutdownlint.platforms.durations import go_duration
from shutdownlint.platforms.istio.process import ProxyMode
from shutdownlint.platforms.istio.proxyconfig import read_proxy_config
from shutdownlint.platforms.registry import kind_table
from shutdownlint.reports.explain_json import render_json as render_explanation
from shutdownlint.reports.explanation import explain_pods
from shutdownlint.reports.json import render_json
from shutdownlint.reports.output import ReportOutput
from shutdownlint.reports.report import Report
from shutdownlint.shell.signals import signal_forwarding
from shutdownlint.shell.syntax import misquoted_command, shell_script
from shutdownlint.shell.timing import command_time
from shutdownlint.shutdown.analysis import NO_TRAFFIC, ShutdownAnalysis
from shutdownlint.shutdown.durations import DurationRange, seconds
from shutdownlint.shutdown.pod_plan import PodPlan
from shutdownlint.shutdown.request import Outcome, Request
from shutdownlint.shutdown.timeline import Timeline
from shutdownlint.yaml_source.composer import ComposeError, compose
from shutdownlint.yaml_source.location import EntryPart, FixedLocation, KeyPath, Region
from shutdownlint.yaml_source.tree import Tree
from tests.helpers import lint_options, rules, schema, user_facts
from tests.shutdown.builders import app, plan, proxy, with_grace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BEHAVIOURS = ("graceful", "abrupt", "ignoring")


class Target(NamedTuple):
    """Makes inputs, and raises ``AssertionError`` (or anything else) where one goes wrong."""

    make: Callable[[Random], bytes]
    check: Callable[[bytes], None]


#: The words that documents of every kind start with, hide and end with.
READING = [
    b"kind: CustomResourceDefinition\n",
    b"kind: Pod\n",
    b"kind: Secret\n",
    b'"kind": Pod\n',
    b"kind: 'Namespace'\n",
    b"kind: Secret # Pod\n",
    b"kind: Secret\n  Pod\n",
    b"kind:\n  Pod\n",
    b"? kind\n: Pod\n",
    b"kind: &a Secret\n",
    b"kind: *a\n",
    b"kind : Pod\n",
    b"apiVersion: v1\n",
    b"spec:\n  containers:\n  - name: a\n",
    b'spec:\n  "cont\\u0061iners":\n  - name: a\n',
    b"data: |\n  kind: Pod\n  containers: []\n",
    b'text: "a\nkind: Secret\n b"\n',
    b"text: 'a\n\nkind: CustomResourceDefinition\n'\n",
    b"items:\n- kind: Pod\n",
    b"<<: {kind: Pod}\n",
    b"{kind: Pod, containers: [{name: a}]}\n",
    b"# comment\n",
    b"#kind: Secret\r",
    b"\xef\xbb\xbf",
    b"\xc2\x85",
    b"\xe2\x80\xa8kind: Pod\n",
    b"\r",
    b"\r\n",
    b"\n",
    b"  ",
    b"\t",
    b"...\n",
    b"!!map\n",
    b"%YAML 1.1\n",
    b"- ",
    b"kind: PodList\n",
    b"x: 1\n",
]


def _check_reading(data: bytes) -> None:
    """No document that bears on shutdown is skipped, by a full parse."""
    kinds = kind_table()
    prefilter = Prefilter(kinds.entries)
    for chunk in split(data):
        content = prefilter.classify(chunk.data)
        if content in (Content.BOTH,):
            continue
        try:
            roots = compose(chunk.data.decode("utf-8-sig"))
        except (ComposeError, UnicodeDecodeError):
            continue
        for root in roots:
            _check_content(content, root, chunk.data)


def _check_content(content: Content | SkipReason, root: Node, data: bytes) -> None:
    found = _root_kinds(root)
    text = "\n".join(_scalars(root)).encode()
    if content is not Content.CONTEXT:
        for entry in kind_table().entries:
            if entry.kind in found:
                assert entry.words, (content, data)
                for group in entry.words:
                    assert not all(word in text for word in group), (content, data)
    if content is Content.WORKLOADS:
        return
    if content == CRDS:
        # What goes on below a blank line makes an unknown kind.
        assert {kind.split("\n")[0] for kind in found} <= {"CustomResourceDefinition"}
    elif content == NOT_KUBERNETES:
        assert not found
    else:
        assert found <= {"ConfigMap", "Secret"} or not _has_containers(root), (content, data)


def _root_kinds(root: Node) -> set[str]:
    if not isinstance(root, MappingNode):
        return set()
    found = set()
    for key, value in root.value:
        if isinstance(key, ScalarNode) and key.value == "kind" and isinstance(value, ScalarNode):
            found.add(value.value)
    return found


def _scalars(node: Node) -> Iterator[str]:
    if isinstance(node, MappingNode):
        for key, value in node.value:
            yield from _scalars(key)
            yield from _scalars(value)
    elif isinstance(node, SequenceNode):
        for item in node.value:
            yield from _scalars(item)
    else:
        yield node.value


def _has_containers(node: Node) -> bool:
    if isinstance(node, MappingNode):
        return any(
            (isinstance(key, ScalarNode) and key.value == "containers") or _has_containers(value)
            for key, value in node.value
        )
    return isinstance(node, SequenceNode) and any(_has_containers(item) for item in node.value)


FIXABLE = """\
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {istio-injection: enabled}}
---
# the shop
apiVersion: apps/v1
kind: Deployment
metadata:
  name: shop  # c1
  namespace: shop
spec:
  selector: {matchLabels: {app: shop}}
  template:
    metadata:
      labels: {app: shop}
      annotations:
        other: "1"  # c2
        proxy.istio.io/config: |
          terminationDrainDuration: 9s  # inner
          proxyMetadata:
            EXIT_ON_ZERO_ACTIVE_CONNECTIONS: true
    spec:
      terminationGracePeriodSeconds: 20  # c3
      containers:
        - name: app
          image: shop/app:1
          # c4
          lifecycle:
            preStop:
              exec:
                command: ["sleep", "20"]
        - {name: side, image: b, env: [{name: MINIMUM_DRAIN_DURATION, value: "5"}], lifecycle: {preStop: {tcpSocket: {port: 1}}}}
"""
FIXING = [
    ("9s", "90s"),
    ("9s  # inner", "9s"),
    ("true\n", "'true'\n"),
    ("true\n", "'yes'\n"),
    ("terminationDrainDuration", "terminationdrainduration"),
    ("proxyMetadata:\n", ""),
    ("20  # c3", "0"),
    ("20  # c3", "-5"),
    ("      terminationGracePeriodSeconds: 20  # c3\n", ""),
    ('["sleep", "20"]', "[sh, -c, 'sleep 20']"),
    ('["sleep", "20"]', "[sleep, 20s]"),
    (
        '              exec:\n                command: ["sleep", "20"]\n',
        "              sleep: {seconds: 25}\n",
    ),
    ('              exec:\n                command: ["sleep", "20"]\n', ""),
    ("          # c4\n", ""),
    ("\n", "\r\n"),
    ('        other: "1"  # c2\n', ""),
    ("proxy.istio.io/config: |\n", "proxy.istio.io/config: |-\n"),
    ("proxy.istio.io/config: |\n", "proxy.istio.io/config: >\n"),
    ("labels: {app: shop}\n      ann", "labels: &l {app: shop}\n      ann"),
    ("spec:\n      term", "spec: &s\n      term"),
    ("kind: Deployment", "kind: StatefulSet"),
    ("kind: Deployment", "kind: CronJob"),
    ("# the shop\n", "# Source: a/b.yaml\n"),
    ("name: side", "name: istio-proxy"),
    ("{name: side, image: b,", "{name: side, image: b, # c5\n          "),
    ("livenessProbe", "x"),
    (
        "image: shop/app:1\n",
        "image: shop/app:1\n          readinessProbe: {terminationGracePeriodSeconds: 3}\n",
    ),
    (
        "image: shop/app:1\n",
        "image: shop/app:1\n          livenessProbe:\n            terminationGracePeriodSeconds: 3\n",
    ),
    ("matchLabels: {app: shop}", "matchLabels: {app: 5}"),
    ('other: "1"', "other: 1"),
    ("  annotations:", "  annotations: &a"),
    ("        - name: app\n", "        - name: app # first\n"),
]


def check_fixes(data: bytes, p99: str | None, *, unsafe: bool) -> None:
    """Check that all fixed texts parse, and that only what fixes are about has changed."""
    inputs = Inputs((InputSource(InputFile(None, "<stdin>", data, stdin=True)),))
    options = lint_options(user_facts(p99, istio="1.26"))
    _, fix_result = fix_files(inputs, options, unsafe=unsafe)
    new = fix_result.texts.get("<stdin>")
    if new is None:
        return
    before, after = list(split(data)), list(split(new))
    assert len(before) == len(after)
    for old, now in zip(before, after, strict=True):
        try:
            was = values(old.data.decode("utf-8-sig"))
        except (ComposeError, UnicodeDecodeError):  # what cannot be read stays as it is
            assert old.data == now.data
            continue
        try:
            is_now = values(now.data.decode("utf-8-sig"))
        except ComposeError:
            raise AssertionError("does not parse") from None
        # Of the rules' own examples any key may be what a fix is about.
        if b"# the shop" in data:
            assert [stripped(one) for one in was] == [stripped(one) for one in is_now]


def values(text: str) -> list[Any]:
    return [Tree(root).to_python() for root in compose(text)]


#: The fields that a fix may change.
TOUCHED = {
    "terminationGracePeriodSeconds",
    "lifecycle",
    "proxy.istio.io/config",
    "readinessProbe",
    "livenessProbe",
    "env",
    "annotations",
    "command",
}


def stripped(data: Any) -> Any:
    """Everything that no fix may touch."""
    if isinstance(data, dict):
        found = {key: stripped(value) for key, value in data.items() if key not in TOUCHED}
        # A mapping that only leads to what is written, or that only led to what is gone.
        return {key: value for key, value in found.items() if value != {}}
    if isinstance(data, list):
        return [stripped(item) for item in data]
    # Quoted, a number or a boolean is the same text.
    if isinstance(data, str) and re.fullmatch(r"[-+.\w]{1,40}", data):
        data = values(data)[0]
    if isinstance(data, bool):
        return str(data).lower()
    try:
        return str(float(data))
    except (TypeError, ValueError, OverflowError):
        return data


def _pieces(rng: Random) -> bytes:
    if rng.random() < 0.5:
        return b"".join(rng.choices(READING, k=rng.randint(1, 8)))
    return mutated(rng, rng.choice(_seeds()))


ODD = [
    *(b"null", b"[]", b"{}", b'"x"', b"5", b"-1", b"1e400", b"true", b"*a", b"&a ", b"!!int x"),
    *(b"? ", b"- ", b"<<: ", b"${X}", b"{{ .x }}", b"\x00", b"\xff", b"\xe2\x80\xa8", b"|", b">-"),
    *(b"99999999999999999999", b"0x1F", b"1d", b"30s", b'"', b"'", b"[", b"{", b": ", b"\n---\n"),
    *(b"\t", b"\r", b".inf", b"~", b"containers:", b"preStop:", b"sleep:", b"exec:", b"kind: Pod"),
]


@cache
def _seeds() -> tuple[bytes, ...]:
    """Return the rules' own examples."""
    texts = (t for rule in rules() for e in schema(rule.id).examples for t in (e.bad, e.good))
    return tuple(text.encode() for text in texts)


def mutated(rng: Random, seed: bytes) -> bytes:
    """Return a text with a few small things done to it."""
    data = bytearray(seed)
    for _ in range(rng.randint(1, 5)):
        at, kind = rng.randrange(len(data) + 1), rng.random()
        if kind < 0.5:
            data[at : at + rng.choice((0, 0, 1, 5, 12))] = rng.choice(ODD)
        elif kind < 0.7:
            colon = data.find(b": ", at)
            end = data.find(b"\n", colon)
            if 0 <= colon < end:
                data[colon + 2 : end] = rng.choice(ODD)
        else:
            lines = bytes(data).split(b"\n")
            line = lines.pop(rng.randrange(len(lines)))
            if kind < 0.85:
                lines[(at := rng.randrange(len(lines) + 1)) : at] = [line, line]
            data = bytearray(b"\n".join(lines))
    return bytes(data)


def _annotation(rng: Random) -> bytes:
    keys = ["drainDuration", "terminationDrainDuration", "proxyMetadata", "drain_duration"]
    keys += ["concurrency", "holdApplicationUntilProxyStarts", "binaryPath", "tracing", "x", "1"]
    values = ["5s", "'5s'", "5", "1m30s", "true", "{A: b}", "{A: true}", "[a]", "", "0x5", "1e3s"]
    values += ["-5s", "${X}", "null", "~", "!!str 5", "|\n    5s", "{EXIT_ON_ZERO: 'y', a: [b]}"]
    lines = [f"{rng.choice(keys)}: {rng.choice(values)}" for _ in range(rng.randint(1, 4))]
    text = ("\n".join(lines) if rng.random() < 0.8 else "{" + ", ".join(lines) + "}").encode()
    return mutated(rng, text) if rng.random() < 0.5 else text


def _check_annotation(data: bytes) -> None:
    """Read without an error; what is wrong is reported with a reason and its location."""
    try:
        roots = compose(data.decode())
    except (ComposeError, UnicodeDecodeError):
        return

    def at(key_path: KeyPath, part: EntryPart) -> FixedLocation:
        return FixedLocation(tree.region(key_path, part, "f", 1))

    for root in roots:
        tree = Tree(root)
        found = read_proxy_config(root, (), at)
        for problem in (*found.rejected, *found.ignored, *found.removed, *found.doubtful):
            assert problem.reason
            assert isinstance(problem.location.region(), Region)
        # Nothing bounds terminationDrainDuration; Istio takes a negative one.
        assert found.drain_duration is None or found.drain_duration[0] >= seconds(1)


def _script(rng: Random) -> bytes:
    words = ["sleep", "5", "5.5", "10s", "1m", "$X", "${X:-3}", "&&", "||", ";", "|", "&", "!", "{"]
    words += [
        "}",
        "(",
        ")",
        "if",
        "then",
        "fi",
        "while",
        "do",
        "done",
        "true",
        "false",
        "exec",
        "'",
    ]
    words += [
        '"',
        "`",
        "\\",
        "\n",
        "#",
        ">",
        "2>&1",
        "curl -s x",
        "timeout 3",
        "trap",
        "kill 1",
        "$(",
    ]
    words += [
        "set -e",
        "wait",
        "nginx -s quit",
        "for i in 1 2",
        "until",
        "é",
        "\t",
        "5²",
        "inf",
        "--",
    ]
    return " ".join(rng.choices(words, k=rng.randint(1, 10))).encode()


def _check_hook(data: bytes) -> None:
    """Its time is a span; nothing is thrown whatever the script says."""
    script = data.decode()
    for command in (["sh", "-c", script], script.split(" "), ["/bin/bash", "-ec", script, "x"]):
        time = command_time(command, {"X": "7", "Y": "abc"}.get)
        assert time.low >= seconds(0)
        assert time.high is None or time.high >= time.low
        shell_script(command)
    misquoted_command(script)
    signal_forwarding(script)


def _duration(rng: Random) -> bytes:
    pieces = ["1", "30", ".5", "s", "m", "h", "ms", "us", "µs", "ns", "d", "-", "+", " ", "²", "e5"]
    return "".join(rng.choices([*pieces, "9" * 20, "0x1"], k=rng.randint(1, 6))).encode()


def _check_duration(data: bytes) -> None:
    """Read to the microsecond, or refused as a value."""
    try:
        found = go_duration(data.decode())
    except ValueError:
        return
    assert abs(found.total_seconds()) < 10**10


def _numbers(rng: Random) -> bytes:
    def half(most: int) -> float:
        return rng.randint(0, most * 2) / 2

    containers = [
        [half(60), rng.randint(0, 90), rng.randrange(len(BEHAVIOURS))]
        for _ in range(rng.randint(1, 3))
    ]
    sidecar = [
        rng.randrange(len(ProxyMode)),
        rng.randint(0, 90),
        rng.random() < 0.5,
        half(60),
        half(60),
        rng.randint(1, 90),
        rng.random() < 0.5,
    ]
    drawn = [rng.randint(0, 90), containers, sidecar if rng.random() < 0.7 else None]
    return json.dumps([*drawn, half(60), half(60), half(60), rng.randint(1, 60)]).encode()


def _planned(grace: float, containers: Any, sidecar: Any) -> PodPlan:
    mesh = None
    if sidecar is not None:
        mode = list(ProxyMode)[sidecar[0]]
        hook = mode is ProxyMode.NATIVE and sidecar[6]
        names = ("pre_stop", "exit_on_zero", "minimum", "termination", "drain")
        mesh = proxy(mode, **dict(zip(names, sidecar[1:6], strict=True)), hook=hook)
    apps = [
        app(f"c{number}", pre_stop=hook, drain=drain, behaviour=BEHAVIOURS[behaviour])
        for number, (hook, drain, behaviour) in enumerate(containers)
    ]
    return plan(*apps, grace=grace, proxy=mesh)


def _check_timeline(data: bytes) -> None:
    """Events in order, each with a cause; more grace and shorter requests never fare worse."""
    grace, containers, sidecar, arrival, duration, more, longer = json.loads(data)
    of = _planned(grace, containers, sidecar)
    request = Request(seconds(arrival), seconds(duration))
    prediction = Timeline(of, [request]).predictions[0]
    served = prediction.outcome is Outcome.OK
    assert served or str(prediction.cause)
    later = Request(request.arrival, request.duration + seconds(more))
    if Timeline(of, [later]).predictions[0].outcome is Outcome.OK:
        assert served
    if served:
        patient = with_grace(of, DurationRange.exact(of.grace.value.low + seconds(longer)))
        assert Timeline(patient, [request]).predictions[0].outcome is Outcome.OK
    events = ShutdownAnalysis(of).idle_timeline.events
    assert [event.at for event in events] == sorted(event.at for event in events)
    assert all(str(event.cause) for event in events)


def _manifest(rng: Random) -> bytes:
    return mutated(rng, rng.choice(_seeds()))


def _check_manifest(data: bytes) -> None:
    """Check, report and explain a manifest: no rule fails, and nothing raises."""
    inputs = Inputs((InputSource(InputFile(None, "<stdin>", data, stdin=True)),))
    facts = user_facts(p99="10s") if len(data) % 2 else user_facts(istio="1.26", kubernetes="1.31")
    options = lint_options(facts)
    result = check(inputs, options)
    assert all(finding.rule != "SL002" for finding in result.findings)
    render_json(Report(result), ReportOutput())
    pods = plan_workloads(inputs, options).pods
    explanations = explain_pods(pods, [Request(seconds(0), seconds(5))], NO_TRAFFIC)
    render_explanation(explanations, ReportOutput())


def _fixable(rng: Random) -> bytes:
    if rng.random() < 0.3:
        return mutated(rng, rng.choice(_seeds()))
    text = FIXABLE
    for piece, instead in rng.choices(FIXING, k=rng.randint(0, 5)):
        text = text.replace(piece, instead)
    data = text.encode()
    return mutated(rng, data) if rng.random() < 0.3 else data


def _check_fixes(data: bytes) -> None:
    check_fixes(data, (None, "7s", "30s")[len(data) % 3], unsafe=len(data) % 2 == 0)


#: By name, with how many of a thousand inputs each gets in a long run: what is quick gets more.
TARGETS: dict[str, tuple[Target, int]] = {
    "reading": (Target(_pieces, _check_reading), 300),
    "annotations": (Target(_annotation, _check_annotation), 250),
    "hooks": (Target(_script, _check_hook), 200),
    "durations": (Target(_duration, _check_duration), 150),
    "timeline": (Target(_numbers, _check_timeline), 80),
    "manifests": (Target(_manifest, _check_manifest), 15),
    "fixes": (Target(_fixable, _check_fixes), 5),
}
