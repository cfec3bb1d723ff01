"""Addresses under /api/v1/."""

from ninja import NinjaAPI
from ninja.security import django_auth

api = NinjaAPI(title="Throughline", version="1", auth=django_auth, urls_namespace="api")
