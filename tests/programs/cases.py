"""Ways to start programs, as manifests do, and what each needs to be run here."""

from __future__ import annotations

from typing import Final

from msgspec import Struct


class Case(Struct, frozen=True):
    """A container's command line; ``{port}`` is where it has to listen.

    ``image`` and ``signal`` are what the manifest says beside it, ``env`` its variables. ``needs``
    are programs that must be installed. ``limit`` is a request in seconds that is in flight as well,
    to see a limit. ``config`` is the text of ``{config}``, a file. ``backend``: it is a proxy, and a
    server that answers slowly is behind it, at ``{backend}``. ``fastcgi``: it listens there, and a
    server that speaks HTTP is in front of it. ``prepare`` is a script that is run before.
    """

    name: str
    command: tuple[str, ...]
    needs: tuple[str, ...] = ()
    image: str = "shop/app:1"
    signal: str = ""
    env: tuple[tuple[str, str], ...] = ()
    limit: float = 0
    config: str = ""
    backend: bool = False
    fastcgi: bool = False
    prepare: str = ""


def _case(name: str, command: str, *needs: str, **more: object) -> Case:
    words = tuple(command.split())
    return Case(name, words, needs or (words[0],), **more)  # type: ignore[arg-type]


_WSGI: Final = "wsgi:app"
_ASGI: Final = "asgi:app"
_BIND: Final = "127.0.0.1:{port}"
_NGINX: Final = """\
daemon off; pid {folder}/nginx.pid; error_log /dev/null; {extra}
events {}
http { access_log off; client_body_temp_path {folder}/a; proxy_temp_path {folder}/b;
fastcgi_temp_path {folder}/c; uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
server { listen 127.0.0.1:{port}; location / { proxy_pass http://127.0.0.1:{backend}; } } }
"""
_HAPROXY: Final = """\
global
  {extra}
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
listen app
  bind 127.0.0.1:{port}
  server app 127.0.0.1:{backend}
"""
_HTTPD: Final = """\
ServerRoot /usr/lib/apache2
LoadModule mpm_event_module modules/mod_mpm_event.so
LoadModule authz_core_module modules/mod_authz_core.so
LoadModule proxy_module modules/mod_proxy.so
LoadModule proxy_http_module modules/mod_proxy_http.so
Listen 127.0.0.1:{port}
ServerName app
PidFile {folder}/httpd.pid
ErrorLog /dev/null
Mutex pthread
ProxyPass / http://127.0.0.1:{backend}/
"""
_LIGHTTPD: Final = """\
server.modules = ("mod_proxy")
server.document-root = "{folder}"
server.bind = "127.0.0.1"
server.port = {port}
proxy.server = ("" => (("host" => "127.0.0.1", "port" => {backend})))
"""
_CADDY: Final = """\
{
  admin off
  auto_https off
  {extra}
}
http://:{port} {
  reverse_proxy 127.0.0.1:{backend}
}
"""

_FPM: Final = """\
[global]
error_log = /dev/null
daemonize = no
{extra}
[www]
user = root
group = root
listen = 127.0.0.1:{backend}
pm = static
pm.max_children = 4
"""


def _compile(server: str, package: str, jar: str) -> str:
    """Return a script that compiles the servlet for a server; Jetty 9 is from before Jakarta."""
    return (
        f"cd {{folder}}/{server}/webapps/ROOT/WEB-INF && mkdir classes && "
        f"sed 's/jakarta/{package}/' {{folder}}/App.java > App.java && "
        f"javac -cp {jar} -d classes App.java"
    )


_TOMCAT: Final = """\
<Server port="-1">
  <Service name="Catalina">
    <Connector port="{port}" address="127.0.0.1"/>
    <Engine name="Catalina" defaultHost="localhost">
      <Host name="localhost" appBase="webapps"/>
    </Engine>
  </Service>
</Server>
"""

CASES: Final = (
    _case("gunicorn sync", f"gunicorn -w 2 -b {_BIND} {_WSGI}"),
    _case("gunicorn gthread", f"gunicorn -k gthread --threads 8 -b {_BIND} {_WSGI}"),
    _case(
        "gunicorn with a limit",
        f"gunicorn -k gthread --threads 8 --graceful-timeout 3 -b {_BIND} {_WSGI}",
        limit=8,
    ),
    _case("gunicorn gevent", f"gunicorn -k gevent -b {_BIND} {_WSGI}"),
    _case("gunicorn uvicorn", f"gunicorn -k uvicorn_worker.UvicornWorker -b {_BIND} {_ASGI}"),
    _case("gunicorn behind tini", f"tini -- gunicorn -w 2 -b {_BIND} {_WSGI}", "tini", "gunicorn"),
    _case("uvicorn", f"uvicorn --port {{port}} {_ASGI}"),
    _case(
        "uvicorn with a limit",
        f"uvicorn --port {{port}} --timeout-graceful-shutdown 3 {_ASGI}",
        limit=8,
    ),
    _case("uvicorn with workers", f"uvicorn --workers 2 --port {{port}} {_ASGI}"),
    _case(
        "uvicorn by variable",
        f"uvicorn --port {{port}} {_ASGI}",
        env=(("UVICORN_TIMEOUT_GRACEFUL_SHUTDOWN", "3"),),
        limit=8,
    ),
    _case("hypercorn", f"hypercorn -b {_BIND} {_ASGI}", limit=8),
    _case("hypercorn with workers", f"hypercorn -w 2 -b {_BIND} {_ASGI}"),
    _case("hypercorn with a limit", f"hypercorn --graceful-timeout 12 -b {_BIND} {_ASGI}", limit=8),
    _case("daphne", f"daphne -b 127.0.0.1 -p {{port}} {_ASGI}"),
    _case("granian", f"granian --interface asgi --port {{port}} {_ASGI}"),
    _case("waitress", f"waitress-serve --listen {_BIND} {_WSGI}"),
    _case(
        "waitress behind tini",
        f"tini -- waitress-serve --listen {_BIND} {_WSGI}",
        "tini",
        "waitress-serve",
    ),
    _case("flask run", "flask --app flask_app run --port {port}"),
    _case("python without a handler", "python3 plain.py"),
    _case("python behind tini", "tini python3 plain.py", "tini"),
    _case("python behind dumb-init", "dumb-init python3 plain.py", "dumb-init"),
    Case("a shell that keeps the signal", ("sh", "-c", "python3 plain.py; true"), ("python3",)),
    Case(
        "a shell with exec",
        ("sh", "-c", f"true && exec uvicorn --port {{port}} {_ASGI}"),
        ("uvicorn",),
    ),
    Case(
        "a shell behind tini",
        ("tini", "--", "sh", "-c", f"uvicorn --port {{port}} {_ASGI}; true"),
        ("tini", "uvicorn"),
    ),
    _case("timeout", f"timeout 100 uvicorn --port {{port}} {_ASGI}", "timeout", "uvicorn"),
    Case(
        "su",
        ("su", "-s", "/bin/bash", "root", "-c", f"exec {{path}}uvicorn --port {{port}} {_ASGI}"),
        ("su", "uvicorn"),
        limit=8,
    ),
    _case(
        "uwsgi",
        "uwsgi --plugin python3 --master --http-socket 127.0.0.1:{port} --enable-threads"
        " --threads 4 --wsgi-file wsgi.py --callable app",
    ),
    _case(
        "uwsgi --die-on-term",
        "uwsgi --plugin python3 --master --die-on-term --http-socket"
        " 127.0.0.1:{port} --threads 4 --wsgi-file wsgi.py --callable app",
    ),
    Case(
        "uwsgi with a hook",
        (
            "uwsgi",
            "--plugin",
            "python3",
            "--master",
            "--hook-master-start",
            "unix_signal:15 gracefully_kill_them_all",
            "--http-socket",
            _BIND,
            "--threads",
            "4",
            "--wsgi-file",
            "wsgi.py",
            "--callable",
            "app",
        ),
        ("uwsgi",),
    ),
    _case("puma", "puma -b tcp://127.0.0.1:{port} config.ru"),
    _case("puma with workers", "puma -w 2 -b tcp://127.0.0.1:{port} config.ru"),
    _case("php -S", f"php -S {_BIND} index.php"),
    _case("node without a handler", "node server.js"),
    _case("node with a handler", "node closing.js"),
    _case("node behind tini", "tini -- node server.js", "tini", "node"),
    _case("npm start", "npm start"),
    _case("deno without a handler", "deno run -A server.ts"),
    _case("deno with a handler", "deno run -A server.ts", env=(("HANDLER", "shutdown"),)),
    _case("deno behind tini", "tini -- deno run -A server.ts", "tini", "deno"),
    _case("bun without a handler", "bun server.js"),
    _case("bun with a handler", "bun closing.js"),
    _case("java without a framework", "java Server.java"),
    _case("java -Xrs", "java -Xrs Server.java"),
    _case("java -Xrs behind tini", "tini -- java -Xrs Server.java", "tini", "java"),
    _case(
        "tomcat",
        "/usr/share/tomcat10/bin/catalina.sh run",
        env=(("CATALINA_HOME", "/usr/share/tomcat10"), ("CATALINA_BASE", "{folder}/tomcat")),
        config=_TOMCAT,
        prepare="mkdir {folder}/tomcat/conf && cp {config} {folder}/tomcat/conf/server.xml && "
        + _compile("tomcat", "jakarta", "/usr/share/tomcat10/lib/servlet-api.jar"),
    ),
    _case(
        "jetty",
        "java -jar /usr/share/jetty9/start.jar jetty.home=/usr/share/jetty9"
        " jetty.base={folder}/jetty jetty.http.port={port} jetty.http.host=127.0.0.1"
        " --module=http,deploy,jsp",
        "java",
        "/usr/share/jetty9/bin/jetty.sh",
        prepare=_compile("jetty", "javax", "$(echo /usr/share/jetty9/lib/*servlet-api*.jar)"),
    ),
    _case(
        "php-fpm",
        "php-fpm8.2 -F -R -y {config}",
        signal="SIGQUIT",
        config=_FPM,
        fastcgi=True,
        limit=8,
    ),
    _case("php-fpm with SIGTERM", "php-fpm8.2 -F -R -y {config}", config=_FPM, fastcgi=True),
    _case(
        "php-fpm with a limit",
        "php-fpm8.2 -F -R -y {config}",
        signal="SIGQUIT",
        config=_FPM.replace("{extra}", "process_control_timeout = 2s"),
        fastcgi=True,
    ),
    _case(
        "erl",
        "erl -noshell -pa {folder} -s server start",
        prepare="cd {folder} && erlc server.erl",
    ),
    _case("Go without a handler", "{go}", "go"),
    _case("Go with Shutdown", "{go}", "go", env=(("HANDLER", "shutdown"),)),
    _case("nginx", "nginx -c {config}", image="nginx:1.25", config=_NGINX, backend=True),
    _case("nginx with SIGTERM", "nginx -c {config}", signal="SIGTERM", config=_NGINX, backend=True),
    _case(
        "httpd", "apache2 -DFOREGROUND -f {config}", signal="SIGWINCH", config=_HTTPD, backend=True
    ),
    _case(
        "httpd with SIGTERM",
        "apache2 -DFOREGROUND -f {config}",
        signal="SIGTERM",
        config=_HTTPD,
        backend=True,
    ),
    _case(
        "haproxy", "haproxy -W -db -f {config}", image="haproxy:2.6", config=_HAPROXY, backend=True
    ),
    _case(
        "haproxy with SIGTERM",
        "haproxy -W -db -f {config}",
        signal="SIGTERM",
        config=_HAPROXY,
        backend=True,
    ),
    _case(
        "haproxy without a master",
        "haproxy -db -f {config}",
        signal="SIGTERM",
        config=_HAPROXY,
        backend=True,
    ),
    _case("lighttpd", "lighttpd -D -f {config}", config=_LIGHTTPD, backend=True),
    _case(
        "lighttpd with SIGINT",
        "lighttpd -D -f {config}",
        signal="SIGINT",
        config=_LIGHTTPD,
        backend=True,
    ),
    _case("caddy", "caddy run --adapter caddyfile --config {config}", config=_CADDY, backend=True),
    _case(
        "varnish",
        "varnishd -F -n {folder}/v -a 127.0.0.1:{port} -b 127.0.0.1:{backend}",
        backend=True,
    ),
)
