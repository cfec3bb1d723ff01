"""Addresses under /api/v1/."""

from ninja import NinjaAPI
from ninja.security import django_auth

from runs.api import comparisons, runs

api = NinjaAPI(
    title="Throughline",
    version="1",
    description="Runs, their points and comparisons, as the pages show them. "
    "Signed in by the session of the pages.",
    auth=django_auth,
    urls_namespace="api",
)
api.add_router("/runs", runs.router)
api.add_router("/compare", comparisons.router)
