"""Metrics, units, windows and the words of a comparison. Pure: no Django."""
