"""Whole runs on hostile repositories: ``python -m tests.fuzz.whole_runs --runs 50000 --seed 1``.

A repository is made of mutated manifests, kustomizations, Applications, charts, configuration, rules,
links and names; then one command runs on it. Each run must end with 0, 1 or 2, without a traceback,
in 3 s of CPU, and all together in 2 GB. ``--processes`` of them are real processes. With ``--documents``
the repositories are large instead, until there were so many documents; where one takes long, each of
its files must take less than 3 s.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

from typer.testing import CliRunner

from shutdownlint.cli.app import command_line
from shutdownlint.reports.registry import (
    CHECK_REPORTERS,
    EXPLAIN_REPORTERS,
    SUGGEST_REPORTERS,
    VERIFY_REPORTERS,
)
from tests.fuzz.targets import FIXABLE, TARGETS, mutated

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_SECONDS: Final = 3.0
MOST_KILOBYTES: Final = 2 * 1024 * 1024
POD: Final = FIXABLE.encode()
SEEDS: Final[dict[str, tuple[bytes, ...]]] = {
    "kustomization.yaml": (
        (
            b"resources: [a.yaml, sub]\nnamePrefix: x-\nnamespace: n\npatches:\n- path: p.yaml\n"
            b"- target: {kind: Deployment, name: (a|b).*}\n  patch: |\n    - {op: add, path: /spec/x, "
            b"value: 1}\nimages: [{name: a, newTag: b}]\nlabels: [{pairs: {a: b}}]\n"
            b"replicas: [{name: a, count: 2}]\n"
        ),
        b"resources: [.]\n",
        b"kind: Component\ncomponents: [sub]\npatchesStrategicMerge: [a.yaml, p.yaml]\n",
    ),
    "app.yaml": (
        (
            b"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec:\n"
            b"  destination: {namespace: n}\n  source: {path: sub, helm: {valueFiles: [v.yaml], "
            b"values: 'a: b', parameters: [{name: a, value: b}]}, kustomize: {namePrefix: a}}\n"
        ),
        (
            b"apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: a}\nspec:\n"
            b"  generators: [{matrix: {generators: [{git: {directories: [{path: '**'}]}}, "
            b"{list: {elements: [{a: b}]}}]}}]\n  template: {metadata: {name: '{{a}}'}, spec: {source: "
            b"{path: '{{path}}'}}}\n"
        ),
        (
            b"apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a}\n"
            b"spec: {path: ./sub, targetNamespace: n, postBuild: {substitute: {a: b}}}\n"
        ),
        (
            b"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a}\nspec: "
            b"{chart: {spec: {chart: sub, sourceRef: {kind: GitRepository}}}, values: {a: b}}\n"
        ),
    ),
    "shutdownlint.toml": (
        (
            b'p99 = "3s"\nexclude = ["b*"]\nrules = ["rules"]\ncontext = ["sub"]\n[[render]]\n'
            b'path = "sub"\nvalues = ["v.yaml"]\n[[workloads]]\nmatch = "*"\np99 = "5s"\n'
        ),
    ),
    "rules/own.yaml": (
        (
            b"id: OWN001\nname: own\nseverity: error\nfor: container\nwhen: preStop < duration('5s')\n"
            b"at: preStop\nmessage: '{container} {preStop}'\n"
        ),
    ),
    "kinds.yaml": (
        (
            b"apiVersion: serving.kserve.io/v1alpha2\nkind: LLMInferenceService\nmetadata: {name: a}\n"
            b"spec: {template: {terminationGracePeriodSeconds: 20, containers: [{name: main, args: [a]}]}, "
            b"prefill: {template: {}}, router: {scheduler: {template: {terminationGracePeriodSeconds: 9}}}}\n"
        ),
        (
            b"apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: a}\nspec: "
            b"{predictor: {terminationGracePeriodSeconds: 5, model: {args: [a]}, containers: [{name: a}]}}\n"
        ),
        (
            b"apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: a}\nspec: {http: "
            b"[{timeout: 90s, route: [{destination: {host: a.n}}]}]}\n---\napiVersion: v1\nkind: Service\n"
            b"metadata: {name: a, annotations: {konghq.com/read-timeout: '9', cloud.google.com/backend-config: "
            b'\'{"default": "a"}\'}}\nspec: {selector: {app: a}, ports: [{port: 80, targetPort: http}]}\n'
        ),
        (
            b"apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: a}\nspec: {rules: "
            b"[{timeouts: {request: 25s}, backendRefs: [{name: a, namespace: n}]}]}\n---\napiVersion: "
            b"projectcontour.io/v1\nkind: HTTPProxy\nmetadata: {name: a}\nspec: {routes: [{services: [{name: "
            b"a}], timeoutPolicy: {response: 9m}}]}\n"
        ),
        (
            b"apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: a, annotations: {"
            b"nginx.ingress.kubernetes.io/proxy-read-timeout: '90'}}\nspec: {defaultBackend: {service: {name: "
            b"a}}}\n---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: a}\nspec: "
            b"{selector: {matchLabels: {app: a}}}\n---\napiVersion: autoscaling/v2\nkind: "
            b"HorizontalPodAutoscaler\nmetadata: {name: a}\nspec: {scaleTargetRef: {name: a}}\n"
        ),
        (
            b"apiVersion: gateway.envoyproxy.io/v1alpha1\nkind: EnvoyProxy\nmetadata: {name: a}\nspec: "
            b"{shutdown: {drainTimeout: 9s, minDrainDuration: 5s}, provider: {kubernetes: {envoyDeployment: "
            b"{patch: {value: {spec: {template: {spec: {terminationGracePeriodSeconds: 5}}}}}}}}}\n---\n"
            b"apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: a}\nspec: {template: {spec: "
            b"{timeoutSeconds: 9, containers: [{image: a}]}}}\n"
        ),
        (
            b"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, labels: {app: a}}\nspec: {replicas: 2, "
            b"minReadySeconds: 5, progressDeadlineSeconds: 5, strategy: {rollingUpdate: {maxSurge: 0, "
            b"maxUnavailable: 50%}}, selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: "
            b"a}}, spec: {containers: [{name: a, image: 'edoburu/pgbouncer:1.2', readinessProbe: {httpGet: "
            b"{port: http}}}, {name: b, image: 'traefik:3', command: [sh, -c, 'f() { exec a; }; f']}]}}}\n"
        ),
    ),
    "dump.json": (
        (
            b'{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Pod", '
            b'"metadata": {"name": "a-1-x", "namespace": "n", "resourceVersion": "1", "ownerReferences":'
            b' [{"kind": "ReplicaSet", "name": "a-1", "controller": true}]}, "spec": {"containers": '
            b'[{"name": "a", "image": "b"}]}}]}'
        ),
    ),
    "values.yaml": (
        (
            b"terminationGracePeriodSeconds: 5\nlifecycle: {preStop: {sleep: {seconds: 9}}}\n"
            b"podAnnotations: {proxy.istio.io/config: 'drainDuration: 5'}\n"
        ),
    ),
    "Chart.yaml": (b"name: a\nversion: 1.0.0\n",),
    "p.yaml": (
        (
            b"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {template: {spec: "
            b"{containers: [{name: a, $patch: delete}]}}}\n"
        ),
        b"[{op: remove, path: /spec}]",
    ),
}
NAMES: Final = (
    "a.yaml",
    "b.yml",
    "c.JSON",
    "--fix.yaml",
    "ü.yaml",
    "a b.yaml",
    "\udcff.yaml",
    "x\n.yaml",
)
#: The documents of a large repository, and how many a file may have.
BATCH: Final = 500
MOST_IN_A_FILE: Final = 20
FOLDERS: Final = ("", "sub/", "sub/deep/", "templates/", "sub/templates/")


def make_repository(folder: Path, rng: Random) -> None:
    """Fill a folder with a repository."""
    (folder / ".git").mkdir()
    for name, seeds in SEEDS.items():
        if rng.random() < 0.35:
            data = rng.choice(seeds)
            write(folder, rng.choice(FOLDERS) + name, vary(rng, data))
    for _ in range(rng.randint(1, 4)):
        data = POD if rng.random() < 0.5 else TARGETS["manifests"][0].make(rng)
        write(folder, rng.choice(FOLDERS) + rng.choice(NAMES), vary(rng, data))
    if rng.random() < 0.15:
        target = rng.choice(("a.yaml", "..", ".", "/etc/passwd", "link.yaml", "/dev/zero"))
        link = folder / "link.yaml"
        if not link.exists() and not link.is_symlink():
            link.symlink_to(target)
    if rng.random() < 0.03:
        os.mkfifo(folder / "pipe.yaml")


def vary(rng: Random, data: bytes) -> bytes:
    return mutated(rng, data) if rng.random() < 0.6 else data


def write(folder: Path, name: str, data: bytes) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


COMMANDS: Final = ("check", "check", "check", "explain", "suggest", "init", "verify", "measure")
#: Solving and fixing take their time for each workload, so there is less of them.
COMMANDS_OF_BATCHES: Final = (*("check",) * 192, *("explain",) * 6, "suggest", "init")


def make_command(
    rng: Random, commands: tuple[str, ...] = COMMANDS, option_share: float = 0.12
) -> list[str]:
    """One command with some options."""
    command = rng.choice(commands)
    found = [command]
    if command == "init":
        return found
    if command == "measure":  # without a server
        return [*found, "--", rng.choice((".", "sub", "a.yaml", "."))]
    reporters = {
        "check": CHECK_REPORTERS,
        "explain": EXPLAIN_REPORTERS,
        "suggest": SUGGEST_REPORTERS,
        "verify": VERIFY_REPORTERS,
    }[command]
    found += ["--format", rng.choice([reporter.name for reporter in reporters])]
    if rng.random() < 0.3:
        found += ["-o", rng.choice(("out.txt", "link.yaml", "sub/out.txt"))]
    for option in ("--isolated", "--p99=4s", "--mesh=istio=1.20", "--namespace=n"):
        if rng.random() < 0.15:
            found.append(option)
    if command == "check":
        chosen = ("--notes", "--fix", "--unsafe-fixes", "--diff", "--write-baseline=known.json")
        for option in chosen:
            if rng.random() < option_share:
                found.append(option)
    return [*found, "--", rng.choice((".", "sub", "a.yaml", "."))]


def run_here(command: list[str]) -> tuple[int, str]:
    result = CliRunner().invoke(command_line(), command)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return 99, f"{type(result.exception).__name__}: {result.exception}"
    return result.exit_code, result.output


def run_process(command: list[str]) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "shutdownlint", *command],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace")


def run_one(seed: str, *, process: bool = False) -> str:
    """One run; what is wrong with it, or nothing."""
    rng = Random(seed)
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    before = Path.cwd()
    try:
        make_repository(folder, rng)
        command = make_command(rng)
        os.chdir(folder)
        begin = time.process_time()
        code, output = (run_process if process else run_here)(command)
        seconds = time.process_time() - begin
    finally:
        os.chdir(before)
        shutil.rmtree(folder, ignore_errors=True)
    problems = []
    if code not in (0, 1, 2):
        problems.append(f"exit code {code}: {output[-300:]}")
    if "internal error" in output or "Traceback (most" in output:
        problems.append(output[-400:])
    if seconds > MOST_SECONDS:
        problems.append(f"{seconds:.1f} s of CPU")
    return f"{seed} {command}: {'; '.join(problems)}" if problems else ""


def make_document(rng: Random) -> bytes:
    """Return a mutated document of any kind."""
    kind = rng.random()
    if kind < 0.4:
        return vary(rng, rng.choice(SEEDS[rng.choice([*SEEDS])]))
    return vary(rng, POD if kind < 0.7 else TARGETS["manifests"][0].make(rng))


def make_large_repository(folder: Path, rng: Random) -> int:
    """Fill a folder with a batch of documents; how many there are."""
    (folder / ".git").mkdir()
    made = number = 0
    while made < BATCH:
        parts = [make_document(rng) for _ in range(rng.randint(1, MOST_IN_A_FILE))]
        write(folder, f"{rng.choice(FOLDERS)}{number}.yaml", b"\n---\n".join(parts))
        made, number = made + len(parts), number + 1
    for name in ("kustomization.yaml", "shutdownlint.toml", "rules/own.yaml", "Chart.yaml"):
        if rng.random() < 0.3:
            write(folder, rng.choice(FOLDERS) + name, vary(rng, rng.choice(SEEDS[name])))
    return made


def run_batch(seed: str) -> tuple[int, str]:
    """One command on a large repository: its documents, and what is wrong."""
    rng = Random(seed)
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    before = Path.cwd()
    try:
        documents = make_large_repository(folder, rng)
        command = make_command(rng, COMMANDS_OF_BATCHES, option_share=0.002)
        if len(command) > 1:
            command[-1] = "."  # the whole of it
        os.chdir(folder)
        problems = []
        begin = time.process_time()
        code, output = run_here(command)
        if code not in (0, 1, 2):
            problems.append(f"exit code {code}: {output[-300:]}")
        if "internal error" in output or "Traceback (most" in output:
            problems.append(output[-400:])
        if time.process_time() - begin > MOST_SECONDS:
            files = sorted(folder.rglob("*.yaml"))
            problems += [f"{path} is slow" for path in files if is_slow(command[0], path)]
    finally:
        os.chdir(before)
        shutil.rmtree(folder, ignore_errors=True)
    return documents, f"{seed} {command}: {problems}" if problems else ""


def is_slow(command: str, path: Path) -> bool:
    """Whether one file alone takes longer than it may, in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-m", "shutdownlint", command, "--isolated", "--", str(path)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_utime + used.ru_stime > MOST_SECONDS


def run_batches(seed: int, documents: int) -> Iterator[str]:
    """Yield the problem, if any, of each batch, for as many batches as the documents take."""
    made = number = 0
    while made < documents:
        count, problem = run_batch(f"batch-{seed}-{number}")
        made, number = made + count, number + 1
        yield problem


def run_small(seed: int, runs: int, processes: int) -> Iterator[str]:
    """Yield the problem, if any, of each run on a small repository."""
    for number in range(runs):
        yield run_one(f"{seed}-{number}", process=number < processes)


def main() -> None:
    """Run, and print what went wrong and how much memory it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--documents", type=int, default=0)
    asked = parser.parse_args()
    runs = wrong = 0
    begin = time.monotonic()
    problems = (
        run_batches(asked.seed, asked.documents)
        if asked.documents
        else run_small(asked.seed, asked.runs, asked.processes)
    )
    for problem in problems:
        runs += 1
        if problem:
            wrong += 1
            sys.stdout.write(f"{problem}\n")
            sys.stdout.flush()
        if wrong == 20:
            break
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    took = time.monotonic() - begin
    sys.stdout.write(f"{runs:,} runs in {took:.0f} s, {peak // 1024} MB, {wrong} wrong\n")
    sys.exit(1 if wrong or peak > MOST_KILOBYTES else 0)


if __name__ == "__main__":
    main()
