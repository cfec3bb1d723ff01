"""Throughline's settings: read once, typed, from the environment.

``DATABASE_URL`` and ``REDIS_URL`` choose PostgreSQL and an outside Redis; without them everything
is embedded under ``var/``. docs/operations.md lists every variable.
"""

from __future__ import annotations

import os
from pathlib import Path

import dj_database_url
from csp.constants import NONE, SELF

from webapp import env
from webapp.durations import Durations
from webapp.embedded.redis import embedded_url

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = Path(env.text("THROUGHLINE_VAR", str(BASE_DIR / "var"))).resolve()

DEBUG = env.flag("THROUGHLINE_DEBUG", False)
SECRET_KEY = env.secret("SECRET_KEY", VAR_DIR / "secret_key")
ALLOWED_HOSTS = env.words("ALLOWED_HOSTS", ["127.0.0.1", "localhost", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.words("CSRF_TRUSTED_ORIGINS", [])

# Whether a host may be this machine itself. The demo and the tests need it; a team's site does not.
LOOPBACK_HOSTS = env.flag("THROUGHLINE_LOOPBACK_HOSTS", False)

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "csp",
    "django_htmx",
    "webapp",
    "people",
    "hosts",
    "runs",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "webapp.middleware.no_nul",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "webapp.urls"
ASGI_APPLICATION = "webapp.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "runs.views.signs.troubles",
            ],
            "builtins": ["runs.templatetags.measures"],
        },
    },
]

# SQLite with immediate transactions: a writer waits for its turn instead of failing half-way.
SQLITE_OPTIONS = {
    "transaction_mode": "IMMEDIATE",
    "timeout": 30,
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;",
}


# PostgreSQL: who waits for a lock, or holds one and idles, gives up, and the work is done again.
# No transaction of ours waits for anything but the database; the longest reads a large import.
POSTGRES_LIMITS = {"lock_timeout": "5s", "idle_in_transaction_session_timeout": "60s"}


def _database() -> dict[str, object]:
    url = os.environ.get("DATABASE_URL")
    if url and not url.startswith("sqlite"):
        told = dj_database_url.parse(url, conn_max_age=60, conn_health_checks=True)
        options: dict[str, object] = {**told.get("OPTIONS", {})}
        limits = " ".join(f"-c {name}={value}" for name, value in POSTGRES_LIMITS.items())
        # what DATABASE_URL says of the same settings comes later and holds
        options["options"] = f"{limits} {options.get('options', '')}".strip()
        return {**told, "OPTIONS": options}
    name = dj_database_url.parse(url)["NAME"] if url else str(VAR_DIR / "throughline.sqlite3")
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": name,
        "OPTIONS": SQLITE_OPTIONS,
        "TEST": {"NAME": env.text("THROUGHLINE_TEST_DB", "") or None},
    }


DATABASES = {"default": _database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Redis carries bells and the live feed only; nothing is lost with it. See webapp/embedded/redis.py.
REDIS_URL = env.text("REDIS_URL", embedded_url(VAR_DIR / "redis"))

AUTH_USER_MODEL = "people.Person"
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "overview"
AUTHENTICATION_BACKENDS = ["people.backends.SignInLinkBackend"]
SESSION_COOKIE_AGE = 7 * 86400
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
# TLS ends at a proxy; the demo speaks plain HTTP on loopback only.
SECURE_COOKIES = env.flag("THROUGHLINE_HTTPS", False)
SESSION_COOKIE_SECURE = SECURE_COOKIES
CSRF_COOKIE_SECURE = SECURE_COOKIES
if SECURE_COOKIES:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_SSL_REDIRECT = True
    SECURE_HSTS_SECONDS = 30 * 86400
    SECURE_HSTS_INCLUDE_SUBDOMAINS = True
    SECURE_HSTS_PRELOAD = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        # Plotly and uPlot place their drawings by style attributes; scripts stay strict.
        "style-src": [SELF, "'unsafe-inline'"],
        "img-src": [SELF, "data:", "blob:"],
        "connect-src": [SELF],
        "font-src": [SELF],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "object-src": [NONE],
    }
}

LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False

STATIC_URL = "static/"
STATIC_ROOT = VAR_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = env.flag("THROUGHLINE_AUTOREFRESH", False)

DATA_UPLOAD_MAX_MEMORY_SIZE = 32 * 1024 * 1024
UPLOAD_LIMIT_BYTES = 256 * 1024 * 1024
# longer texts are imported by a worker; so long ones are read and stored within a request
AT_ONCE_BYTES = 2 * 1024 * 1024
# of one person, waiting to be confirmed or to be imported
PENDING_UPLOADS = 20
PENDING_BYTES = 2 * 1024**3

DURATIONS = Durations().scaled(env.number("THROUGHLINE_TIME_SCALE", 1.0))

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "filters": {"tokens": {"()": "webapp.logs.HideTokens"}},
    "handlers": {
        "stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["tokens"]}
    },
    "root": {"handlers": ["stderr"], "level": env.text("THROUGHLINE_LOG_LEVEL", "INFO")},
    # asyncssh tells of every channel at INFO; a connection's story is told by hosts/transport.
    "loggers": {
        "asyncssh": {"level": "WARNING"},
        "httpx": {"level": "WARNING"},
        # uvicorn gives it a handler of its own, which knows nothing of tokens
        "uvicorn.access": {"handlers": ["stderr"], "propagate": False},
    },
}
