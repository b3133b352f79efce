"""The script of ``verify``, run with a real Envoy: what it sees is what it says, before and after.

kubectl is a stand-in: it knows one pod, and its deletion makes the suite's kubelet stop the processes.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conformance.envoy import VERSIONS
from tests.conformance.pod import Kubelet, started
from tests.conformance.test_conformance import have
from tests.conformance.test_suggested import P99, PROPAGATION, broken, case_of, suggested
from tests.helpers import plan_files, run, user_facts

if TYPE_CHECKING:
    from shutdownlint.platforms.planned_pod import PlannedPod
    from tests.conformance.cases import Case

pytestmark = [
    pytest.mark.network,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed"),
]

SEEDS = range(6)
#: It answers what the script asks for, and notes that the pod is deleted.
KUBECTL = """\
#!/bin/sh
case "$1 $2" in
  "get pods" | "get pod") echo shop ;;
  "delete pod") : > "$DELETED" ;;
  *) exit 1 ;;
esac
"""


def planned(text: str) -> PlannedPod:
    (pod,) = plan_files({"shop.yaml": text}, user_facts(istio="1.26")).pods
    return pod


def planned_in(folder: Path, name: str) -> PlannedPod:
    """Return the workload of that name in a folder."""
    texts: dict[str, str | bytes] = {path.name: path.read_text() for path in folder.glob("*.yaml")}
    (pod,) = (pod for pod in plan_files(texts).pods if pod.id.name == name)
    return pod


def script_of(text: str, folder: Path) -> Path:
    """Write the script that the command prints for a manifest, and return its path."""
    manifest = folder / "shop.yaml"
    manifest.write_text(text)
    given = ["--istio-version", "1.26", "--p99", f"{P99}s", "--propagation", f"{PROPAGATION}s"]
    code, out, err = run("verify", str(manifest), "--isolated", *given)
    assert code == 0, err
    script = folder / "verify.sh"
    script.write_text(out)
    return script


async def observe_script(
    case: Case, script: Path, expect: str, binary: Path, starting: asyncio.Semaphore
) -> tuple[int | None, str]:
    """Run the script against a pod with the settings of a case: exit code and output."""
    folder = script.parent
    kubectl, deleted = folder / "kubectl", folder / f"deleted-{expect}"
    kubectl.write_text(KUBECTL)
    kubectl.chmod(0o755)
    async with started(case, binary, 1.0, starting) as (app, agent, ports):
        assert app.child.stdin is not None
        app.child.stdin.write(b"t0\n")
        environment = {
            **os.environ,
            "KUBECTL": str(kubectl),
            "DELETED": str(deleted),
            "ADDRESS": f"127.0.0.1:{ports['inbound']}",
            "REQUEST_PATH": "/%s",
            "EXPECT": expect,
        }
        process = await asyncio.create_subprocess_exec(
            "sh",
            str(script),
            env=environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        while not deleted.exists() and process.returncode is None:
            await asyncio.sleep(0.01)
        kubelet = Kubelet(case, app, agent, ports["status"], 1.0)
        output, _ = (await asyncio.gather(process.communicate(), kubelet.delete()))[0]
    return process.returncode, output.decode()


def test_what_the_script_sees_is_what_it_says(tmp_path: Path) -> None:
    binary = have(VERSIONS[0])

    async def all_of_them() -> list[tuple[int | None, str]]:
        starting = asyncio.Semaphore(3)
        runs = []
        for seed in SEEDS:
            folder = tmp_path / str(seed)
            folder.mkdir()
            text = broken(seed)
            script = script_of(text, folder)
            before, after = case_of(seed, planned(text)), case_of(seed, suggested(text))
            for case, expect in ((before, "before"), (after, "after")):
                quiet = replace_requests(case)
                runs.append(observe_script(quiet, script, expect, binary, starting))
        return list(await asyncio.gather(*runs))

    results = asyncio.run(all_of_them())
    for code, output in results:
        assert code == 0, output
    lines = [line for _, output in results for line in output.splitlines()]
    counted = [line for line in lines if line.startswith("as predicted")]
    assert len(counted) > 60
    assert sum("seen: lost" in line for line in counted) > 10
    # What was lost before and is served after.
    assert sum("seen: lost" in line for line in results[0][1].splitlines()) > 0


def replace_requests(case: Case) -> Case:
    """Return the case without requests of its own: the script sends them."""
    case.in_flight, case.late = [], []
    return case


def test_a_script_notices_what_is_unlike(tmp_path: Path) -> None:
    binary = have(VERSIONS[0])
    text = broken(0)
    script = script_of(text, tmp_path)
    case = replace_requests(case_of(0, planned(text)))
    # The pod stops much earlier than its manifest says.
    case.grace, case.pre_stop = 3, 0

    async def once() -> tuple[int | None, str]:
        return await observe_script(case, script, "after", binary, asyncio.Semaphore(1))

    code, output = asyncio.run(once())
    assert code == 1, output
    assert "UNLIKE" in output
    assert "not as predicted" in output
