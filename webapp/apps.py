from django.apps import AppConfig


class WebappConfig(AppConfig):
    name = "webapp"

    def ready(self) -> None:
        from webapp import checks  # noqa: F401  (registers them)
