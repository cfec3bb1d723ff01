"""What `bench` is to run, read from its specification file and checked."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Dict, List, Optional

from . import request as req
from .cachepolicy import CachePolicy, parse_policy
from .errors import BadRequest
from .loadspec import read_object


@dataclass(frozen=True)
class Level:
    """One concurrency: the tool's command in parts, and the file into which it writes."""

    concurrency: int
    requests: int
    seed: Optional[int]  # told beside the level; it stands in the command already
    argv: List[str]
    result: Optional[str]  # absolute; None: the tool writes no file


@dataclass(frozen=True)
class Spec:
    folder: str  # the job's, in which the tool works
    levels: List[Level]
    env: Dict[str, str]  # on top of the job's own
    cache: CachePolicy
    level_timeout_s: Optional[float]
    stop_grace_s: float


def load_spec(path: str) -> Spec:
    """Raises BadRequest with what is wrong with the file."""
    return parse_spec(read_object(path), os.path.dirname(os.path.abspath(path)))


def parse_spec(value: req.Json, folder: str) -> Spec:
    given = value.get("levels")
    if not isinstance(given, list) or not given or not all(isinstance(o, dict) for o in given):
        raise BadRequest("'levels' must be a list of objects")
    return Spec(
        folder=folder,
        levels=[_level(one, folder) for one in given],
        env=req.texts(value, "env"),
        cache=parse_policy(value),
        level_timeout_s=req.seconds_or_none(value, "level_timeout_s"),
        stop_grace_s=req.seconds(value, "stop_grace_s"),
    )


def _level(value: req.Json, folder: str) -> Level:
    result = None if value.get("result") is None else req.text(value, "result")
    return Level(
        concurrency=req.whole(value, "concurrency", least=1),
        requests=req.whole(value, "requests", least=1),
        seed=None if value.get("seed") is None else req.whole(value, "seed", least=0),
        argv=req.parts(value, "argv"),
        result=None if result is None else os.path.join(folder, result),
    )
