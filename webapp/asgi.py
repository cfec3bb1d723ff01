"""The ASGI application: pages, API and server-sent events."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
application = get_asgi_application()

from webapp.warm import load_pages  # noqa: E402  (needs the settings)

load_pages()
