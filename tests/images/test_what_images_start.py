"""What the configuration of an image changes in the answers about its containers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from shutdownlint.programs.images import ImageConfig, ImageConfigs, ImageReference
from tests.helpers import run

if TYPE_CHECKING:
    from pathlib import Path

DIGEST = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("text", "full"),
    [
        ("nginx", "docker.io/library/nginx:latest"),
        ("docker.io/nginx:1.27", "docker.io/library/nginx:1.27"),
        ("index.docker.io/shop/app", "docker.io/shop/app:latest"),
        ("localhost:5000/app:1", "localhost:5000/app:1"),
        ("localhost/app", "localhost/app:latest"),
        (f"ghcr.io/a/b/c:2@{DIGEST}", f"ghcr.io/a/b/c:2@{DIGEST}"),
        (f"ghcr.io/a/b@{DIGEST}", f"ghcr.io/a/b@{DIGEST}"),
    ],
)
def test_names(text: str, full: str) -> None:
    assert str(ImageReference.parse(text)) == full


@pytest.mark.parametrize(
    "text",
    ["", "Nginx", "a b", "a:", "a@sha256:1", "../x", "a/../b", "a:x/y z", "ho_st.x/a", "é", "a\n",
     "[::1]/a", "user@host.com/a"],
)  # fmt: skip
def test_what_is_no_name(text: str) -> None:
    with pytest.raises(ValueError, match="is no name of an image"):
        ImageReference.parse(text)


def explain(folder: Path, container: dict[str, Any], image: str) -> dict[str, Any]:
    """Return the explanation of a pod with one container, by a file of images."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "shop", "namespace": "default"},
        "spec": {"containers": [{"name": "app", "image": "ghcr.io/shop/orders:1.4", **container}]},
    }
    (folder / "pod.json").write_text(json.dumps(pod))
    (folder / "images.toml").write_text(f'[[images]]\nname = "ghcr.io/shop/orders:1.4"\n{image}')
    options = ["--mesh", "none", "--format", "json", "--request", "20s"]
    images = ["--images", str(folder / "images.toml")]
    code, out, err = run("explain", str(folder / "pod.json"), *options, *images)
    assert code == 0, err
    (workload,) = json.loads(out)["workloads"]
    found: dict[str, Any] = workload
    return found


def outcomes(workload: dict[str, Any]) -> list[str]:
    """Return the outcomes of the request that are possible, the likely one first."""
    (request,) = workload["requests"]
    others = [each["outcome"] for each in request["alternatives"]]
    return list(dict.fromkeys([request["outcome"], *others]))


GUNICORN = 'entrypoint = ["gunicorn"]\ncommand = ["--graceful-timeout", "10", "app:app"]\n'


@pytest.mark.parametrize(
    ("container", "image", "expected"),
    [
        # The image's own limit cuts the request; args of the manifest replace its command.
        ({}, GUNICORN, ["cut"]),
        ({"args": ["app:app"]}, GUNICORN, ["ok"]),
        ({"command": ["daphne"]}, GUNICORN, ["cut"]),
        ({}, 'entrypoint = ["waitress-serve", "app:app"]\n', ["ok"]),
        ({}, 'entrypoint = ["tini", "--", "waitress-serve", "app:app"]\n', ["cut"]),
        # Variables of the image count, and the container's own count more.
        ({}, 'entrypoint = ["uvicorn"]\n[images.env]\nUVICORN_TIMEOUT_GRACEFUL_SHUTDOWN = "9"\n',
         ["cut"]),
        ({"env": [{"name": "UVICORN_TIMEOUT_GRACEFUL_SHUTDOWN", "value": "25"}]},
         'entrypoint = ["uvicorn"]\n[images.env]\nUVICORN_TIMEOUT_GRACEFUL_SHUTDOWN = "9"\n',
         ["ok"]),
        # The stop signal of the image.
        ({}, 'entrypoint = ["nginx"]\nstop-signal = "SIGQUIT"\n', ["ok"]),
        ({}, 'entrypoint = ["nginx"]\n', ["cut"]),
        # What sh is decides.
        ({}, 'entrypoint = ["/bin/sh", "-c", "true; daphne a"]\nshell = "dash"\n', ["ok"]),
        ({}, 'entrypoint = ["/bin/sh", "-c", "true; daphne a"]\nshell = "ash"\n', ["cut"]),
        ({"command": ["sh", "-c", "true; daphne a"]}, 'shell = "ash"\n', ["cut"]),
        # The entry scripts of official images become the program behind them.
        ({}, 'entrypoint = ["docker-entrypoint.sh"]\ncommand = ["daphne", "a"]\n', ["cut", "ok"]),
    ],
)  # fmt: skip
def test_the_start(
    container: dict[str, Any], image: str, expected: list[str], tmp_path: Path
) -> None:
    assert outcomes(explain(tmp_path, container, image)) == expected


def test_a_setting_of_an_image_is_never_edited(tmp_path: Path) -> None:
    explain(tmp_path, {"ports": [{"containerPort": 80}]}, GUNICORN)
    options = ["--images", str(tmp_path / "images.toml"), "--unsafe-fixes", "--diff"]
    code, out, err = run("check", str(tmp_path / "pod.json"), "--p99", "20s", *options)
    assert code in (0, 1), err
    assert "ghcr.io/shop/orders:1.4" not in [
        line[1:] for line in out.splitlines() if line[:1] == "+"
    ]
    assert '"image": "gunicorn' not in out


def test_another_digest_does_not_count() -> None:
    config = ImageConfig("ghcr.io/shop/orders:1.4", DIGEST, ("gunicorn",))
    configs = ImageConfigs([config])
    assert configs.find("ghcr.io/shop/orders:1.4") == (config, "")
    assert configs.find(f"ghcr.io/shop/orders:1.4@{DIGEST}") == (config, "")
    assert configs.find(f"ghcr.io/shop/orders@{DIGEST}") == (config, "")
    found, doubt = configs.find(f"ghcr.io/shop/orders:1.4@sha256:{'b' * 64}")
    assert found is None
    assert doubt == "the images file has another digest for ghcr.io/shop/orders:1.4"
    assert configs.find("ghcr.io/shop/other:1.4") == (None, "")


def test_what_is_in_doubt_is_an_assumption(tmp_path: Path) -> None:
    other = {"image": f"ghcr.io/shop/orders:1.4@sha256:{'b' * 64}"}
    found = explain(tmp_path, other, f'digest = "{DIGEST}"\n')
    assert any("another digest" in str(each) for each in found["assumed"])


def test_the_configuration_names_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    explain(tmp_path, {"ports": [{"containerPort": 80}]}, GUNICORN)
    (tmp_path / "shutdownlint.toml").write_text('images = ["images.toml"]\n')
    monkeypatch.chdir(tmp_path)
    _, out, err = run("check", "pod.json", "--p99", "20s")
    assert "10s" in out, err
    (tmp_path / "images.toml").write_text('[[images]]\nname = "A B"\n')
    code, _, err = run("check", "pod.json")
    assert code == 2
    assert "images.toml:2: images.0.name: 'A B' is no name of an image" in err
