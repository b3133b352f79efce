"""What databases and queues do with open connections: ``python -m tests.programs.databases``.

Each runs as process 1 of its own namespace. A client has a command in flight at the stop signal,
another one connects later. Printed are the outcomes, and when the program ended.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Final

from msgspec import Struct

from tests.ports import PORTS
from tests.programs.run import LATE_AT, UNSHARE, first_process, search_path

_WATCHED: Final = 25.0


class Database(Struct, frozen=True):
    """A server: how it starts, a command that takes four seconds, and one that takes none.

    ``prepare`` makes its folder. ``{port}`` and ``{folder}`` are filled in.
    """

    name: str
    start: str
    slow: str
    ping: str
    prepare: str = ""
    stop: str = "SIGTERM"


DATABASES: Final = (
    Database(
        "redis",
        "exec redis-server --port {port} --dir {folder}",
        "redis-cli -p {port} blpop nothing 4",
        "redis-cli -p {port} ping",
    ),
    Database(
        "mariadb",
        "exec mariadbd --no-defaults --user=mysql --datadir={folder}/d --port={port}"
        " --socket={folder}/s --bind-address=127.0.0.1 --pid-file={folder}/p",
        "mariadb -h 127.0.0.1 -P {port} -u t -pt -N -e 'select sleep(4)'",
        "mariadb -h 127.0.0.1 -P {port} -u t -pt -N -e 'select 1'",
        "mariadb-install-db --no-defaults --user=mysql --datadir={folder}/d"
        " --auth-root-authentication-method=normal >/dev/null && "
        "printf \"flush privileges;\\ncreate user t@localhost identified by 't';\\n\" | mariadbd"
        " --no-defaults --user=mysql --datadir={folder}/d --bootstrap 2>/dev/null",
    ),
    Database(
        "memcached",
        "exec memcached -u root -l 127.0.0.1 -p {port}",
        "python3 -c \"import socket,time; c=socket.create_connection(('127.0.0.1',{port}));"
        "time.sleep(4); c.sendall(b'version\\r\\n'); assert c.recv(9)\"",
        "python3 -c \"import socket; c=socket.create_connection(('127.0.0.1',{port}));"
        "c.sendall(b'version\\r\\n'); assert c.recv(9)\"",
    ),
    Database(
        "rabbitmq",
        "HOME={folder} RABBITMQ_NODENAME=t{port}@localhost RABBITMQ_NODE_PORT={port}"
        " RABBITMQ_MNESIA_BASE={folder} RABBITMQ_LOG_BASE={folder}"
        " exec /usr/lib/rabbitmq/bin/rabbitmq-server",
        "python3 -c \"import socket,time; c=socket.create_connection(('127.0.0.1',{port}));"
        "c.sendall(b'AMQP\\x00\\x00\\x09\\x01'); time.sleep(0.3); assert c.recv(65536); time.sleep(4);"
        'c.settimeout(1); assert c.recv(1)"',
        "python3 -c \"import socket; c=socket.create_connection(('127.0.0.1',{port}));"
        "c.sendall(b'AMQP\\x00\\x00\\x09\\x01'); assert c.recv(9)\"",
    ),
    *(
        Database(
            f"postgres with {stop}",
            "exec setpriv --reuid=postgres --clear-groups /usr/lib/postgresql/15/bin/postgres"
            " -D {folder}/d -p {port} -k {folder}",
            "psql -h 127.0.0.1 -p {port} -U postgres -c 'select pg_sleep(4)'",
            "psql -h 127.0.0.1 -p {port} -U postgres -c 'select 1'",
            "chown postgres {folder} && su postgres -s /bin/sh -c"
            " '/usr/lib/postgresql/15/bin/initdb -A trust -D {folder}/d >/dev/null'",
            stop,
        )
        for stop in ("SIGTERM", "SIGINT")
    ),
)


def main() -> None:
    """Run those that are installed."""
    for database in DATABASES:
        with tempfile.TemporaryDirectory(prefix="database-") as name:
            Path(name).chmod(0o777)
            sys.stdout.write(f"{database.name}: {_run(database, name)}\n")
            sys.stdout.flush()


def _run(database: Database, folder: str) -> str:
    port = PORTS.take()
    environment = {**os.environ, "PATH": f"{search_path()}:/usr/lib/postgresql/15/bin"}

    def fill(text: str) -> list[str]:
        return ["sh", "-c", text.replace("{port}", str(port)).replace("{folder}", folder)]

    program = next(word for word in database.ping.split() if word.isalnum() or "-" in word)
    if shutil.which(program, path=environment["PATH"]) is None:
        return "skipped, not installed"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environment}
    if database.prepare:
        done = subprocess.run(fill(database.prepare), check=False, env=environment, timeout=120)
        if done.returncode:
            return "skipped, not installed"
    with subprocess.Popen([*UNSHARE, *fill(database.start)], **quiet) as process:  # type: ignore[call-overload]
        try:
            for _ in range(120):
                if subprocess.run(fill(database.ping), check=False, **quiet).returncode == 0:  # type: ignore[call-overload]
                    break
                time.sleep(0.25)
            else:
                return "did not come up"
            return _stop(process, database, fill(database.slow), fill(database.ping), quiet)
        finally:
            process.kill()


def _stop(
    process: subprocess.Popen[bytes],
    database: Database,
    slow: list[str],
    ping: list[str],
    quiet: dict[str, object],
) -> str:
    running = subprocess.Popen(slow, **quiet)  # type: ignore[call-overload]
    time.sleep(0.7)
    first = first_process(process)
    begin = time.monotonic()
    os.kill(first, getattr(signal, database.stop))
    ended: list[float] = []

    def watch() -> None:
        process.wait()
        ended.append(time.monotonic() - begin)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    time.sleep(max(0.0, begin + LATE_AT - time.monotonic()))
    late = subprocess.run(ping, check=False, timeout=20, **quiet).returncode  # type: ignore[call-overload]
    code = running.wait(timeout=30)
    took = time.monotonic() - begin
    watcher.join(max(0.0, begin + _WATCHED - time.monotonic()))
    exit_at = f"ended after {ended[0]:.1f}s" if ended else "still ran"
    in_flight = "finished" if code == 0 else "cut"
    return f"in flight {in_flight} at {took:.1f}s, late {'served' if not late else 'refused'}, {exit_at}"


if __name__ == "__main__":
    main()
