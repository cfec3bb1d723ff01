"""The prompts of the stand-in client, by its data set. Lengths are counted in words."""

from __future__ import annotations

import argparse
import json
import random
from dataclasses import dataclass
from typing import Any

WORDS = (
    "the house stands by a river that runs south past old mills and new bridges while people "
    "walk dogs children count boats and somebody writes all of it down before the light goes"
).split()
SHAREGPT_OUTPUT = 128


@dataclass(frozen=True)
class Prompt:
    content: str | list[Any]  # a text, or the messages of a conversation
    input_len: int
    output_len: int


def make(asked: argparse.Namespace) -> list[Prompt]:
    """As many as asked, or as many as the file has. Raises OSError for a file that is not there."""
    rng = random.Random(asked.seed)
    count = asked.num_prompts
    if asked.dataset_name in ("custom", "openai"):
        with open(asked.dataset_path, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file if line.strip()]
        if asked.dataset_name == "custom":
            rng.shuffle(lines)
        return [_of_file(line, asked) for line in lines[:count]]
    return [_random(rng, asked) for _ in range(count)]


def _of_file(line: Any, asked: argparse.Namespace) -> Prompt:
    output_len = asked.sharegpt_output_len or line.get("max_tokens") or SHAREGPT_OUTPUT
    if "messages" in line:
        words = sum(len(str(each["content"]).split()) for each in line["messages"])
        return Prompt(line["messages"], words, output_len)
    text = str(line["conversations"][0]["content"])
    return Prompt(text, len(text.split()), output_len)


def _random(rng: random.Random, asked: argparse.Namespace) -> Prompt:
    input_len = _length(rng, asked.random_input_len, asked.random_range_ratio)
    output_len = _length(rng, asked.random_output_len, asked.random_range_ratio)
    if asked.dataset_name == "sharegpt":
        input_len = rng.randint(20, 200)
        output_len = asked.sharegpt_output_len or SHAREGPT_OUTPUT
    return Prompt(" ".join(rng.choices(WORDS, k=input_len)), input_len, output_len)


def _length(rng: random.Random, most: int, ratio: float) -> int:
    return rng.randint(max(1, int(most * ratio)), most)
