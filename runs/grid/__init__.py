"""A campaign as a grid of arms and levels: what is measured, what is missing and why."""

from runs.grid.build import build
from runs.grid.cells import METRICS, Cell, Column, Grid, Launch, Metric, Row
from runs.grid.load import CampaignData, load
from runs.grid.words import headline

__all__ = [
    "METRICS",
    "CampaignData",
    "Cell",
    "Column",
    "Grid",
    "Launch",
    "Metric",
    "Row",
    "build",
    "headline",
    "load",
]
