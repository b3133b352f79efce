"""A real registry on this machine (distribution), with images that the test makes."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
import urllib3

from tests.helpers import run
from tests.images.content import CONFIG, Content, layer, multi, single
from tests.ports import PORTS
from tests.tools import search_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

REGISTRY = shutil.which("registry", path=search_path())
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(REGISTRY is None, reason="no registry could be built"),
]


@contextmanager
def registry(folder: Path, passwords: str = "") -> Iterator[str]:
    """Run a registry, and give its host."""
    host = f"127.0.0.1:{PORTS.take()}"
    settings = {
        "version": "0.1",
        "log": {"level": "error"},
        "storage": {"filesystem": {"rootdirectory": str(folder / "data")}},
        "http": {"addr": host},
    }
    if passwords:
        (folder / "passwords").write_text(passwords)
        settings["auth"] = {"htpasswd": {"realm": "shop", "path": str(folder / "passwords")}}
    (folder / "registry.json").write_text(json.dumps(settings))
    assert REGISTRY is not None
    command = [REGISTRY, "serve", str(folder / "registry.json")]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        try:
            for _ in range(100):
                try:
                    urllib3.request("GET", f"http://{host}/v2/", retries=False)
                    break
                except urllib3.exceptions.HTTPError:
                    time.sleep(0.1)
            yield host
        finally:
            process.terminate()


def push(host: str, repository: str, content: Content, login: str = "") -> None:
    """Push an image by the same protocol."""
    auth = base64.b64encode(login.encode()).decode()
    headers = {"authorization": f"Basic {auth}"} if login else {}
    base = f"http://{host}/v2/{repository}"
    for name, data in content.blobs.items():
        begun = urllib3.request("POST", f"{base}/blobs/uploads/", headers=headers)
        assert begun.status == 202, begun.data
        where = begun.headers["location"]
        url = where if where.startswith("http") else f"http://{host}{where}"
        done = urllib3.request(
            "PUT",
            f"{url}&digest={name}",
            body=data,
            headers={**headers, "content-type": "application/octet-stream"},
        )
        assert done.status == 201, done.data
    # An index names manifests that have to be there.
    for name, (kind, data) in sorted(content.manifests.items(), key=lambda item: len(item[1][1])):
        url = f"{base}/manifests/{name}"
        done = urllib3.request("PUT", url, body=data, headers={**headers, "content-type": kind})
        assert done.status == 201, done.data


def ask(folder: Path, host: str, *images: str) -> tuple[int, str, str]:
    """Ask about images of a registry."""
    containers = [{"name": f"c{n}", "image": f"{host}/{name}"} for n, name in enumerate(images)]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "shop"},
        "spec": {"containers": containers},
    }
    (folder / "pod.json").write_text(json.dumps(pod))
    output = ["-o", str(folder / "images.toml")]
    return run("images", str(folder / "pod.json"), "--from-registry", "--allow", host, *output)


def test_images_of_a_real_registry(tmp_path: Path) -> None:
    one = single("1.4", CONFIG, [layer("dash")])
    arm = single("x", {**CONFIG, "User": "arm"}, [layer("bash")])
    several = multi("2", {"linux/arm64": arm, "linux/amd64": one})
    with registry(tmp_path) as host:
        push(host, "shop/orders", one)
        push(host, "shop/several", several)
        named = next(name for name in one.manifests if name.startswith("sha256:"))
        names = ("shop/orders:1.4", "shop/several:2", f"shop/orders@{named}", "shop/gone:1")
        code, out, err = ask(tmp_path, host, *names)
        assert code == 2
        assert out.count("gunicorn --graceful-timeout 60 app:app, SIGINT, sh is dash") == 3
        assert "shop/gone:1: not found (HTTP 404)" in err
        push(host, "shop/orders", single("1.4", {**CONFIG, "User": "0"}, []))
        code, _, err = ask(tmp_path, host, "shop/orders:1.4")
        assert code == 0
        assert "has moved" in err


def test_a_real_registry_with_passwords(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    htpasswd = shutil.which("htpasswd")
    if htpasswd is None:
        pytest.skip("no htpasswd: a login of a real registry is not tested")
    made = subprocess.run(
        [htpasswd, "-Bbn", "shop", "secret"], capture_output=True, check=True, text=True
    )
    with registry(tmp_path, made.stdout) as host:
        push(host, "shop/orders", single("1.4", CONFIG, []), "shop:secret")
        code, _, err = ask(tmp_path, host, "shop/orders:1.4")
        assert code == 2
        assert "it wants credentials (HTTP 401)" in err
        auth = base64.b64encode(b"shop:secret").decode()
        (tmp_path / "config.json").write_text(json.dumps({"auths": {host: {"auth": auth}}}))
        monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
        assert ask(tmp_path, host, "shop/orders:1.4")[0] == 0
