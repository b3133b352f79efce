"""The output of ``shutdownlint explain`` for a case's manifest."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import yaml
from msgspec import Struct

from tests.helpers import run
from tests.programs.run import IN_FLIGHT, LATE_AT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.programs.cases import Case


class Predicted(Struct, frozen=True):
    """The outcomes that fit the manifest: the first is the likely one, the others are named too."""

    in_flight: tuple[str, ...]
    new: tuple[str, ...]
    reused: tuple[str, ...]
    long: tuple[str, ...]

    @property
    def certain(self) -> bool:
        """Whether nothing but one case fits."""
        return len(self.in_flight) == 1


def manifest(case: Case) -> str:
    """Return the pod of a case, as people write it."""
    values = {"{port}": "8080", "{backend}": "9090", "{folder}": "/tmp", "{config}": "/etc/c"}
    values |= {"{go}": "/srv/shop", "{path}": "", "{extra}": ""}
    command = list(case.command)
    for name, value in values.items():
        command = [word.replace(name, value) for word in command]
    container: dict[str, Any] = {"name": "app", "image": case.image, "command": command}
    container["env"] = [{"name": name, "value": value} for name, value in case.env]
    if case.signal:
        container["lifecycle"] = {"stopSignal": case.signal}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "shop", "namespace": "default"},
        "spec": {"os": {"name": "linux"}, "containers": [container]},
    }
    return yaml.safe_dump(pod)


def predict(case: Case, folder: Path) -> Predicted:
    """Return the outcomes of the requests that ``run.observe`` sends."""
    file = folder / f"{case.name.replace(' ', '-')}.yaml"
    file.write_text(manifest(case))
    requests = [f"--request={IN_FLIGHT:g}s", f"--request=0.1s@{LATE_AT:g}s"]
    requests.append(f"--reused=0.1s@{LATE_AT:g}s")
    if case.limit:
        requests.append(f"--request={case.limit:g}s")
    options = ["--mesh=none", "--kubernetes-version=1.36", "--format=json"]
    code, out, err = run("explain", *options, *requests, str(file))
    assert code == 0, err
    (workload,) = json.loads(out)["workloads"]
    outcomes = [
        tuple(dict.fromkeys([each["outcome"], *(a["outcome"] for a in each["alternatives"])]))
        for each in workload["requests"]
    ]
    outcomes.append(())
    by_key = {
        (each["arrival"], each["duration"], each["reused"]): outcomes[index]
        for index, each in enumerate(workload["requests"])
    }
    return Predicted(
        by_key[0.0, IN_FLIGHT, False],
        by_key[LATE_AT, 0.1, False],
        by_key[LATE_AT, 0.1, True],
        by_key.get((0.0, case.limit, False), ()),
    )
