"""The measured shutdown of real programs, and the way a manifest starts each of them.

Measured on Debian 12: the program as process 1, its stop signal from outside, HTTP on the loopback
interface. ``seen`` has four signs: a request of 8 s in flight, one of 40 s in flight, a new one at
1 s, one at 1 s on a connection from before. ``+`` is answered, ``-`` is not (cut, refused, reset, or
answered with an error of the server), ``?`` was not measured or differed from run to run.
What inference servers do was read from their sources, vLLM and Ray were measured.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct


class Row(Struct, frozen=True):
    """One way to start a program: the container's fields as YAML, and what was seen."""

    name: str
    container: str
    seen: str
    spec: str = ""


def _command(text: str) -> str:
    return f"command: {text.split()!r}"


def _rows(*rows: tuple[str, str, str]) -> list[Row]:
    return [
        Row(name, start if ": " in start else _command(start), seen) for name, start, seen in rows
    ]


def _variables(**values: str) -> str:
    return "env: " + repr([{"name": name, "value": value} for name, value in values.items()])


_JAVA: Final = "command: [java, -jar, /srv/shop.jar]\n"
_BOOT_3_3: Final = "image: shop/spring-boot:3.3\n" + _JAVA

PYTHON_AND_RUBY: Final = _rows(
    ("gunicorn sync", "gunicorn wsgi:app", "+---"),
    ("gunicorn gthread", "gunicorn -k gthread --threads 8 wsgi:app", "+-?+"),
    ("gunicorn, limit 3", "gunicorn --graceful-timeout 3 wsgi:app", "--??"),
    ("gunicorn, limit 0", "gunicorn --graceful-timeout 0 wsgi:app", "--??"),
    ("gunicorn gevent", "gunicorn -k gevent wsgi:app", "+-?+"),
    ("gunicorn asgi", "gunicorn -k asgi asgi:app", "+-??"),
    ("gunicorn uvicorn worker", "gunicorn -k uvicorn_worker.UvicornWorker asgi:app", "+--?"),
    (
        "gunicorn uvicorn worker, limit 3",
        "gunicorn -k uvicorn_worker.UvicornWorker --graceful-timeout 3 asgi:app",
        "--??",
    ),
    ("uvicorn", "uvicorn asgi:app", "++--"),
    ("uvicorn, limit 3", "uvicorn asgi:app --timeout-graceful-shutdown 3", "--??"),
    ("uvicorn, limit 0", "uvicorn asgi:app --timeout-graceful-shutdown 0", "--??"),
    (
        "uvicorn, limit 3 by its variable",
        "command: [uvicorn, 'asgi:app']\n" + _variables(UVICORN_TIMEOUT_GRACEFUL_SHUTDOWN="3"),
        "--??",
    ),
    ("uvicorn, two workers", "uvicorn asgi:app --workers 2", "++-?"),
    ("hypercorn", "hypercorn asgi:app", "----"),
    ("hypercorn, limit 15", "hypercorn --graceful-timeout 15 asgi:app", "+---"),
    ("hypercorn, two workers", "hypercorn -w 2 asgi:app", "--??"),
    ("hypercorn, two workers, limit", "hypercorn -w 2 --graceful-timeout 60 asgi:app", "--??"),
    ("hypercorn, two workers, tini", "tini -- hypercorn -w 2 asgi:app", "--??"),
    ("daphne", "daphne asgi:app", "---?"),
    ("daphne, close timeout", "daphne --application-close-timeout 60 asgi:app", "---?"),
    ("granian asgi", "granian --interface asgi asgi:app", "++--"),
    ("granian wsgi", "granian --interface wsgi wsgi:app", "++-?"),
    ("waitress", "waitress-serve wsgi:app", "+++?"),
    ("flask run", "flask run", "+++?"),
    ("http.server", "python -m http.server", "+++?"),
    ("php -S", "php -S 0.0.0.0:8080", "++??"),
    ("uWSGI", "uwsgi --master --http :8080 --module wsgi:app", "--+?"),
    ("uWSGI, die on term", "uwsgi --master --die-on-term --http :8080 --module wsgi:app", "---?"),
    (
        "uWSGI, a hook",
        "command: [uwsgi, --master, --hook-master-start, 'unix_signal:15 gracefully_kill_them_all']",
        "+?-?",
    ),
    ("Puma", "puma config.ru", "++-?"),
    ("Puma, two workers", "puma -w 2 config.ru", "+--?"),
    ("gunicorn, timeout is no limit", "gunicorn --timeout 5 wsgi:app", "+---"),
    ("gunicorn, tini", "tini -- gunicorn wsgi:app", "+---"),
    ("gunicorn, tini -g", "tini -g -- gunicorn wsgi:app", "+---"),
    ("gunicorn, dumb-init", "dumb-init gunicorn wsgi:app", "+---"),
    (
        "gunicorn, SIGINT",
        "command: [gunicorn, -k, gthread, 'wsgi:app']\nlifecycle: {stopSignal: SIGINT}",
        "+???",
    ),
    (
        "gunicorn, SIGQUIT",
        "command: [gunicorn, -k, gthread, 'wsgi:app']\nlifecycle: {stopSignal: SIGQUIT}",
        "+???",
    ),
    (
        "uvicorn, SIGINT",
        "command: [uvicorn, 'asgi:app']\nlifecycle: {stopSignal: SIGINT}",
        "++-?",
    ),
    ("Celery", "celery -A shop worker", "++??"),
    ("Celery, threads", "celery -A shop worker -P threads", "++??"),
    ("Celery, solo", "celery -A shop worker -P solo", "++??"),
    (
        "Celery, TERM as QUIT",
        "command: [celery, -A, shop, worker]\n" + _variables(REMAP_SIGTERM="SIGQUIT"),
        "--??",
    ),
    ("Celery, dumb-init", "dumb-init celery -A shop worker", "--??"),
    ("Celery, tini -g", "tini -g -- celery -A shop worker", "--??"),
    ("Celery, tini", "tini -- celery -A shop worker", "++??"),
    ("Sidekiq", "bundle exec sidekiq", "+-??"),
    ("Sidekiq, limit 5", "bundle exec sidekiq -t 5", "--??"),
)

JVM: Final = _rows(
    ("Spring Boot 3.5", _JAVA + _variables(SPRING_PROFILES_ACTIVE="x"), "+-??"),
    ("Spring Boot 3.3", _BOOT_3_3 + _variables(SPRING_PROFILES_ACTIVE="x"), "--??"),
    ("Spring Boot, immediate", _JAVA + _variables(SERVER_SHUTDOWN="immediate"), "--??"),
    (
        "Spring Boot 3.3, only the phase",
        _BOOT_3_3 + _variables(SPRING_LIFECYCLE_TIMEOUT_PER_SHUTDOWN_PHASE="60s"),
        "--??",
    ),
    ("Spring Boot 3.3, graceful", _BOOT_3_3 + _variables(SERVER_SHUTDOWN="graceful"), "+--?"),
    (
        "Spring Boot 3.3, graceful, 3s",
        _BOOT_3_3
        + _variables(SERVER_SHUTDOWN="graceful", SPRING_LIFECYCLE_TIMEOUT_PER_SHUTDOWN_PHASE="3s"),
        "---?",
    ),
    *(
        (
            f"Spring Boot 3.5, phase {text}",
            _JAVA + _variables(SPRING_LIFECYCLE_TIMEOUT_PER_SHUTDOWN_PHASE=text),
            "--??",
        )
        for text in ("3s", "PT3S", "30", "3.5s")
    ),
    (
        "Spring Boot 3.5, phase as an argument",
        "command: [java, -jar, shop.jar, --spring.lifecycle.timeout-per-shutdown-phase=3s]",
        "--??",
    ),
    ("Quarkus", _JAVA + _variables(QUARKUS_HTTP_PORT="8080"), "---?"),
    ("Quarkus, 3", _JAVA + _variables(QUARKUS_SHUTDOWN_TIMEOUT="3"), "----"),
    ("Quarkus, 15s", _JAVA + _variables(QUARKUS_SHUTDOWN_TIMEOUT="15s"), "+---"),
    ("Quarkus, PT15S", _JAVA + _variables(QUARKUS_SHUTDOWN_TIMEOUT="PT15S"), "+---"),
    (
        "Quarkus, a delay, built in",
        _JAVA + _variables(QUARKUS_SHUTDOWN_DELAY="5s", QUARKUS_SHUTDOWN_TIMEOUT="15s"),
        "+-??",
    ),
    (
        "Quarkus, a delay, not built in",
        _JAVA + _variables(QUARKUS_SHUTDOWN_DELAY="5s", QUARKUS_SHUTDOWN_TIMEOUT="15s"),
        "+---",
    ),
    ("Quarkus, a delay alone", _JAVA + _variables(QUARKUS_SHUTDOWN_DELAY="5s"), "--??"),
    ("Micronaut", _JAVA + _variables(MICRONAUT_SERVER_PORT="8080"), "---?"),
    (
        "Micronaut, only the period",
        _JAVA + _variables(MICRONAUT_LIFECYCLE_GRACEFUL_SHUTDOWN_GRACE_PERIOD="60s"),
        "---?",
    ),
    (
        "Micronaut, enabled",
        _JAVA + _variables(MICRONAUT_LIFECYCLE_GRACEFUL_SHUTDOWN_ENABLED="true"),
        "+--?",
    ),
    (
        "Micronaut, enabled, 3s",
        _JAVA
        + _variables(
            MICRONAUT_LIFECYCLE_GRACEFUL_SHUTDOWN_ENABLED="true",
            MICRONAUT_LIFECYCLE_GRACEFUL_SHUTDOWN_GRACE_PERIOD="3s",
        ),
        "---?",
    ),
    ("JVM alone", "java -jar /srv/shop.jar", "---?"),
)

NODE: Final = _rows(
    ("node, no handler", "node server.js", "+++?"),
    ("node, no handler, tini", "tini -- node server.js", "---?"),
    ("node, process.exit", "node server.js", "--??"),
    ("node, server.close", "node server.js", "++-?"),
    ("npm start, dash", "npm start", "---?"),
    ("npm start, another shell", "npm start", "++-?"),
    ("npm run", "npm run serve", "---?"),
    ("npx", "npx shop", "---?"),
    ("tini, npm start", "tini -- npm start", "--??"),
    ("dumb-init, npm start", "dumb-init npm start", "--??"),
    ("yarn 1", "yarn start", "---?"),
    ("pnpm, a handler", "pnpm start", "++-?"),
    ("pnpm, no handler", "pnpm start", "--??"),
    ("pm2, SIGINT handler", "pm2-runtime server.js", "--??"),
    ("pm2, only a SIGTERM handler", "pm2-runtime server.js", "--??"),
    ("pm2, 3000", "command: [pm2-runtime, a.js]\n" + _variables(PM2_KILL_TIMEOUT="3000"), "--??"),
    ("pm2, 10000", "command: [pm2-runtime, a.js]\n" + _variables(PM2_KILL_TIMEOUT="10000"), "+-??"),
    ("pm2, 10s", "command: [pm2-runtime, a.js]\n" + _variables(PM2_KILL_TIMEOUT="10s"), "--??"),
    ("pm2, a flag", "pm2-runtime --kill-timeout 10000 server.js", "--??"),
    ("pm2, ecosystem file", "pm2-runtime ecosystem.config.js", "+???"),
)

_HOLDS: Final = "volumeMounts: [{name: config, mountPath: %s}]\n"
SERVERS: Final = [
    *_rows(
        ("nginx, QUIT", "image: nginx:1.25", "++-?"),
        ("nginx, TERM", "image: nginx:1.25\nlifecycle: {stopSignal: SIGTERM}", "---?"),
        (
            "nginx, QUIT, then TERM",
            "image: nginx:1.25\nlifecycle: {preStop: {exec: {command: "
            + repr(["sh", "-c", "nginx -s quit; sleep 2; nginx -s stop"])
            + "}}}",
            "---?",
        ),
        ("httpd, WINCH", "image: httpd:2.4", "++-?"),
        ("httpd, TERM", "image: httpd:2.4\nlifecycle: {stopSignal: SIGTERM}", "---?"),
        ("haproxy image, USR1", "image: haproxy:2.8", "++-?"),
        ("haproxy -W, TERM", "haproxy -W -db -f h.cfg", "---?"),
        ("haproxy -db, TERM", "haproxy -db -f h.cfg", "+++?"),
        ("haproxy -db, TERM, tini", "tini -- haproxy -db -f h.cfg", "---?"),
        ("envoy", "envoy -c envoy.yaml", "---?"),
        ("caddy", "caddy run", "++-?"),
        ("lighttpd, TERM", "lighttpd -D -f l.conf", "---?"),
        (
            "lighttpd, INT",
            "command: [lighttpd, -D]\nlifecycle: {stopSignal: SIGINT}",
            "++-?",
        ),
        ("varnishd", "varnishd -F -f v.vcl", "---?"),
        ("PostgreSQL image, INT", "image: postgres:15", "---?"),
        ("PostgreSQL, TERM", "image: postgres:15\nlifecycle: {stopSignal: SIGTERM}", "+?-?"),
        ("supervisord", "supervisord -n -c s.conf", "+--?"),
    ),
    Row(
        "nginx, its limit",
        "image: nginx:1.25\n" + _HOLDS % "/etc/nginx",
        "---?",
        "volumes: [{name: config, configMap: {name: nginx}}]",
    ),
    Row(
        "haproxy, its limit",
        "image: haproxy:2.8\n" + _HOLDS % "/usr/local/etc/haproxy",
        "---?",
        "volumes: [{name: config, configMap: {name: haproxy}}]",
    ),
    Row(
        "caddy, its limit",
        "command: [caddy, run]\n" + _HOLDS % "/etc/caddy",
        "---?",
        "volumes: [{name: config, configMap: {name: caddy}}]",
    ),
]
#: The configuration that those servers mount.
CONFIG_MAPS: Final = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: nginx, namespace: default}
data: {nginx.conf: "worker_shutdown_timeout 3s;"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: haproxy, namespace: default}
data: {haproxy.cfg: "global\\n  hard-stop-after 3s\\n"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: caddy, namespace: default}
data: {Caddyfile: "{\\n  grace_period 3s\\n}\\n"}
"""

_SHELL: Final = "command: [%s, -c, '%s']"
FIRST_PROCESSES: Final = _rows(
    ("a C program, no handler", "/srv/shop", "+++?"),
    ("python, no handler", "python app.py", "+++?"),
    ("perl, no handler", "perl app.pl", "+++?"),
    ("php, no handler", "php app.php", "+++?"),
    ("sleep", "sleep infinity", "++??"),
    ("tail", "tail -f /dev/null", "++??"),
    ("dash, no trap", "command: [dash, -c, 'sleep 100; true']", "++??"),
    ("python, no handler, tini", "tini -- python app.py", "---?"),
    ("Go, no handler", "/srv/shop", "--??"),
    ("Go, Shutdown", "/srv/shop", "++-?"),
    ("Ruby, no handler", "ruby app.rb", "--??"),
    (
        "tini, dash, two commands",
        "command: [tini, --, dash, -c, 'migrate; gunicorn wsgi:app; true']",
        "--??",
    ),
    (
        "tini -g, dash, two commands",
        "command: [tini, -g, --, dash, -c, 'migrate; gunicorn wsgi:app; true']",
        "--??",
    ),
    (
        "dumb-init, dash, two commands",
        "command: [dumb-init, dash, -c, 'migrate; gunicorn wsgi:app; true']",
        "--??",
    ),
    ("dumb-init, a pipe", "command: [dumb-init, sh, -c, 'gunicorn wsgi:app | cat']", "--??"),
    (
        "dumb-init --single-child, a pipe",
        "command: [dumb-init, --single-child, sh, -c, 'gunicorn wsgi:app | cat']",
        "--??",
    ),
    ("tini, exec", "command: [tini, --, sh, -c, 'exec gunicorn wsgi:app']", "+--?"),
    ("su", "command: [su, -c, 'gunicorn wsgi:app', app]", "--??"),
    ("runuser", "runuser -u app -- gunicorn wsgi:app", "--??"),
    ("timeout", "timeout 100 gunicorn wsgi:app", "+--?"),
    ("env", "env A=1 gunicorn wsgi:app", "+--?"),
    ("nice", "nice gunicorn wsgi:app", "+--?"),
    ("bash -c", "command: [bash, -c, 'gunicorn wsgi:app']", "+--?"),
    ("bash -lc", "command: [bash, -lc, 'gunicorn wsgi:app']", "+--?"),
    ("bash -ec", "command: [bash, -ec, 'gunicorn wsgi:app']", "+--?"),
    ("exec su, dash", "command: [dash, -c, 'exec su -s /bin/sh root -c \"gunicorn a:b\"']", "????"),
    ("a script file", "sh start.sh", "++??"),
    ("a script file with exec", "sh start.sh", "++-?"),
)

_VLLM: Final = "image: vllm/vllm-openai:v0.32.0\nargs: [--model, m%s]"
INFERENCE: Final = _rows(
    ("vLLM 0.17", "image: vllm/vllm-openai:v0.17.0\nargs: [--model, m]", "--??"),
    ("vLLM", _VLLM % "", "----"),
    ("vLLM, 3", _VLLM % ", --shutdown-timeout, '3'", "----"),
    ("vLLM, 30", _VLLM % ", --shutdown-timeout=30", "+---"),
    ("SGLang", "python3 -m sglang.launch_server --model-path m", "++??"),
    ("TGI", "text-generation-launcher", "++??"),
    ("TGI, 5", "text-generation-launcher -g 5", "--??"),
    ("Triton", "tritonserver --model-repository=/m", "+-??"),
    ("Triton, 5", "tritonserver --exit-timeout-secs=5", "--??"),
    ("TensorFlow Serving", "image: tensorflow/serving:2.16.1", "+++?"),
    ("Ollama", "image: ollama/ollama:0.33.0", "---?"),
    ("llama.cpp", "llama-server -m m.gguf", "--??"),
    ("Ray 2.60", "image: rayproject/ray:2.60.0-py311", "+-+?"),
    (
        "Ray 2.60, 5",
        "image: rayproject/ray:2.60.0\n" + _variables(RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S="5"),
        "--+?",
    ),
    ("Ray 2.40", "image: rayproject/ray:2.40.0", "--??"),
    ("LiteLLM", "litellm --port 4000", "+-??"),
    ("Dynamo's frontend", "python3 -m dynamo.frontend", "---?"),
)

KEPT: Final = _rows(
    ("kept: uvicorn", "uvicorn asgi:app", "???-"),
    ("kept: hypercorn", "hypercorn asgi:app", "???-"),
    ("kept: granian", "granian asgi:app", "???-"),
    ("kept: caddy", "caddy run", "???-"),
    ("kept: gunicorn sync", "gunicorn wsgi:app", "???+"),
    ("kept: gunicorn gthread", "gunicorn -k gthread wsgi:app", "???+"),
    ("kept: nginx, QUIT", "image: nginx:1.25", "???+"),
    ("kept: haproxy, USR1", "image: haproxy:2.8", "???+"),
    ("kept: lighttpd, INT", "command: [lighttpd, -D]\nlifecycle: {stopSignal: SIGINT}", "???+"),
    ("kept: httpd event", "image: httpd:2.4", "???-"),
    ("kept: node", "node server.js", "???+"),
    ("kept: Spring Boot", _JAVA + _variables(SERVER_SHUTDOWN="graceful"), "???-"),
    ("kept: Quarkus", _JAVA + _variables(QUARKUS_SHUTDOWN_TIMEOUT="15s"), "???-"),
    (
        "kept: Micronaut",
        _JAVA + _variables(MICRONAUT_LIFECYCLE_GRACEFUL_SHUTDOWN_ENABLED="true"),
        "???-",
    ),
)

ROWS: Final = [
    *PYTHON_AND_RUBY,
    *JVM,
    *NODE,
    *SERVERS,
    *FIRST_PROCESSES,
    *INFERENCE,
    *KEPT,
]
