"""The behaviour of programs at their stop signal, measured with each as process 1."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint.platforms.facts import MEASURED_ON_NODE, SourcedValue
from shutdownlint.platforms.programs import facts
from shutdownlint.shutdown.durations import ZERO, seconds
from shutdownlint.shutdown.process import CLOSED, OPEN, Acceptance, Reaction

if TYPE_CHECKING:
    from datetime import timedelta


class AtSignal(StrEnum):
    """The behaviour of a program at its stop signal."""

    #: It stops accepting and finishes the requests that it has.
    FINISHES = "finishes"
    #: It ends, and cuts the requests that it has.
    CUTS = "cuts"
    #: It cuts the requests that it has, and goes on serving until SIGKILL.
    RESTARTS = "restarts"
    #: It has no handler: as the first process it goes on, else it ends at once.
    HAS_NO_HANDLER = "has-no-handler"
    #: Its code decides. Without a handler: as the first process it goes on, else it ends at once.
    NEEDS_HANDLER = "needs-handler"
    #: Its code decides. Without a handler it ends at once.
    NEEDS_HANDLER_OR_ENDS = "needs-handler-or-ends"
    #: It hands the signal to a shell, which ends without passing it on where it is dash.
    LOSES_IN_SHELL = "loses-in-shell"


class Behaviour(Struct, frozen=True):
    """A program by the names that start it, and what it does at its stop signal.

    Without a ``name`` it is called as it is started. ``modules`` are modules of Python (``-m``).
    ``words``: one of them has to be among its arguments. ``late`` is what it does with requests
    after its signal. ``by_signal`` is what it does at other signals than SIGTERM. ``signal`` is the
    one that its code gets, ``check`` says what to look for there. ``limit_finishes``: with a limit
    written, it finishes within that. ``limit_since``: the release of its image from which it takes
    that limit. ``exit_tail`` is how long it lives on after its last request. ``lives_on``: where
    it cuts its requests, it does not exit while clients hold their connections. ``reconnects``: its
    clients expect to be cut, and connect again. ``forwards_telemetry``: it takes the logs, metrics
    or traces of apps beside it, until its stop signal. ``forward_status``: it is a reverse proxy,
    and answers that where nothing listens behind it; None for what is none. ``serves_models``: its
    requests take minutes.
    """

    name: str
    programs: tuple[str, ...]
    at_signal: AtSignal
    modules: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    late: Acceptance = CLOSED
    by_signal: tuple[tuple[str, AtSignal], ...] = ()
    signal: str = "SIGTERM"
    check: str = ""
    limit_finishes: bool = False
    limit_since: str = ""
    exit_tail: timedelta = ZERO
    lives_on: bool = False
    reconnects: bool = False
    forwards_telemetry: bool = False
    forward_status: int | None = None
    serves_models: bool = False


NGINX_GATEWAY: Final = "nginx-gateway-fabric-nginx"

#: A parent holds the socket: the kernel accepts, and there is no answer.
HANGS: Final = Acceptance(Reaction.HANGS, Reaction.HANGS)

#: The listener stays open, and answers that it is not available, on new and on kept connections.
ANSWERS_503: Final = Acceptance(Reaction.ERROR, Reaction.ERROR)


def _measured(behaviour: Behaviour, version: str) -> SourcedValue[Behaviour]:
    return SourcedValue(behaviour, f"measured: {version}")


#: The first entry that fits counts.
BEHAVIOURS: Final = (
    _measured(
        Behaviour(
            "Gunicorn",
            ("gunicorn",),
            AtSignal.FINISHES,
            modules=("gunicorn",),
            late=HANGS,
        ),
        "gunicorn 27.0.1",
    ),
    _measured(
        Behaviour("Uvicorn", ("uvicorn",), AtSignal.FINISHES, modules=("uvicorn",)),
        "uvicorn 0.54.0",
    ),
    _measured(
        Behaviour(
            "Hypercorn",
            ("hypercorn",),
            AtSignal.FINISHES,
            modules=("hypercorn",),
            late=HANGS,
        ),
        "hypercorn 0.18.0",
    ),
    _measured(Behaviour("Daphne", ("daphne",), AtSignal.CUTS, modules=("daphne",)), "daphne 4.2.3"),
    _measured(
        Behaviour("Granian", ("granian",), AtSignal.FINISHES, modules=("granian",)),
        "granian 2.8.7",
    ),
    # What keeps a container alive.
    SourcedValue(
        Behaviour("", ("sleep", "tail"), AtSignal.HAS_NO_HANDLER),
        f"{MEASURED_ON_NODE}: killed when the grace period ends",
    ),
    _measured(
        Behaviour("Waitress", ("waitress-serve",), AtSignal.HAS_NO_HANDLER, modules=("waitress",)),
        "waitress 3.0.2",
    ),
    _measured(
        Behaviour(
            "Flask's development server",
            ("flask",),
            AtSignal.HAS_NO_HANDLER,
            modules=("flask",),
            words=("run",),
        ),
        "Flask 3.1.3",
    ),
    _measured(
        Behaviour("Python's http.server", (), AtSignal.HAS_NO_HANDLER, modules=("http.server",)),
        "Python 3.11",
    ),
    _measured(
        Behaviour("PHP's development server", ("php",), AtSignal.HAS_NO_HANDLER, words=("-S",)),
        "php 8.2",
    ),
    _measured(
        Behaviour("uWSGI", ("uwsgi",), AtSignal.RESTARTS, late=OPEN), "uWSGI with its master"
    ),
    _measured(Behaviour("Puma", ("puma",), AtSignal.FINISHES), "Puma, single and cluster mode"),
    _measured(
        Behaviour(
            "Celery",
            ("celery",),
            AtSignal.FINISHES,
            modules=("celery",),
            words=("worker",),
            exit_tail=seconds(3),
        ),
        "celery 5.7.0",
    ),
    _measured(
        Behaviour("Sidekiq", ("sidekiq",), AtSignal.FINISHES),
        "Sidekiq (25 s, then the job goes back to its queue)",
    ),
    _measured(
        Behaviour(
            "nginx",
            ("nginx", "nginx-debug"),
            AtSignal.CUTS,
            by_signal=(("SIGQUIT", AtSignal.FINISHES),),
            forward_status=502,
        ),
        "nginx 1.22.1",
    ),
    _measured(
        Behaviour(
            "Apache httpd",
            ("httpd", "httpd-foreground", "apache2", "apache2-foreground"),
            AtSignal.CUTS,
            by_signal=(("SIGWINCH", AtSignal.FINISHES),),
            forward_status=503,
        ),
        "httpd 2.4.71",
    ),
    _measured(
        Behaviour(
            facts.HAPROXY,
            ("haproxy",),
            AtSignal.CUTS,
            by_signal=(("SIGUSR1", AtSignal.FINISHES),),
            forward_status=503,
        ),
        "haproxy 2.6.12 with -W",
    ),
    *(
        SourcedValue(
            Behaviour(name, (program,), AtSignal.FINISHES, forwards_telemetry=True), source
        )
        for name, program, source in (
            ("Fluent Bit", "fluent-bit", "fluent-bit src/flb_engine.c:1393-1515"),
            (
                "the OpenTelemetry Collector",
                "otelcol",
                "opentelemetry-collector otelcol/collector.go:496-514",
            ),
            ("Vector", "vector", "vector docs, graceful shutdown"),
            ("Filebeat", "filebeat", "beats docs, filebeat.shutdown_timeout"),
            (
                "the Datadog Agent",
                "datadog-agent",
                "DataDog docs, logs_config.stop_grace_period (30 s)",
            ),
        )
    ),
    SourcedValue(
        Behaviour("NGINX Ingress Controller", ("nginx-ingress",), AtSignal.FINISHES),
        "nginxinc kubernetes-ingress cmd/nginx-ingress/main.go:787-818 (nginx -s quit)",
    ),
    SourcedValue(
        Behaviour(
            "NGINX Gateway Fabric's nginx",
            (NGINX_GATEWAY,),
            AtSignal.CUTS,
            by_signal=(("SIGQUIT", AtSignal.FINISHES),),
        ),
        "nginx-gateway-fabric build/entrypoint.sh:18-35, build/Dockerfile.nginx:43,84",
    ),
    SourcedValue(
        Behaviour("Emissary", ("emissary",), AtSignal.CUTS),
        "emissary cmd/entrypoint/entrypoint.go:141-145, charts values.yaml:433-476",
    ),
    _measured(Behaviour("Envoy", ("envoy",), AtSignal.CUTS, forward_status=503), "envoy 1.40.0"),
    _measured(
        Behaviour("Caddy", ("caddy",), AtSignal.FINISHES, forward_status=502), "caddy 2.11.7"
    ),
    SourcedValue(
        Behaviour("oauth2-proxy", ("oauth2-proxy",), AtSignal.FINISHES, forward_status=502),
        "oauth2-proxy pkg/proxyhttp/server.go:258-270, oauthproxy.go:278",
    ),
    SourcedValue(
        Behaviour("kube-rbac-proxy", ("kube-rbac-proxy",), AtSignal.FINISHES, forward_status=502),
        "kube-rbac-proxy cmd/kube-rbac-proxy/app/kube-rbac-proxy.go:395-494",
    ),
    _measured(
        Behaviour(
            "lighttpd", ("lighttpd",), AtSignal.CUTS, by_signal=(("SIGINT", AtSignal.FINISHES),)
        ),
        "lighttpd 1.4.69",
    ),
    _measured(Behaviour("Varnish", ("varnishd",), AtSignal.CUTS), "varnish 7.1.1"),
    _measured(
        Behaviour(
            "PostgreSQL",
            ("postgres",),
            AtSignal.FINISHES,
            by_signal=(("SIGINT", AtSignal.CUTS), ("SIGQUIT", AtSignal.CUTS)),
            reconnects=True,
        ),
        "PostgreSQL 15 (TERM: smart, INT: fast shutdown)",
    ),
    SourcedValue(
        Behaviour(
            "vLLM",
            ("vllm", "vllm.entrypoints.openai.api_server"),
            AtSignal.CUTS,
            modules=("vllm.entrypoints.openai.api_server",),
            # Its listener stays open while it drains.
            late=Acceptance(Reaction.ERROR, Reaction.ERROR, status=500),
            limit_finishes=True,
            limit_since="0.18.0",
            exit_tail=seconds(5),
            lives_on=True,
            serves_models=True,
        ),
        "measured: vLLM 0.32.0 (a drain only with --shutdown-timeout, since 0.18.0)",
    ),
    SourcedValue(
        Behaviour(
            "SGLang",
            ("sglang",),
            AtSignal.FINISHES,
            modules=("sglang.launch_server",),
            serves_models=True,
        ),
        "sglang tokenizer_manager sigterm_watchdog (PR 1838)",
    ),
    SourcedValue(
        Behaviour(
            "Text Generation Inference",
            ("text-generation-launcher",),
            AtSignal.FINISHES,
            serves_models=True,
        ),
        "text-generation-inference launcher main.rs:2016-2035",
    ),
    SourcedValue(
        Behaviour("Triton", ("tritonserver",), AtSignal.FINISHES, serves_models=True),
        "triton server main.cc:328-350, 560",
    ),
    SourcedValue(
        Behaviour("TensorFlow Serving", ("tensorflow_model_server",), AtSignal.HAS_NO_HANDLER),
        "tensorflow/serving issue 1853",
    ),
    SourcedValue(Behaviour(facts.LITELLM, ("litellm",), AtSignal.FINISHES), "litellm PR 29439"),
    SourcedValue(
        Behaviour(
            facts.DYNAMO_FRONTEND,
            (),
            AtSignal.FINISHES,
            modules=("dynamo.frontend",),
            late=ANSWERS_503,
        ),
        "dynamo docs, graceful shutdown of the frontend",
    ),
    SourcedValue(
        Behaviour("Ollama", ("ollama",), AtSignal.CUTS, serves_models=True),
        "ollama server/routes.go:2023",
    ),
    _measured(Behaviour("npm", ("npm", "npx"), AtSignal.LOSES_IN_SHELL), "npm 11.19.1 on Debian"),
    _measured(Behaviour("Yarn 1", ("yarn",), AtSignal.LOSES_IN_SHELL), "yarn 1.22.22"),
    _measured(
        Behaviour(
            "pnpm",
            ("pnpm",),
            AtSignal.NEEDS_HANDLER_OR_ENDS,
            check="process.on('SIGTERM', …)",
        ),
        "pnpm 12.21.0",
    ),
    _measured(
        Behaviour(
            "PM2",
            ("pm2-runtime", "pm2"),
            AtSignal.NEEDS_HANDLER_OR_ENDS,
            signal="SIGINT",
            check="process.on('SIGINT', …)",
        ),
        "pm2 7.0.4",
    ),
    _measured(
        Behaviour(
            "Node.js",
            ("node", "nodejs", "tsx", "ts-node", "bun", "deno"),
            AtSignal.NEEDS_HANDLER,
            check="process.on('SIGTERM', …)",
        ),
        "node 20.20.2",
    ),
    _measured(
        Behaviour(
            "Python",
            ("python", "python2", "python3"),
            AtSignal.NEEDS_HANDLER,
            check="signal.signal(signal.SIGTERM, …)",
        ),
        "Python 3.11",
    ),
    _measured(
        Behaviour("Perl", ("perl",), AtSignal.NEEDS_HANDLER, check="$SIG{TERM}"), "perl 5.36"
    ),
    _measured(
        Behaviour("PHP", ("php",), AtSignal.NEEDS_HANDLER, check="pcntl_signal(SIGTERM, …)"),
        "php 8.2",
    ),
    _measured(
        Behaviour("Ruby", ("ruby",), AtSignal.NEEDS_HANDLER_OR_ENDS, check="trap('TERM')"),
        "ruby 3.1",
    ),
    _measured(
        Behaviour(
            "Java",
            ("java",),
            AtSignal.NEEDS_HANDLER_OR_ENDS,
            check="a framework that waits for its requests, or a shutdown hook that does",
        ),
        "a JVM without a framework",
    ),
    _measured(
        Behaviour("", ("sleep", "tail"), AtSignal.HAS_NO_HANDLER),
        "sleep, tail -f",
    ),
)

#: Stop signals that official images set, by their name and a part of the tag, and since which
#: release.
IMAGE_SIGNALS: Final = SourcedValue(
    (
        ("nginx", "", "SIGQUIT", "1.19.5"),
        ("httpd", "", "SIGWINCH", ""),
        ("php", "apache", "SIGWINCH", ""),
        ("php", "fpm", "SIGQUIT", ""),
        ("haproxy", "", "SIGUSR1", ""),
        ("postgres", "", "SIGINT", ""),
        ("ghcr.io/nginx/nginx-gateway-fabric/nginx", "", "SIGTERM", ""),
    ),
    "the official images' Dockerfiles, 2019-2025 (nginx since 1.19.5)",
)
_COLLECTORS: Final = "ghcr.io/open-telemetry/opentelemetry-collector-releases"
#: The program that images start by themselves: official ones by their plain name.
IMAGE_PROGRAMS: Final = SourcedValue(
    {
        "nginx": "nginx",
        "httpd": "httpd",
        "haproxy": "haproxy",
        "caddy": "caddy",
        "postgres": "postgres",
        "varnish": "varnishd",
        "traefik": "traefik",
        "vllm/vllm-openai": "vllm",
        "ollama/ollama": "ollama",
        "rayproject/ray": "ray",
        **dict.fromkeys(("fluent/fluent-bit", "cr.fluentbit.io/fluent/fluent-bit"), "fluent-bit"),
        **dict.fromkeys(
            (
                "otel/opentelemetry-collector",
                "otel/opentelemetry-collector-contrib",
                f"{_COLLECTORS}/opentelemetry-collector",
                f"{_COLLECTORS}/opentelemetry-collector-contrib",
            ),
            "otelcol",
        ),
        "timberio/vector": "vector",
        **dict.fromkeys(
            ("docker.elastic.co/beats/filebeat", "elastic/filebeat"),
            "filebeat",
        ),
        **dict.fromkeys(
            ("gcr.io/datadoghq/agent", "public.ecr.aws/datadog/agent", "datadog/agent"),
            "datadog-agent",
        ),
        "envoyproxy/envoy": "envoy",
        "quay.io/oauth2-proxy/oauth2-proxy": "oauth2-proxy",
        **dict.fromkeys(
            ("quay.io/brancz/kube-rbac-proxy", "gcr.io/kubebuilder/kube-rbac-proxy"),
            "kube-rbac-proxy",
        ),
        "nginx/nginx-ingress": "nginx-ingress",
        "ghcr.io/nginx/nginx-gateway-fabric/nginx": NGINX_GATEWAY,
        "emissaryingress/emissary": "emissary",
        "quay.io/jcmoraisjr/haproxy-ingress": "haproxy-ingress-controller",
        "ghcr.io/kedacore/http-add-on-interceptor": "keda-http-interceptor",
        "ghcr.io/huggingface/text-generation-inference": "text-generation-launcher",
        "tensorflow/serving": "tensorflow_model_server",
        "gcr.io/cloud-sql-connectors/cloud-sql-proxy": "cloud-sql-proxy",
        "gcr.io/cloudsql-docker/gce-proxy": "cloud_sql_proxy",
        "edoburu/pgbouncer": "pgbouncer",
        "bitnami/pgbouncer": "pgbouncer",
        "pgbouncer/pgbouncer": "pgbouncer",
        "gcr.io/alloydb-connectors/alloydb-auth-proxy": "alloydb-auth-proxy",
    },
    "the images' Dockerfiles",
)
