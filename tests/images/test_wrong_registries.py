"""Registries that are slow, lie, lead elsewhere, or want credentials; and whom they are shown."""

from __future__ import annotations

import base64
import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
import urllib3.util.connection
from msgspec import Struct, field

from shutdownlint import limits
from tests.helpers import run
from tests.images.content import CONFIG, Content, digest, layer, multi, single
from tests.ports import PORTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

TAG = "1.4"
IMAGE = single(TAG, CONFIG, [layer("dash")])


class Fake(Struct):
    """A registry: what it holds, and what it does before it answers.

    ``asked`` are the paths with the credentials that came. ``before`` may answer instead: it gets
    the path and the header, and returns status, headers and body, or None.
    """

    content: Content
    before: Callable[[str, str], tuple[int, dict[str, str], bytes] | None] = lambda _p, _h: None
    asked: list[tuple[str, str]] = field(default_factory=list)
    host: str = ""


@contextmanager
def serving(fake: Fake) -> Iterator[Fake]:
    """Serve a registry on a port of its own."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            header = self.headers.get("authorization", "")
            fake.asked.append((self.path, header))
            answer = fake.before(self.path, header) or _answer(fake.content, self.path)
            status, headers, body = answer
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if "content-length" not in headers:
                self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing to the screen."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Print nothing: a client may go before it has read everything."""

    with Server(("127.0.0.1", PORTS.take()), Handler) as server:
        fake.host = f"127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield fake
        finally:
            server.shutdown()


def _answer(content: Content, path: str) -> tuple[int, dict[str, str], bytes]:
    *_, kind, name = path.split("/")
    if kind == "manifests" and name in content.manifests:
        media, data = content.manifests[name]
        return 200, {"content-type": media}, data
    if kind == "blobs" and name in content.blobs:
        return 200, {}, content.blobs[name]
    return 404, {}, b"{}"


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the hosts that connections are opened to, as it happens."""
    seen: list[str] = []
    original = urllib3.util.connection.create_connection

    def create(address: tuple[str, int], *args: Any, **more: Any) -> Any:
        seen.append(f"{address[0]}:{address[1]}")
        return original(address, *args, **more)

    monkeypatch.setattr(urllib3.util.connection, "create_connection", create)
    return seen


def ask(
    folder: Path, fake: Fake, *options: str, name: str = f"shop/orders:{TAG}"
) -> tuple[int, str, str]:
    """Ask about one image of a registry."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "shop"},
        "spec": {"containers": [{"name": "app", "image": f"{fake.host}/{name}"}]},
    }
    (folder / "pod.json").write_text(json.dumps(pod))
    allow = [] if "--allow" in options else ["--allow", fake.host]
    output = ["-o", str(folder / "images.toml")]
    return run("images", str(folder / "pod.json"), "--from-registry", *allow, *options, *output)


def test_what_an_image_starts(tmp_path: Path, connections: list[str]) -> None:
    with serving(Fake(IMAGE)) as fake:
        code, out, err = ask(tmp_path, fake)
    assert code == 0, err
    assert "gunicorn --graceful-timeout 60 app:app, SIGINT, sh is dash" in out
    text = (tmp_path / "images.toml").read_text()
    assert 'GUNICORN_CMD_ARGS = "--workers=2"' in text
    assert "SECRET" not in text
    assert "PATH" not in text
    assert set(connections) == {fake.host}
    # Manifest, configuration, and the layer, which is small enough to look for the shell.
    assert len(fake.asked) == 3


def test_a_platform_of_several(tmp_path: Path) -> None:
    arm = single("x", {**CONFIG, "User": "arm"}, [layer("bash")])
    both = multi(TAG, {"linux/amd64": IMAGE, "linux/arm64": arm})
    with serving(Fake(both)) as fake:
        assert ask(tmp_path, fake, "--platform", "linux/arm64")[0] == 0
        assert 'user = "arm"' in (tmp_path / "images.toml").read_text()
        code, _, err = ask(tmp_path, fake, "--platform", "linux/s390x")
    assert code == 2
    assert "no image for linux/s390x (it has: linux/amd64, linux/arm64)" in err


def test_by_digest(tmp_path: Path) -> None:
    named = next(name for name in IMAGE.manifests if name.startswith("sha256:"))
    with serving(Fake(IMAGE)) as fake:
        assert ask(tmp_path, fake, name=f"shop/orders@{named}")[0] == 0
    assert named in (tmp_path / "images.toml").read_text()


def test_a_tag_that_has_moved_is_named(tmp_path: Path) -> None:
    with serving(Fake(IMAGE)) as fake:
        ask(tmp_path, fake)
        fake.content = single(TAG, {**CONFIG, "User": "0"}, [])
        code, _, err = ask(tmp_path, fake)
    assert code == 0
    assert "shop/orders:1.4 has moved: it was sha256:" in err


def test_nothing_is_asked_without_leave(tmp_path: Path, connections: list[str]) -> None:
    with serving(Fake(IMAGE)) as fake:
        code, _, err = ask(tmp_path, fake, "--allow", "other.example.com")
        assert code == 2
        assert f"{fake.host} is not allowed: --allow {fake.host}" in err
        code, out, err = run("images", str(tmp_path / "pod.json"))
        assert (code, out.strip()) == (0, f"{fake.host}/shop/orders:1.4")
        code, _, err = run("images", str(tmp_path / "pod.json"), "--from-registry")
        assert code == 2
        assert f"--allow {fake.host}" in err
    assert connections == []


def test_a_blob_elsewhere_needs_leave_and_gets_no_credentials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, connections: list[str]
) -> None:
    login(tmp_path, monkeypatch, "HOST", "shop:secret")
    with serving(Fake(IMAGE)) as storage, serving(Fake(IMAGE)) as fake:
        login(tmp_path, monkeypatch, fake.host, "shop:secret")

        def lead(path: str, header: str) -> tuple[int, dict[str, str], bytes] | None:
            if not header:
                return 401, {"www-authenticate": 'Basic realm="x"'}, b""
            if "/blobs/" in path:
                return 307, {"location": f"http://{storage.host}{path}"}, b""
            return None

        fake.before = lead
        code, _, err = ask(tmp_path, fake)
        assert code == 2
        assert f"it leads to {storage.host}, which is not allowed: --allow {storage.host}" in err
        assert storage.host not in connections
        code, _, err = ask(tmp_path, fake, "--allow", fake.host, "--allow", storage.host)
        assert code == 0, err
    assert storage.asked
    assert {header for _, header in storage.asked} == {""}
    assert all(header.startswith("Basic ") for path, header in fake.asked if "/blobs/" in path)


def login(folder: Path, monkeypatch: pytest.MonkeyPatch, host: str, text: str) -> None:
    """Write a Docker configuration with one login."""
    auth = base64.b64encode(text.encode()).decode()
    (folder / "config.json").write_text(json.dumps({"auths": {host: {"auth": auth}}}))
    monkeypatch.setenv("DOCKER_CONFIG", str(folder))


def test_a_token_for_the_repository_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(Fake(IMAGE)) as fake:
        login(tmp_path, monkeypatch, fake.host, "shop:secret")

        def want(path: str, header: str) -> tuple[int, dict[str, str], bytes] | None:
            if path.startswith("/token"):
                good = base64.b64encode(b"shop:secret").decode() in header
                return 200 if good else 403, {}, b'{"token": "abc"}'
            if header == "Bearer abc":
                return None
            realm = f'realm="http://{fake.host}/token",service="s",scope="registry:catalog:*"'
            return 401, {"www-authenticate": f"Bearer {realm}"}, b""

        fake.before = want
        code, _, err = ask(tmp_path, fake)
    assert code == 0, err
    (token,) = {path for path, _ in fake.asked if path.startswith("/token")}
    assert "scope=repository%3Ashop%2Forders%3Apull" in token
    assert "catalog" not in token


def test_a_token_service_elsewhere_gets_no_login(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, connections: list[str]
) -> None:
    with serving(Fake(IMAGE)) as thief, serving(Fake(IMAGE)) as fake:
        login(tmp_path, monkeypatch, fake.host, "shop:secret")
        realm = f'Bearer realm="http://{thief.host}/token"'
        fake.before = lambda _path, _header: (401, {"www-authenticate": realm}, b"")
        code, _, err = ask(tmp_path, fake)
    assert code == 2
    assert f"it leads to {thief.host}, which is not allowed" in err
    assert thief.asked == []
    assert thief.host not in connections


def test_logins_of_helpers_are_not_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(Fake(IMAGE)) as fake:
        config = {"auths": {fake.host: {}}, "credsStore": "osxkeychain"}
        (tmp_path / "config.json").write_text(json.dumps(config))
        monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
        code, _, err = ask(tmp_path, fake)
    assert code == 0
    assert "a credential helper has its login, which is not run" in err


def _lie(path: str, _header: str) -> tuple[int, dict[str, str], bytes] | None:
    return (200, {}, b'{"config": {"Entrypoint": ["rm"]}}') if "/blobs/" in path else None


def _slow(_path: str, _header: str) -> tuple[int, dict[str, str], bytes] | None:
    time.sleep(3)
    return None


def _endless(_path: str, _header: str) -> tuple[int, dict[str, str], bytes] | None:
    return 200, {"content-length": "9999999999"}, b"x" * (limits.MAX_IMAGE_DOCUMENT_BYTES + 99)


def _circle(path: str, _header: str) -> tuple[int, dict[str, str], bytes] | None:
    return 302, {"location": path}, b""


def _no_json(_path: str, _header: str) -> tuple[int, dict[str, str], bytes] | None:
    return 200, {}, b"<html>"


def _missing(_path: str, _header: str) -> tuple[int, dict[str, str], bytes] | None:
    return 404, {}, b"{}"


def _plain(_path: str, _header: str) -> tuple[int, dict[str, str], bytes] | None:
    return 302, {"location": "http://registry.example.com/x"}, b""


def _file(_path: str, _header: str) -> tuple[int, dict[str, str], bytes] | None:
    return 302, {"location": "file:///etc/passwd"}, b""


@pytest.mark.parametrize(
    ("before", "reason"),
    [
        (_lie, "what came is not what its digest"),
        (_slow, "no answer within 0.5s"),
        (_endless, "its answer is larger than"),
        (_circle, "it answers (HTTP 302)"),
        (_no_json, "its manifest is no JSON object"),
        (_missing, "not found (HTTP 404)"),
        (_plain, "without encryption, which is not followed"),
        (_file, "an address that is none of a server"),
    ],
)
def test_wrong_servers(
    before: Callable[[str, str], tuple[int, dict[str, str], bytes] | None],
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if before is _slow:
        monkeypatch.setattr(limits, "MAX_REGISTRY_SECONDS", 0.5)
    with serving(Fake(IMAGE, before)) as fake:
        code, _, err = ask(tmp_path, fake)
    assert code == 2
    assert reason in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "manifest",
    [
        {},
        {"config": []},
        {"config": {"digest": "sha256:../../x", "size": 3}},
        {"config": {"digest": "md5:1", "size": 3}},
        {"config": {"digest": digest(b"x"), "size": -1}},
        {"config": {"digest": digest(b"x"), "size": 10**12}},
        {"manifests": {}},
        {"manifests": [1, {"platform": 1}, {"platform": {"os": "linux"}}]},
        {"manifests": [{"platform": {"os": "linux", "architecture": "amd64"}, "digest": 1}]},
    ],
)
def test_wrong_manifests(manifest: dict[str, Any], tmp_path: Path) -> None:
    data = json.dumps(manifest).encode()
    with serving(Fake(Content({TAG: ("x", data)}, {}))) as fake:
        code, _, err = ask(tmp_path, fake)
    assert code == 2
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "config",
    [{"Entrypoint": "sh"}, {"Cmd": [1]}, {"User": 5}, {"Env": {"A": "b"}}, [], "x"],
)
def test_wrong_configurations(config: Any, tmp_path: Path) -> None:
    with serving(Fake(single(TAG, config, []))) as fake:
        code, _, err = ask(tmp_path, fake)
    assert code == 2
    assert "configuration" in err


def test_one_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    with serving(Fake(IMAGE)) as fake:
        names = [f"{fake.host}/shop/orders:{tag}" for tag in (TAG, "gone")]
        pods = [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": f"shop{number}"},
                "spec": {"containers": [{"name": "app", "image": name}]},
            }
            for number, name in enumerate([*names, "A BAD NAME"])
        ]
        file = tmp_path / "pods.json"
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}))
        output = tmp_path / "images.toml"
        code, out, err = run(
            "images", str(file), "--from-registry", "--allow", fake.host, "-o", str(output)
        )
    assert code == 2
    assert f"{names[0]}  " in out
    assert "orders:gone: not found (HTTP 404)" in err
    assert "'A BAD NAME' is no name of an image" in err
    assert output.read_text().count("[[images]]") == 1


def test_the_number_of_images_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_IMAGES", 1)
    containers = [{"name": f"c{n}", "image": f"shop/app:{n}"} for n in range(2)]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "shop"}}
    (tmp_path / "pod.json").write_text(json.dumps({**pod, "spec": {"containers": containers}}))
    code, _, err = run("images", str(tmp_path / "pod.json"))
    assert code == 2
    assert "2 images: only 1 are asked about" in err
