"""Doors of the house that are too long for the Makefile."""
