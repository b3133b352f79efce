"""What holds for programs of all kinds: launchers, inits, flags of configuration files.

What a single program does is in its record (the folder ``programs``).
"""

from __future__ import annotations

from typing import Final

from shutdownlint.patterns import lazy_pattern
from shutdownlint.platforms.facts import SourcedValue
from shutdownlint.shutdown.durations import ZERO, seconds

#: Flags that name a configuration file, which may set anything; PM2 takes it as an argument.
CONFIG_FLAGS: Final = ("-c", "--config", "-C")
CONFIG_FILES: Final = lazy_pattern(
    r"-[cC][^=./]*+[./][^=]*+|--?config(-file)?(=.*)?|[^=]*\.config\.(?:c?js|json|ya?ml)"
)
#: The time that Kubernetes API machinery servers accept requests after their stop signal.
SERVE_ON_FLAG: Final = SourcedValue(
    "--shutdown-delay-duration", "kubernetes staging/src/k8s.io/apiserver/pkg/server/config.go"
)
#: The words that a program's name may follow on a command line.
LAUNCHERS: Final = frozenset(
    (
        "&&",
        ";",
        "||",
        "--",
        "-c",
        "-ec",
        "-lc",
        "-m",
        "bundle",
        "dumb-init",
        "env",
        "exec",
        "nohup",
        "pdm",
        "pipenv",
        "poetry",
        "run",
        "tini",
        "uv",
        "ddtrace-run",
        "opentelemetry-instrument",
    )
)
#: Gunicorn takes further flags from here (docs/content/configure.md:9).
GUNICORN_ARGUMENTS: Final = "GUNICORN_CMD_ARGS"
#: Inits: they pass the signal on, and end with the program.
INITS: Final = frozenset(("tini", "tini-static", "dumb-init", "catatonit"))
#: Entry scripts of official images, which end in exec and their arguments.
ENTRY_SCRIPTS: Final = SourcedValue(
    ("docker-entrypoint.sh", "docker-php-entrypoint"),
    "docker-library official-images README, Consistency; the images' Dockerfiles",
)
#: Programs that start another one as another user.
USER_SWITCHERS: Final = frozenset(("su", "runuser", "gosu", "su-exec", "setpriv", "chpst"))
#: Programs that become the program behind them, or pass the signal on to it unchanged.
PROGRAM_LAUNCHERS: Final = SourcedValue(
    (
        ("exec",),
        ("env",),
        ("nice",),
        ("ionice",),
        ("nohup",),
        ("stdbuf",),
        ("setsid",),
        ("command",),
        ("bundle", "exec"),
        ("uv", "run"),
        ("poetry", "run"),
        ("pipenv", "run"),
        ("pdm", "run"),
        ("ddtrace-run",),
        ("opentelemetry-instrument",),
        ("newrelic-admin", "run-program"),
    ),
    "measured: env, nice, nohup, setsid; the others start their program by exec",
)
#: Options of launchers that take the next word.
LAUNCHER_OPTIONS: Final = {
    "env": ("-u", "-C", "--unset", "--chdir"),
    "nice": ("-n",),
    "ionice": ("-c", "-n", "-p"),
    "stdbuf": ("-i", "-o", "-e"),
    "timeout": ("-k", "-s", "--kill-after", "--signal"),
    "tini": ("-p", "-e"),
    "uv": ("--with", "--env-file", "--python", "-p", "--package", "--directory", "--project"),
    "dumb-init": ("-r", "--rewrite"),
    "chpst": ("-u", "-U", "-e", "-n"),
}
#: The usual time of requests to model servers if no file shows it: at least a minute.
MODEL_REQUEST: Final = SourcedValue(
    seconds(60),
    "gateway-api-inference-extension PR 614: 55s at the 99th percentile; KServe's presets since "
    "0.19 have a grace period of 60s",
)
#: The time that su and runuser let a program live after its stop signal.
SU_LIMIT: Final = SourcedValue(seconds(2), "measured: util-linux su -c, runuser --")
#: The header that probes of Knative's own servers have. They go on until no request has come for a
#: while.
KNATIVE_PROBE: Final = SourcedValue(
    "k-kubelet-probe", "knative/pkg 3fdcc4b5b4 network/network.go (KubeletProbeHeaderName)"
)
KNATIVE_QUIET: Final = SourcedValue(
    seconds(45),
    "knative/pkg 3fdcc4b5b4 network/network.go (DefaultDrainTimeout), network/handlers/drain.go",
)
#: Without ``--wait``, ``kong quit`` stops accepting at once; then it waits that long for requests.
KONG_WAIT: Final = SourcedValue(ZERO, "kong kong/cmd/quit.lua:20-53 (--wait)")
KONG_TIMEOUT: Final = SourcedValue(seconds(10), "kong kong/cmd/quit.lua:20-53 (--timeout)")
