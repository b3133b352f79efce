"""Pods that are deleted while an init container still runs.

The model describes pods that run. Of these it says nothing, so the expectation is stated here: each
container that runs is stopped as if the pod had no other, but for sidecars, which stop one after the
other, the last one first.
"""

from __future__ import annotations

import copy
import random
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from tests.cluster.api import ApiError
from tests.cluster.explain import Explained, explain
from tests.cluster.images import SERVER
from tests.cluster.observe import ContainerExits
from tests.cluster.pods import PATH, Case, Comparison, log_volumes, make_container, note_events
from tests.cluster.rollouts import wait

if TYPE_CHECKING:
    from tests.cluster.node import Node

AT_ONCE: Final = 8
#: What a pod has once its init containers are done; here it never starts.
_APP: Final = {"name": "app", "image": SERVER, "imagePullPolicy": "Never", "command": ["/server"]}
#: It ends at its stop signal, so nothing waits for it.
_GONE: Final = {**_APP, "name": "gone", "command": ["/server", "-mode", "abrupt"]}


def generate(seed: int) -> Case:
    """Return the pod of a seed: up to two sidecars, then an init container that does not end."""
    draw = random.Random(seed)
    name, grace = f"init-{seed}", draw.choice((1, 2, 4, 6, 8))
    apps: dict[str, str] = {}
    logged: list[str] = []
    sidecars = [
        {**make_container(draw, f"s{number}", name, apps, logged, grace), "restartPolicy": "Always"}
        for number in range(draw.choice((0, 0, 1, 2)))
    ]
    init = make_container(draw, "i0", name, apps, logged, grace)
    for key in ("lifecycle", "readinessProbe"):
        init.pop(key, None)  # rejected in an init container
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": name}},
        "spec": {
            "terminationGracePeriodSeconds": grace,
            "initContainers": [*sidecars, init],
            "containers": [_APP],
            "volumes": log_volumes(name),
        },
    }
    return Case(seed, manifest, apps, tuple(logged), (), 0)


def expect(case: Case, version: str) -> dict[str, Explained]:
    """Return what is expected, by container."""
    *sidecars, init = case.manifest["spec"]["initContainers"]
    alone = _with(case, [init], [])
    found = {init["name"]: explain(alone, _known(case, [init]), (), version=version)}
    if sidecars:
        others = _with(case, [_GONE], sidecars)
        apps = {**_known(case, sidecars), "gone": "abrupt"}
        explained = explain(others, apps, (), version=version)
        found |= {each["name"]: explained for each in sidecars}
    return found


def _with(case: Case, containers: list[Any], sidecars: list[Any]) -> dict[str, Any]:
    manifest = copy.deepcopy(case.manifest)
    manifest["spec"] |= {"containers": containers, "initContainers": sidecars}
    return manifest


def _known(case: Case, containers: list[Any]) -> dict[str, str]:
    names = {each["name"] for each in containers}
    return {name: app for name, app in case.apps.items() if name in names}


def compare(node: Node, seeds: range) -> list[Comparison]:
    """Run the pods of these seeds, and compare each with what is expected."""
    with ContainerExits(node) as exits, ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda seed: _run(node, exits, generate(seed)), seeds))


def _run(node: Node, exits: ContainerExits, case: Case) -> Comparison:
    found = Comparison(case.seed)
    try:
        expected = expect(case, node.version)
        node.api.create(PATH, case.manifest)
        wanted = {each["name"] for each in case.manifest["spec"]["initContainers"]}
        ids: dict[str, str] = {}

        def all_run() -> bool:
            status = node.api.get(f"{PATH}/{case.name}")["status"]
            for each in status.get("initContainerStatuses", ()):
                if "running" in each.get("state", {}):
                    ids[each["name"]] = each["containerID"].rpartition("/")[2]
            return set(ids) == wanted

        wait(all_run, f"{case.name} did not start")
        time.sleep(2)
        begin = time.time()
        node.api.delete(f"{PATH}/{case.name}")
        end = max(each.end for each in expected.values())
        ended = exits.wait(ids.values(), end + 15)
        for name, explained in expected.items():
            note_events(case, explained, {name: ids[name]}, ended, begin, found)
    except (OSError, RuntimeError, ApiError) as error:
        found.failure = f"{type(error).__name__}: {error}"
    return found
