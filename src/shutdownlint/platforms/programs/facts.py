"""The behaviour of frameworks at their stop signal, and the places of their limits.

Only settings count; that an image's name sounds like a framework proves nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint.patterns import lazy_pattern
from shutdownlint.platforms.facts import SourcedValue
from shutdownlint.shutdown.durations import ZERO, seconds

if TYPE_CHECKING:
    from datetime import timedelta


_SECOND: Final = seconds(1)
_MILLISECOND: Final = seconds(0.001)


class Framework(Struct, frozen=True):
    """One framework.

    It is there where a word of the command line is one of ``programs``, or a variable begins with
    one of ``proofs``. ``flags``, ``variables`` and ``properties`` are the spellings of its limit:
    of the command line, the environment, and its configuration files or ``-D``. ``unit`` is the
    length of a bare number, ``suffixes`` says whether units may be written. ``default`` is the
    limit where none is written (None: it depends on more); ``unbounded``: it then waits without a
    limit. ``directive`` is its limit in its own configuration files.
    """

    name: str
    programs: tuple[str, ...] = ()
    proofs: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    unit: timedelta = _SECOND
    suffixes: bool = False
    default: timedelta | None = None
    unbounded: bool = False
    directive: str = ""


SPRING: Final = "Spring Boot"
GUNICORN: Final = "Gunicorn"
PUMA: Final = "Puma"
CELERY: Final = "Celery"
HAPROXY: Final = "HAProxy"
LITELLM: Final = "LiteLLM"
DYNAMO_FRONTEND: Final = "Dynamo's frontend"
QUARKUS: Final = "Quarkus"
PM2: Final = "PM2"
VLLM: Final = "vLLM"
MICRONAUT: Final = "Micronaut"

FRAMEWORKS: Final = (
    SourcedValue(
        Framework(
            GUNICORN,
            programs=("gunicorn",),
            flags=("--graceful-timeout",),
            default=seconds(30),
        ),
        "gunicorn/config.py:873-887",
    ),
    SourcedValue(
        Framework(
            "Uvicorn",
            programs=("uvicorn",),
            flags=("--timeout-graceful-shutdown",),
            variables=("UVICORN_TIMEOUT_GRACEFUL_SHUTDOWN",),
            unbounded=True,
        ),
        "uvicorn/main.py:283-287, server.py:262-295 (since 0.22.0)",
    ),
    SourcedValue(
        Framework(
            "Hypercorn",
            programs=("hypercorn",),
            flags=("--graceful-timeout",),
            default=seconds(3),
        ),
        "hypercorn/config.py:78",
    ),
    SourcedValue(
        Framework(
            VLLM,
            programs=("vllm", "vllm.entrypoints.openai.api_server"),
            flags=("--shutdown-timeout", "--shutdown_timeout"),
        ),
        "vllm config/vllm.py (shutdown_timeout, since 0.18.0)",
    ),
    SourcedValue(
        Framework("Fluent Bit", programs=("fluent-bit",), directive="Grace", default=seconds(5)),
        "fluent-bit src/flb_config.c:340-342 ([SERVICE] Grace)",
    ),
    SourcedValue(
        Framework(
            LITELLM,
            programs=("litellm",),
            variables=("GRACEFUL_SHUTDOWN_TIMEOUT",),
            default=seconds(30),
        ),
        "litellm PR 29439",
    ),
    SourcedValue(
        Framework(
            DYNAMO_FRONTEND,
            programs=("dynamo.frontend",),
            variables=("DYN_HTTP_GRACEFUL_SHUTDOWN_TIMEOUT_SECS",),
            default=seconds(5),
        ),
        "dynamo docs, graceful shutdown of the frontend",
    ),
    SourcedValue(
        Framework("SGLang", programs=("sglang", "sglang.launch_server"), unbounded=True),
        "sglang tokenizer_manager sigterm_watchdog (PR 1838)",
    ),
    SourcedValue(
        Framework(
            "Text Generation Inference",
            programs=("text-generation-launcher",),
            flags=("--graceful-termination-timeout", "-g"),
            variables=("GRACEFUL_TERMINATION_TIMEOUT",),
            default=seconds(90),
        ),
        "text-generation-inference launcher main.rs:911, 1228",
    ),
    SourcedValue(
        Framework(
            "Triton",
            programs=("tritonserver",),
            flags=("--exit-timeout-secs",),
            default=seconds(30),
        ),
        "triton server command_line_parser.h:116",
    ),
    SourcedValue(
        Framework("Sidekiq", programs=("sidekiq",), flags=("-t", "--timeout"), default=seconds(25)),
        "sidekiq lib/sidekiq/config.rb:16, cli.rb:371 (25 s since 6.0)",
    ),
    SourcedValue(
        Framework(
            SPRING,
            proofs=("SPRING_", "SERVER_SHUTDOWN"),
            flags=("--spring.lifecycle.timeout-per-shutdown-phase",),
            variables=(
                "SPRING_LIFECYCLE_TIMEOUTPERSHUTDOWNPHASE",
                # The older mapping of dashes to underscores is still read.
                "SPRING_LIFECYCLE_TIMEOUT_PER_SHUTDOWN_PHASE",
            ),
            properties=("spring.lifecycle.timeout-per-shutdown-phase",),
            unit=_MILLISECOND,
            suffixes=True,
            default=seconds(30),
        ),
        "spring-boot LifecycleProperties.java:36 (30 s a phase), external-config.adoc:1134-1140",
    ),
    SourcedValue(
        Framework(
            ".NET",
            programs=("dotnet",),
            proofs=("DOTNET_SHUTDOWN", "ASPNETCORE_"),
            variables=("DOTNET_SHUTDOWNTIMEOUTSECONDS", "ASPNETCORE_SHUTDOWNTIMEOUTSECONDS"),
            default=seconds(30),
        ),
        "dotnet/runtime HostOptions.cs (30 s since runtime PR 63712; 5 s before)",
    ),
    SourcedValue(
        Framework(
            QUARKUS,
            proofs=("QUARKUS_",),
            variables=("QUARKUS_SHUTDOWN_TIMEOUT",),
            properties=("quarkus.shutdown.timeout",),
            suffixes=True,
        ),
        "quarkus core/runtime .../shutdown/ShutdownConfig.java (usually in the jar's own file)",
    ),
    SourcedValue(
        Framework(
            MICRONAUT,
            proofs=("MICRONAUT_",),
            variables=("MICRONAUT_LIFECYCLE_GRACEFUL_SHUTDOWN_GRACE_PERIOD",),
            properties=("micronaut.lifecycle.graceful-shutdown.grace-period",),
            suffixes=True,
        ),
        "micronaut-core .../GracefulShutdownConfiguration.java (since 4.9.0, off by default)",
    ),
    SourcedValue(
        Framework(
            PM2,
            programs=("pm2-runtime", "pm2"),
            variables=("PM2_KILL_TIMEOUT",),
            proofs=("PM2_KILL",),
            unit=_MILLISECOND,
            default=seconds(1.6),
        ),
        "pm2 constants.js:105-106, lib/God/Methods.js:158",
    ),
    SourcedValue(
        Framework("supervisord", programs=("supervisord",), default=seconds(10)),
        "measured: supervisord (stopwaitsecs 10)",
    ),
    SourcedValue(
        Framework(PUMA, programs=("puma",), unbounded=True),
        "puma lib/puma/configuration.rb DEFAULTS (single mode: forever), dsl.rb:415-440",
    ),
    SourcedValue(
        Framework(CELERY, programs=("celery",), unbounded=True),
        "celery docs/userguide/workers.rst:106-215 (TERM finishes running tasks)",
    ),
    SourcedValue(
        Framework(
            "nginx",
            programs=("nginx",),
            suffixes=True,
            unbounded=True,
            directive="worker_shutdown_timeout",
        ),
        "nginx src/core/ngx_config.h:60-61 (QUIT; worker_shutdown_timeout is off by default)",
    ),
    SourcedValue(
        Framework(
            "httpd", programs=("httpd", "httpd-foreground", "apache2-foreground"), unbounded=True
        ),
        "httpd docs/manual/mod/mpm_common.xml:118-134 (WINCH; GracefulShutdownTimeout 0)",
    ),
    SourcedValue(
        Framework(
            HAPROXY,
            programs=("haproxy",),
            unit=_MILLISECOND,
            suffixes=True,
            unbounded=True,
            directive="hard-stop-after",
        ),
        "measured: HAProxy 2.6.12 (USR1; without hard-stop-after there is no limit)",
    ),
    SourcedValue(
        Framework(
            "Caddy",
            programs=("caddy",),
            suffixes=True,
            unbounded=True,
            directive="grace_period",
        ),
        "measured: caddy 2.11.7 (without grace_period there is no limit)",
    ),
)
#: Flags that name a configuration file, which may set anything; PM2 takes it as an argument.
CONFIG_FLAGS: Final = ("-c", "--config", "-C")
CONFIG_FILES: Final = lazy_pattern(r"-[cC].+|--config=.*|.*\.config\.(?:c?js|json|ya?ml)")
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
#: The JVM takes further options from here.
JAVA_OPTIONS: Final = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")
#: Puma's workers, of cluster mode, get this long.
PUMA_WORKER: Final = SourcedValue(
    seconds(30), "puma lib/puma/configuration.rb (worker_shutdown_timeout)"
)
#: Whether Spring Boot waits for requests: graceful by default from 3.4 on, immediate before.
SPRING_MODE: Final = SourcedValue(
    "server.shutdown", "spring-boot ServerProperties.java:107, commit 814369e8"
)
#: Switches Micronaut's graceful shutdown on, and how long it then takes.
MICRONAUT_SWITCH: Final = SourcedValue(
    "micronaut.lifecycle.graceful-shutdown.enabled", "GracefulShutdownConfiguration.java"
)
MICRONAUT_DEFAULT: Final = SourcedValue(seconds(15), "GracefulShutdownConfiguration.java")
#: Turns Celery's stop signal into a cold shutdown (docs/userguide/workers.rst).
CELERY_REMAP: Final = ("REMAP_SIGTERM", "SIGQUIT")
#: A phase before Quarkus' own shutdown, if it was built with quarkus.shutdown.delay-enabled.
QUARKUS_DELAY: Final = SourcedValue("quarkus.shutdown.delay", "ShutdownConfig.java")
#: Inits: they pass the signal on, and end with the program.
INITS: Final = frozenset(("tini", "tini-static", "dumb-init", "catatonit"))
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
#: Frameworks that wait for their requests only where that is set; the release that always does.
WAITS_ONLY_IF_ASKED: Final = SourcedValue(
    ((SPRING, "3.4"), (QUARKUS, ""), (MICRONAUT, "")),
    "measured: Spring Boot 3.3, 3.5 and 4.0, Quarkus and Micronaut with and without the setting",
)
#: The setting that makes each of them wait.
WAIT_SETTING: Final = {
    SPRING: SPRING_MODE.value + "=graceful",
    QUARKUS: "quarkus.shutdown.timeout",
    MICRONAUT: MICRONAUT_SWITCH.value + "=true",
}
#: The usual time of requests to model servers if no file shows it: at least a minute.
MODEL_REQUEST: Final = SourcedValue(
    seconds(60),
    "gateway-api-inference-extension PR 614: 55s at the 99th percentile; KServe's presets since "
    "0.19 have a grace period of 60s",
)
#: vLLM drains only with this flag.
VLLM_FLAG: Final = "--shutdown-timeout"
#: The time that su and runuser let a program live after its stop signal.
SU_LIMIT: Final = SourcedValue(seconds(2), "measured: util-linux su -c, runuser --")
SQL_PROXIES: Final = SourcedValue(
    ("cloud-sql-proxy", "cloud_sql_proxy", "alloydb-auth-proxy"),
    "cloud-sql-proxy cmd/root.go:536-539,1250-1267, internal/proxy/proxy.go:734-789",
)
#: The release from which PgBouncer waits for its clients at SIGTERM; before, it ends at once.
PGBOUNCER_WAITS: Final = SourcedValue(
    "1.23.0", "pgbouncer NEWS.md:234-244, doc/usage.md:908-927, src/main.c:541-590"
)
SHUTDOWN_GRACE: Final = SourcedValue(
    ZERO, "ingress-nginx pkg/flags/flags.go:225-227 (--shutdown-grace-period)"
)
WORKER_SHUTDOWN: Final = SourcedValue(
    seconds(240), "ingress-nginx configmap.md:780-782 (worker-shutdown-timeout)"
)
#: Programs that open connections, or wait, and accept none. A container that declares a port may
#: have something else in it, so it is not asked.
ACCEPTS_NOTHING: Final = SourcedValue(
    ("ab", "curl", "hey", "k6", "ping", "siege", "sleep", "tail", "vegeta", "wget", "wrk"),
    "their manuals: load generators, HTTP clients and tools of coreutils (k6 docs, k6 run)",
)
#: The key of its ConfigMap.
WORKER_SHUTDOWN_KEY: Final = "worker-shutdown-timeout"
#: The time that a node of Ray goes on serving after its stop signal.
RAY_DRAIN: Final = SourcedValue(
    seconds(30), "measured: ray 2.60.0 (RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S; ray 64454)"
)
RAY_DRAINS: Final = SourcedValue("2.60.0", "measured: the first release that was seen to drain")
RAY_VARIABLE: Final = "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S"
_HAPROXY_INGRESS: Final = "haproxy-ingress docs command-line.md:310-324, 594-606, 841-849"
HAPROXY_STOP: Final = SourcedValue(seconds(25), f"{_HAPROXY_INGRESS} (--shutdown-timeout)")
HAPROXY_GRACE: Final = SourcedValue(seconds(20), f"{_HAPROXY_INGRESS} (--haproxy-grace-period)")
_KEDA: Final = "keda http-add-on interceptor/config/serving.go:59-67, main.go:284-289"
KEDA_DELAY_KEY: Final = "KEDA_HTTP_SHUTDOWN_DELAY"
KEDA_DELAY: Final = SourcedValue(seconds(5), f"{_KEDA} ({KEDA_DELAY_KEY})")
KEDA_DRAIN_KEY: Final = "KEDA_HTTP_DRAIN_TIMEOUT"
KEDA_DRAIN: Final = SourcedValue(seconds(30), f"{_KEDA} ({KEDA_DRAIN_KEY}; 0: no limit)")
#: The header that probes of Knative's own servers have. They go on until no request has come for a
#: while.
KNATIVE_PROBE: Final = SourcedValue(
    "k-kubelet-probe", "knative/pkg 3fdcc4b5b4 network/network.go (KubeletProbeHeaderName)"
)
KNATIVE_QUIET: Final = SourcedValue(
    seconds(45),
    "knative/pkg 3fdcc4b5b4 network/network.go (DefaultDrainTimeout), network/handlers/drain.go",
)
POST_SHUTDOWN: Final = SourcedValue(
    seconds(10), "ingress-nginx pkg/flags/flags.go:225-227 (--post-shutdown-grace-period)"
)
#: The hook that ends when the controller has gone (ingress-nginx cmd/waitshutdown/main.go:28-43).
WAIT_SHUTDOWN: Final = "/wait-shutdown"
TRAEFIK_ACCEPT: Final = SourcedValue(
    ZERO, "traefik pkg/config/static/static_config.go:43-45,225-234 (requestAcceptGraceTimeout)"
)
TRAEFIK_GRACE: Final = SourcedValue(
    seconds(10), "traefik pkg/config/static/static_config.go:43-45,225-234 (graceTimeOut)"
)
#: Without ``--wait``, ``kong quit`` stops accepting at once; then it waits that long for requests.
KONG_WAIT: Final = SourcedValue(ZERO, "kong kong/cmd/quit.lua:20-53 (--wait)")
KONG_TIMEOUT: Final = SourcedValue(seconds(10), "kong kong/cmd/quit.lua:20-53 (--timeout)")
