"""The statements of the tool about every measured program: never certain and wrong."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.helpers import run
from tests.platforms.measured_rows import CONFIG_MAPS, ROWS, Row

if TYPE_CHECKING:
    from pathlib import Path

REQUESTS = ("8s", "40s", "0.1s@1s")
#: Arrival and length of the requests, and whether they are on a kept connection.
SENT = ((0, 8, False), (0, 40, False), (1, 0.1, False), (1, 0.1, True))


def manifest(number: int, row: Row) -> dict[str, Any]:
    container = {"name": "app", "image": "shop/app:1", **yaml.safe_load(row.container)}
    spec = {"os": {"name": "linux"}, "terminationGracePeriodSeconds": 90, "containers": [container]}
    spec |= yaml.safe_load(row.spec) if row.spec else {}
    metadata = {"name": f"row-{number}", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


@pytest.fixture(scope="module")
def explained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the outcomes of every row's requests: the likely case first, then the other cases."""
    folder: Path = tmp_path_factory.mktemp("rows")
    pods = [yaml.safe_dump(manifest(number, row)) for number, row in enumerate(ROWS)]
    (folder / "rows.yaml").write_text("---\n".join([CONFIG_MAPS, *pods]))
    requests = [f"--request={request}" for request in REQUESTS]
    options = ["--mesh=none", "--kubernetes-version=1.36", "--format=json", "--reused=0.1s@1s"]
    code, out, err = run("explain", *options, *requests, str(folder))
    assert code == 0, err
    workloads = json.loads(out)["workloads"]
    return {each["workload"]["name"]: each for each in workloads}


def outcomes(workload: dict[str, Any], sign: int) -> list[str]:
    """Return the outcomes of one of the requests, in every case that fits the manifest."""
    (found,) = [
        each
        for each in workload["requests"]
        if (each["arrival"], each["duration"], each["reused"]) == SENT[sign]
    ]
    return [found["outcome"], *(case["outcome"] for case in found["alternatives"])]


@pytest.mark.parametrize("number", range(len(ROWS)), ids=lambda n: ROWS[n].name)
def test_what_was_seen_is_among_the_cases(number: int, explained: dict[str, Any]) -> None:
    workload = explained[f"row-{number}"]
    for sign, seen in enumerate(ROWS[number].seen):
        predicted = outcomes(workload, sign) if seen != "?" else []
        # A kept connection is predicted to be lost unless the server is sure to serve it.
        if predicted and (sign, seen) != (3, "+"):
            assert (seen == "+") in {each == "ok" for each in predicted}, (sign, seen, predicted)
