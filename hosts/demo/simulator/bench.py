"""A stand-in for `sglang.bench_serving`: a small load client that prints and writes in its form.

    main(["--base-url", "http://127.0.0.1:30000", "--model", "demo", "--num-prompts", "8"])

It measures what it says it measures; what it does not do is tokenize, so lengths are words.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
import urllib.request
from typing import Any, Sequence

from . import benchreport
from .benchclient import Answer, Client
from .benchprompts import Prompt, make

ROUTES = {"sglang-oai-chat": "/v1/chat/completions", "sglang-oai": "/v1/completions"}
NOTICE = (
    "Simulated sglang.bench_serving of Throughline: a small client that prints as SGLang's does."
)


def main(argv: Sequence[str]) -> int:
    """Run one benchmark; exit 1 for a fault on demand, 2 for flags that argparse refuses."""
    asked = parser().parse_args(argv)
    print(NOTICE)
    print(f"benchmark_args={asked}", flush=True)
    prompts = make(asked)
    body = json.loads(asked.extra_request_body or "{}")
    if asked.backend == "sglang-oai" or asked.temperature:
        body = {"temperature": asked.temperature, **body}
    body = {"ignore_eos": not asked.disable_ignore_eos, **body}
    client = Client(asked.base_url, ROUTES[asked.backend], asked.model, body)
    for prompt in prompts[: asked.warmup_requests]:
        answer = client.ask(Prompt(prompt.content, prompt.input_len, min(prompt.output_len, 32)))
        if answer.error:
            print(f"ValueError: Warmup failed - Error: {answer.error}", file=sys.stderr)
            return 1
    print("Starting benchmark run...", flush=True)
    run = Run(client, prompts, asked)
    begun = time.perf_counter()
    answers = run.answers()
    if run.broken:
        sys.stderr.write("\nRuntimeError: simulated fault: the client gives up\n")
        return 1
    info = _server_info(asked.base_url)
    measured = benchreport.measure(asked, answers, time.perf_counter() - begun, info)
    sys.stdout.write("\n" + benchreport.block(asked, measured))
    with open(asked.output_file, "a") as file:
        file.write(json.dumps(measured) + "\n")
    return 0


class Run:
    """A closed loop: so many threads, each with its next request as soon as the last has ended."""

    def __init__(
        self, client: Client, prompts: Sequence[Prompt], asked: argparse.Namespace
    ) -> None:
        self.client = client
        self.waiting = list(enumerate(prompts))
        self.clients = min(asked.max_concurrency or len(prompts), len(prompts))
        self.bar = benchreport.Bar(len(prompts))
        self.lock = threading.Lock()
        self.found: dict[int, Answer] = {}
        kind, _, count = (asked.sim_fault or "").partition(":")
        self.too_long = int(count) if kind == "fail" else 0
        self.last = int(count) if kind == "exit" else None

    @property
    def broken(self) -> bool:
        return self.last is not None and len(self.found) >= self.last

    def answers(self) -> list[Answer]:
        threads = [threading.Thread(target=self._work) for _ in range(self.clients)]
        self.bar.draw(0)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return [self.found[n] for n in sorted(self.found)]

    def _work(self) -> None:
        while not self.broken:
            with self.lock:
                if not self.waiting:
                    return
                number, prompt = self.waiting.pop(0)
            if number < self.too_long:
                # More than any model takes: the server refuses, and the client ends with 0.
                prompt = Prompt(prompt.content, prompt.input_len, 10_000_000)
            answer = self.client.ask(prompt)
            with self.lock:
                self.found[number] = answer
                self.bar.draw(len(self.found))


def _server_info(base_url: str) -> dict[str, Any]:
    with urllib.request.urlopen(base_url + "/server_info", timeout=30) as response:
        found: dict[str, Any] = json.loads(response.read())
    return found


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="bench_serving.py", description=NOTICE)
    made.add_argument("--backend", choices=sorted(ROUTES), default="sglang-oai-chat")
    made.add_argument("--base-url", required=True)
    made.add_argument("--model", required=True)
    made.add_argument("--tokenizer")
    made.add_argument(
        "--dataset-name",
        default="sharegpt",
        choices=["sharegpt", "random", "random-ids", "custom", "openai"],
    )
    made.add_argument("--dataset-path", default="")
    made.add_argument("--num-prompts", type=int, default=1000)
    made.add_argument("--sharegpt-output-len", type=int)
    made.add_argument("--random-input-len", type=int, default=1024)
    made.add_argument("--random-output-len", type=int, default=1024)
    made.add_argument("--random-range-ratio", type=float, default=0.0)
    made.add_argument("--request-rate", type=float, default=float("inf"))
    made.add_argument("--max-concurrency", type=int)
    made.add_argument("--output-file", default="bench.jsonl")
    made.add_argument("--warmup-requests", type=int, default=1)
    made.add_argument("--flush-cache", action="store_true")
    made.add_argument("--disable-ignore-eos", action="store_true")
    made.add_argument("--temperature", type=float, default=0.0)
    made.add_argument("--extra-request-body")
    made.add_argument("--seed", type=int, default=42)
    made.add_argument("--tag")
    made.add_argument("--sim-fault", help="exit:N dies after N requests, fail:N makes N fail")
    return made
