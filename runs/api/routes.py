"""Addresses under /api/v1/."""

from ninja import NinjaAPI
from ninja.security import django_auth

from runs.api import caveats, comparisons, runs

api = NinjaAPI(
    title="Throughline",
    version="1",
    description="Runs, their points and comparisons, as the pages show them. "
    "Signed in by the session of the pages.",
    auth=django_auth,
    # the library's page loads its scripts from elsewhere; /api/v1/openapi.json tells the same
    docs_url=None,
    urls_namespace="api",
)
api.add_router("/runs", runs.router)
api.add_router("/caveats", caveats.router)
api.add_router("/compare", comparisons.router)
