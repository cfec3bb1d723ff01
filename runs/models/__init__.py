"""Everything that is known about measuring."""

from runs.models.attempt import Attempt, Operation
from runs.models.campaign import Arm, Campaign
from runs.models.caveat import Caveat, CaveatTest, Dismissal, Severity
from runs.models.config import ServerConfig, Workload
from runs.models.gpu import GpuSample
from runs.models.imports import Import
from runs.models.leader import Leader, Sign
from runs.models.log import LogChunk, LogStream
from runs.models.note import Note, NoteEdit
from runs.models.noterule import NoteRule, RuleException
from runs.models.outline import Outline
from runs.models.run import Run
from runs.models.sample import Event, Level, Sample
from runs.models.share import Comparison, ShareLink
from runs.models.states import Reason, State
from runs.models.window import WindowMove

__all__ = [
    "Arm",
    "Attempt",
    "Campaign",
    "Caveat",
    "CaveatTest",
    "Comparison",
    "Dismissal",
    "Event",
    "GpuSample",
    "Import",
    "Leader",
    "Level",
    "LogChunk",
    "LogStream",
    "Note",
    "NoteEdit",
    "NoteRule",
    "Operation",
    "Outline",
    "Reason",
    "RuleException",
    "Run",
    "Sample",
    "ServerConfig",
    "Severity",
    "ShareLink",
    "Sign",
    "State",
    "WindowMove",
    "Workload",
]
