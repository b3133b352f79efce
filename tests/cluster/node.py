"""A Kubernetes node of one machine: its processes, in namespaces that end with them.

``inside`` runs a command in new namespaces for processes, mounts and the network. When that command
ends, or whoever called it, the kernel ends every process in them, containers among them; mounts,
bridges and rules of iptables go with the namespaces. So nothing is left, whatever happens.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import yaml

from tests.cluster.api import ADDRESS, TOKEN, Api, ApiError
from tests.cluster.binaries import VERSION, find, folder
from tests.cluster.images import PAUSE, write_images

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROOT: Final = Path(__file__).resolve().parents[2]
NAME: Final = "node"
#: The address of the node in its own network; not of this machine.
NODE_ADDRESS: Final = "10.199.0.1"
#: In memory, and gone with the namespaces.
FOLDER: Final = Path("/run/node")
_PODS: Final = "10.200.0.0/16"
_SERVICES: Final = "10.201.0.0/16"
_CGROUP: Final = "shutdownlint-tests"
_NAMESPACES: Final = ("--pid", "--mount", "--net", "--ipc", "--uts", "--mount-proc")


def inside(*words: str) -> list[str]:
    """Return the command that runs ``python -m tests.cluster.inside`` in new namespaces."""
    unshared = ["unshare", *_NAMESPACES, "--fork", "--kill-child=KILL"]
    python = [sys.executable, "-m", "tests.cluster.inside", *words]
    return ["setpriv", "--pdeathsig", "KILL", *unshared, *python]


class NodeError(Exception):
    """The node did not come up; the text has the end of a log."""


class Node:
    """The running node. Only within the namespaces of ``inside``."""

    def __init__(
        self,
        version: str = VERSION,
        *,
        gates: str = "",
        api_only: bool = False,
        api_options: Sequence[str] = (),
        proxy_mode: str = "iptables",
    ) -> None:
        self.version = version
        self.folder = FOLDER
        self.api = Api()
        self._gates = gates
        self._api_only = api_only
        self._api_options = api_options
        self._proxy_mode = proxy_mode
        self._logs: list[IO[bytes]] = []
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def socket(self) -> Path:
        """The socket of containerd."""
        return self.folder / "containerd.sock"

    def __enter__(self) -> Node:
        _prepare_namespaces()
        try:
            self._start_control_plane()
            if not self._api_only:
                self._start_node()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End all processes; containers end with the namespaces."""
        for process in reversed(self._processes.values()):
            process.kill()
            process.wait()
        for log in self._logs:
            log.close()

    def kubectl(self, *words: str, check: bool = True) -> str:
        """Run kubectl; returns what it prints."""
        done = subprocess.run(
            [str(folder(self.version) / "kubectl"), "--kubeconfig", str(self._kubeconfig), *words],
            capture_output=True,
            text=True,
            check=False,
        )
        if check and done.returncode:
            raise NodeError(done.stderr)
        return done.stdout

    def log(self, name: str) -> str:
        """Return the log of one of the processes."""
        return (self.folder / f"{name}.log").read_text(errors="replace")

    @property
    def _kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    def _start_control_plane(self) -> None:
        data, certificates = self.folder / "etcd", self.folder / "certificates"
        (self.folder / "tokens.csv").write_text(f"{TOKEN},admin,admin,system:masters\n")
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": "test",
                    "cluster": {"server": f"https://{ADDRESS}", "insecure-skip-tls-verify": True},
                }
            ],
            "users": [{"name": "admin", "user": {"token": TOKEN}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
            "current-context": "test",
        }
        self._kubeconfig.write_text(json.dumps(config))
        peers, clients = "http://127.0.0.1:2380", "http://127.0.0.1:2379"
        self._start(
            "etcd",
            [
                find("etcd") or "etcd",
                f"--data-dir={data}",
                f"--listen-client-urls={clients}",
                f"--advertise-client-urls={clients}",
                f"--listen-peer-urls={peers}",
                "--unsafe-no-fsync=true",
            ],
        )
        host, _, port = ADDRESS.partition(":")
        key = self.folder / "accounts.key"
        subprocess.run(
            ["openssl", "genrsa", "-out", str(key), "2048"], check=True, capture_output=True
        )
        self._start_kubernetes(
            "kube-apiserver",
            f"--etcd-servers={clients}",
            f"--bind-address={host}",
            f"--secure-port={port}",
            f"--cert-dir={certificates}",
            f"--token-auth-file={self.folder / 'tokens.csv'}",
            "--authorization-mode=AlwaysAllow",
            "--disable-admission-plugins=ServiceAccount",
            f"--service-cluster-ip-range={_SERVICES}",
            f"--advertise-address={NODE_ADDRESS}",
            "--service-account-issuer=https://test.local",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--max-requests-inflight=4000",
            *self._api_options,
        )
        self.wait("the API server", self.api.is_ready, "kube-apiserver")

    def _start_node(self) -> None:
        config = f"--kubeconfig={self._kubeconfig}"
        self._start_kubernetes(
            "kube-controller-manager",
            config,
            f"--cluster-cidr={_PODS}",
            "--allocate-node-cidrs=true",
            f"--service-cluster-ip-range={_SERVICES}",
            "--leader-elect=false",
            "--kube-api-qps=500",
            "--kube-api-burst=1000",
            "--horizontal-pod-autoscaler-sync-period=2s",
        )
        self._start_kubernetes(
            "kube-scheduler",
            config,
            "--leader-elect=false",
            "--kube-api-qps=500",
            "--kube-api-burst=1000",
        )
        self._start_containerd()
        self._start_kubelet()
        proxy = {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "clientConnection": {"kubeconfig": str(self._kubeconfig)},
            "hostnameOverride": NAME,
            "clusterCIDR": _PODS,
            "mode": self._proxy_mode,
            "conntrack": {"maxPerCore": 0, "tcpEstablishedTimeout": "0s"},
        }
        path = self.folder / "proxy.yaml"
        path.write_text(yaml.safe_dump(proxy))
        self._start_kubernetes("kube-proxy", f"--config={path}")
        self.wait("the node", self._is_node_ready, "kubelet")

    def _start_containerd(self) -> None:
        bridge = {
            "type": "bridge",
            "bridge": "cni0",
            "isGateway": True,
            "ipMasq": True,
            "hairpinMode": True,
            "ipam": {
                "type": "host-local",
                "ranges": [[{"subnet": _PODS}]],
                "routes": [{"dst": "0.0.0.0/0"}],
                "dataDir": str(self.folder / "addresses"),
            },
        }
        ports = {"type": "portmap", "capabilities": {"portMappings": True}, "snat": True}
        network = {"cniVersion": "0.3.1", "name": "pods", "plugins": [bridge, ports]}
        (self.folder / "net.d").mkdir()
        (self.folder / "net.d" / "10-pods.conflist").write_text(json.dumps(network))
        config = f"""
            version = 2
            root = "{self.folder}/containerd"
            state = "{self.folder}/state"
            [grpc]
              address = "{self.socket}"
            [plugins."io.containerd.grpc.v1.cri"]
              sandbox_image = "{PAUSE}"
              restrict_oom_score_adj = true
              [plugins."io.containerd.grpc.v1.cri".cni]
                bin_dir = "/usr/lib/cni"
                conf_dir = "{self.folder}/net.d"
            """
        path = self.folder / "containerd.toml"
        path.write_text(config)
        self._start("containerd", [find("containerd") or "containerd", f"--config={path}"])
        ctr = ["ctr", f"--address={self.socket}", "--namespace=k8s.io"]
        archive = str(write_images())

        def imported() -> bool:
            command = [*ctr, "images", "import", archive]
            return subprocess.run(command, check=False, capture_output=True).returncode == 0

        self.wait("containerd", imported, "containerd")

    def _start_kubelet(self) -> None:
        config = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "cgroupDriver": "cgroupfs",
            "cgroupsPerQOS": False,
            "cgroupRoot": f"/{_CGROUP}",
            "enforceNodeAllocatable": [],
            "failSwapOn": False,
            "failCgroupV1": False,
            "localStorageCapacityIsolation": False,
            "containerRuntimeEndpoint": f"unix://{self.socket}",
            "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
            "authorization": {"mode": "AlwaysAllow"},
            "maxPods": 250,
            "registryPullQPS": 0,
            "kubeAPIQPS": 500,
            "kubeAPIBurst": 1000,
            "eventRecordQPS": 0,
            "podLogsDir": "/var/log/pods",
            "nodeStatusUpdateFrequency": "10s",
            "resolvConf": "",
            "makeIPTablesUtilChains": True,
        }
        if self._gates:
            pairs = (pair.split("=") for pair in self._gates.split(","))
            config["featureGates"] = {name: value == "true" for name, value in pairs}
        path = self.folder / "kubelet.yaml"
        path.write_text(yaml.safe_dump(config))
        self._start_kubernetes(
            "kubelet",
            f"--config={path}",
            f"--kubeconfig={self._kubeconfig}",
            f"--root-dir={self.folder / 'kubelet'}",
            f"--hostname-override={NAME}",
            f"--node-ip={NODE_ADDRESS}",
            *self._runtime_flags(),
        )

    def _runtime_flags(self) -> list[str]:
        """Return what kubelets before 1.27 do not read from their configuration."""
        minor = int(self.version.split(".")[1])
        return [f"--container-runtime-endpoint=unix://{self.socket}"] if minor < 27 else []

    def _is_node_ready(self) -> bool:
        try:
            node = self.api.get(f"/api/v1/nodes/{NAME}")
            self.api.get("/api/v1/namespaces/default")
        except ApiError:
            return False
        ready = {each["type"]: each["status"] for each in node["status"].get("conditions", ())}
        return ready.get("Ready") == "True" and "taints" not in node["spec"]

    def _start_kubernetes(self, name: str, *options: str) -> None:
        gates = [f"--feature-gates={self._gates}"] if self._gates and name != "kubelet" else []
        self._start(name, [str(folder(self.version) / name), *options, *gates])

    def _start(self, name: str, command: Sequence[str]) -> None:
        log = (self.folder / f"{name}.log").open("wb")
        self._logs.append(log)
        self._processes[name] = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )

    def wait(
        self, what: str, is_so: Callable[[], Any], process: str = "", seconds: float = 60
    ) -> None:
        """Wait until something is so. Raises ``NodeError``, with the end of a process's log."""
        deadline = time.monotonic() + seconds
        while not is_so():
            ended = process and self._processes[process].poll() is not None
            if ended or time.monotonic() > deadline:
                log = self.log(process)[-3000:] if process else ""
                raise NodeError(f"{what} did not come up: {log}")
            time.sleep(0.1)


def _prepare_namespaces() -> None:
    """Make mounts private, and give the network a loopback and an address. Refuses outside."""
    if os.getpid() != 1:
        raise NodeError("the node runs only in namespaces of its own")
    commands = [
        "mount --make-rprivate /",
        "mount --make-rshared /",
        "mount -t tmpfs tmpfs /run",
        "mount -t tmpfs tmpfs /var/log",
        "ip link set lo up",
        "ip link add node0 type bridge",
        f"ip address add {NODE_ADDRESS}/24 dev node0",
        "ip link set node0 up",
        "ip route add default dev node0",
    ]
    for command in commands:
        subprocess.run(command.split(), check=True)
    FOLDER.mkdir()
    for path in ("net/ipv4/ip_forward", "net/ipv4/conf/all/route_localnet"):
        Path("/proc/sys", path).write_text("1")
