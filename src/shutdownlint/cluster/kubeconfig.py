"""The kubeconfig: where a context's server is, and with what it is asked.

Source: kubernetes/client-go tools/clientcmd (fields, merging of KUBECONFIG's files, relative paths)
and plugin/pkg/client/auth/exec (the protocol of exec plugins).
"""

from __future__ import annotations

import base64
import json
import os
import ssl
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import urllib3
from msgspec import Struct, field
from urllib3.exceptions import InsecureRequestWarning

from shutdownlint import files, limits
from shutdownlint.yaml_source.composer import ComposeError, compose
from shutdownlint.yaml_source.errors import BudgetExceededError
from shutdownlint.yaml_source.tree import Tree

#: The name of the kubeconfig's own current context.
CURRENT: Final = "current"
#: The name of the cluster that this program runs in, as a pod.
IN_CLUSTER: Final = "in-cluster"
_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_VARIABLE: Final = "KUBECONFIG"
_USUAL: Final = "~/.kube/config"
#: Keys whose values are files, named from the kubeconfig's own folder.
_FILES: Final = ("certificate-authority", "client-certificate", "client-key", "tokenFile")
#: An exec plugin that takes longer, in seconds, is stopped.
_EXEC_SECONDS: Final = 60


class ClusterError(Exception):
    """A cluster that cannot be asked; the message says why."""


class Access(Struct, frozen=True):
    """Where a cluster is, and with what it is asked."""

    context: str
    server: str
    tls: ssl.SSLContext
    headers: dict[str, str] = field(default_factory=dict)
    namespace: str | None = None


def read_access(context: str, *, allow_exec: bool) -> Access:
    """Return how a context's cluster is asked. Raises ``ClusterError``.

    A plugin of the kubeconfig is run with ``allow_exec`` only.
    """
    if context == IN_CLUSTER:
        return _in_cluster()
    data = _read_all()
    name = str(data.get("current-context") or "") if context == CURRENT else context
    chosen = _named(data, "contexts", "context", name)
    if chosen is None:
        known = ", ".join(sorted(_names(data, "contexts"))) or "none"
        raise ClusterError(f"the kubeconfig has no context {name!r} (it has: {known})")
    cluster = _named(data, "clusters", "cluster", str(chosen.get("cluster"))) or {}
    user = _named(data, "users", "user", str(chosen.get("user"))) or {}
    server = str(cluster.get("server") or "")
    parts = urlsplit(server)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ClusterError(f"context {name}: its cluster has no server with http:// or https://")
    if cluster.get("proxy-url"):
        raise ClusterError(f"context {name}: proxy-url is not supported")
    if user.get("auth-provider"):
        raise ClusterError(f"context {name}: auth-provider is not supported; use an exec plugin")
    if user.get("exec"):
        user = {**user, **_ask_plugin(user["exec"], name, allow_exec=allow_exec)}
    namespace = chosen.get("namespace")
    return Access(
        name,
        server.rstrip("/"),
        _tls(cluster, user, name),
        _headers(user, name),
        str(namespace) if namespace else None,
    )


def _read_all() -> dict[str, Any]:
    """Return all files of the kubeconfig as one: the first entry of a name counts."""
    written = os.environ.get(_VARIABLE, "")
    paths = [part for part in written.split(os.pathsep) if part] or [_USUAL]
    merged: dict[str, Any] = {}
    found = False
    for path in (Path(part).expanduser() for part in paths):
        try:
            data = files.read_file(path, limits.MAX_CONFIGURATION_BYTES)
        except OSError as error:
            if len(paths) == 1:
                raise ClusterError(f"{path}: {error.strerror}") from None
            continue
        found = True
        _merge(merged, _parse(data, path), path.parent)
    if not found:
        raise ClusterError("none of the files of KUBECONFIG can be read")
    return merged


def _parse(data: bytes, path: Path) -> dict[str, Any]:
    try:
        roots = compose(data.decode())
        found = Tree(roots[0]).to_python() if roots else {}
    except (ComposeError, BudgetExceededError, ValueError) as error:
        raise ClusterError(f"{path}: it is not YAML: {error}") from None
    if not isinstance(found, dict):
        raise ClusterError(f"{path}: it is no kubeconfig")
    return found


def _merge(merged: dict[str, Any], data: dict[str, Any], folder: Path) -> None:
    for key in ("clusters", "contexts", "users"):
        entries = data.get(key)
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict):
                merged.setdefault(key, []).append(_with_paths(entry, folder))
    if data.get("current-context"):
        merged.setdefault("current-context", data["current-context"])


def _with_paths(entry: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return an entry whose files are named from the kubeconfig's own folder."""
    found = dict(entry)
    for part in ("cluster", "user"):
        inner = found.get(part)
        if isinstance(inner, dict):
            found[part] = {
                key: str(folder / str(value)) if key in _FILES and value else value
                for key, value in inner.items()
            }
    return found


def _names(data: dict[str, Any], key: str) -> set[str]:
    return {str(entry.get("name")) for entry in data.get(key, ())}


def _named(data: dict[str, Any], key: str, part: str, name: str) -> dict[str, Any] | None:
    for entry in data.get(key, ()):
        if entry.get("name") == name and isinstance(entry.get(part), dict):
            found: dict[str, Any] = entry[part]
            return found
    return None


def _tls(cluster: dict[str, Any], user: dict[str, Any], name: str) -> ssl.SSLContext:
    """Return the settings of TLS. Raises ``ClusterError``."""
    try:
        authority = _bytes_of(cluster, "certificate-authority")
        context = ssl.create_default_context(cadata=authority.decode() if authority else None)
        if cluster.get("insecure-skip-tls-verify") is True:
            urllib3.disable_warnings(InsecureRequestWarning)  # the kubeconfig asks for it
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        certificate, key = _bytes_of(user, "client-certificate"), _bytes_of(user, "client-key")
        if certificate and key:
            _load_certificate(context, certificate, key)
    except (OSError, ValueError) as error:
        raise ClusterError(f"context {name}: its certificates cannot be used: {error}") from None
    return context


def _load_certificate(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Load a client's certificate; the library takes it from a file only."""
    with tempfile.NamedTemporaryFile(prefix="shutdownlint-") as file:  # only its owner may read it
        file.write(certificate + b"\n" + key)
        file.flush()
        context.load_cert_chain(file.name)


def _bytes_of(entry: dict[str, Any], key: str) -> bytes:
    """Return what an entry has under a key: in itself, or in a file."""
    inline = entry.get(f"{key}-data")
    if inline:
        return base64.b64decode(str(inline))
    return files.read_file(str(entry[key])) if entry.get(key) else b""


def _headers(user: dict[str, Any], name: str) -> dict[str, str]:
    token = str(user.get("token") or "")
    try:
        if not token and user.get("tokenFile"):
            token = files.read_file(str(user["tokenFile"])).decode().strip()
    except (OSError, ValueError) as error:
        raise ClusterError(f"context {name}: its token cannot be read: {error}") from None
    if token:
        if not token.isascii() or not token.isprintable():
            raise ClusterError(f"context {name}: its token has a character that no header can hold")
        return {"authorization": f"Bearer {token}"}
    if user.get("username"):
        pair = f"{user['username']}:{user.get('password') or ''}"
        return urllib3.make_headers(basic_auth=pair.encode().decode("latin-1"))
    return {}


def _ask_plugin(plugin: Any, name: str, *, allow_exec: bool) -> dict[str, Any]:
    """Return the credentials that a plugin prints. Raises ``ClusterError``."""
    command = plugin.get("command") if isinstance(plugin, dict) else None
    if not isinstance(command, str) or not command:
        raise ClusterError(f"context {name}: its exec plugin has no command")
    if not allow_exec:
        raise ClusterError(
            f"context {name}: it wants to run {command!r} for credentials: allow it with "
            "--allow-exec"
        )
    arguments = plugin.get("args")
    words = [command, *(str(word) for word in (arguments if isinstance(arguments, list) else ()))]
    variables = plugin.get("env")
    added = {
        str(each.get("name")): str(each.get("value"))
        for each in (variables if isinstance(variables, list) else ())
        if isinstance(each, dict)
    }
    version = str(plugin.get("apiVersion") or "client.authentication.k8s.io/v1")
    info = {"apiVersion": version, "kind": "ExecCredential", "spec": {"interactive": False}}
    environment = os.environ | {"KUBERNETES_EXEC_INFO": json.dumps(info)} | added
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=environment,
            check=False,
            timeout=_EXEC_SECONDS,
        )
        status = json.loads(done.stdout).get("status") if not done.returncode else None
    except (OSError, ValueError, AttributeError, subprocess.TimeoutExpired) as error:
        raise ClusterError(f"context {name}: {command}: {error}") from None
    if not isinstance(status, dict):
        text = done.stderr.decode(errors="replace").strip()[:500]
        raise ClusterError(f"context {name}: {command} gave no credentials: {text}")
    found = {"token": status.get("token")}
    for key, given in (
        ("client-certificate-data", "clientCertificateData"),
        ("client-key-data", "clientKeyData"),
    ):
        if status.get(given):
            found[key] = base64.b64encode(str(status[given]).encode()).decode()
    return {key: value for key, value in found.items() if value}


def _in_cluster() -> Access:
    """Return how a pod asks its own cluster. Source: client-go rest/config.go, InClusterConfig."""
    host, port = (
        os.environ.get("KUBERNETES_SERVICE_HOST"),
        os.environ.get("KUBERNETES_SERVICE_PORT"),
    )
    if not host or not port:
        raise ClusterError(f"{IN_CLUSTER}: this is no pod: KUBERNETES_SERVICE_HOST is not set")
    user = {"tokenFile": str(_ACCOUNT / "token")}
    cluster = {"certificate-authority": str(_ACCOUNT / "ca.crt")}
    address = f"[{host}]" if ":" in host else host
    return Access(
        IN_CLUSTER,
        f"https://{address}:{port}",
        _tls(cluster, user, IN_CLUSTER),
        _headers(user, IN_CLUSTER),
    )
