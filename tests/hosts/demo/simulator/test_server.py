"""The routes of a running server, on real sockets."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
from typing import Any

from .conftest import Launch, Server

CHAT = "/v1/chat/completions"
SPECULATING = (
    "--speculative-algorithm",
    "NEXTN",
    "--speculative-num-steps",
    "2",
    "--speculative-eagle-topk",
    "1",
)


def chat(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "demo/model", "messages": [{"role": "user", "content": text}], **more}


def content(frames: list[Any]) -> str:
    choices = [frame["choices"][0] for frame in frames if frame != "[DONE]" and frame["choices"]]
    return "".join(choice["delta"].get("content") or "" for choice in choices)


def test_it_tells_what_it_is(launch: Launch) -> None:
    server = launch(*SPECULATING, "--served-model-name", "demo", "--api-key", "sk-demo")
    key = {"authorization": "Bearer sk-demo"}
    assert server.ask("GET", "/health") == (200, b"")
    assert server.ask("GET", "/v1/models")[0] == 401

    def tell(path: str) -> Any:
        status, body = server.ask("GET", path, headers=key)
        assert status == 200
        return json.loads(body)

    assert tell("/v1/models")["data"][0]["id"] == "demo"
    assert tell("/v1/models")["data"][0]["max_model_len"] == 32768
    assert tell("/model_info") == tell("/get_model_info")
    assert tell("/model_info")["model_path"] == "demo/model"
    info = tell("/server_info")
    assert info["version"] == "0.5.20"
    assert info["simulated"] is True
    assert info["speculative_num_draft_tokens"] == 3
    assert info["max_running_requests"] == 48
    assert info["internal_states"][0]["effective_max_running_requests_per_dp"] == 21
    assert info["max_total_num_tokens"] > 50_000
    assert "avg_spec_accept_length" not in info["internal_states"][0]
    assert "Endpoint '/get_model_info' is deprecated" in server.log


def test_a_fresh_server_has_written_what_the_real_one_writes(launch: Launch) -> None:
    log = launch(*SPECULATING).log
    stamped = r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] "
    order = [
        "Throughline simulated engine: speeds follow a model, not a GPU.",
        "Max running requests is reset to 48 for speculative decoding.",
        "server_args={'model_path': 'demo/model', ",
        "Load weight begin. avail mem=78.56 GB",
        "Load weight end. elapsed=",
        "max_running_requests is capped to 21 by the request state pool",
        "KV Cache is allocated. dtype: torch.bfloat16, #tokens: ",
        "Memory pool end. avail mem=",
        "Capture target prefill CUDA graph begin. backend=breakable, num_tokens=[4, 8, ",
        "Capture target verify CUDA graph begin. backend=full, num_tokens_per_req=3, bs=[1, 2, ",
        "Capture draft extend CUDA graph end. elapsed=",
        "max_total_num_tokens=",
        "Engine startup timings (s): load_weight=",
        "INFO:     Uvicorn running on http://127.0.0.1:",
        "The server is fired up and ready to roll!",
    ]
    at = 0
    for words in order:
        found = re.compile(stamped + re.escape(words), re.MULTILINE).search(log, at)
        assert found, words
        at = found.start()
    assert log.startswith("[")
    assert log.count("Load weight begin") == 2
    assert "decode=0.00" in log


def test_it_works_out_the_question_of_the_smoke_test(launch: Launch) -> None:
    server = launch()
    body = chat("What is 15 * 23?", max_tokens=32, temperature=0)
    answer = server.json("POST", CHAT, body)
    assert "345" in answer["choices"][0]["message"]["content"]
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert server.json("POST", CHAT, body)["choices"] == answer["choices"]
    other = server.json("POST", "/v1/completions", {"prompt": "What is 21 * 19?", "max_tokens": 9})
    assert "399" in other["choices"][0]["text"]


def test_a_stream_has_role_content_finish_and_usage_frames(launch: Launch) -> None:
    server = launch(*SPECULATING, "--decode-log-interval", "5")
    options = {"stream_options": {"include_usage": True}, "max_tokens": 60, "ignore_eos": True}
    frames = server.frames(CHAT, chat("Tell me about bread", **options))
    assert frames[0]["choices"][0]["delta"]["role"] == "assistant"
    assert frames[0]["choices"][0]["delta"]["content"] == ""
    assert frames[-3]["choices"][0]["finish_reason"] == "length"
    assert frames[-2]["choices"] == []
    assert frames[-2]["usage"]["completion_tokens"] == 60
    assert frames[-1] == "[DONE]"
    chunks = len(frames) - 4
    assert chunks < 40, "speculation puts several tokens into one chunk"
    assert len(content(frames)) > 100
    state = server.json("GET", "/server_info")["internal_states"][0]
    assert 1.0 < state["avg_spec_accept_length"] <= 3.0


def test_without_include_usage_there_is_no_usage_frame(launch: Launch) -> None:
    server = launch()
    frames = server.frames(CHAT, chat("Hello", max_tokens=5, ignore_eos=True))
    assert frames[-2]["choices"][0]["finish_reason"] == "length"
    assert len(frames) == 1 + 5 + 1 + 1, "one token a chunk without speculation"
    completion = server.frames("/v1/completions", {"prompt": "Once", "max_tokens": 4})
    assert completion[-2]["choices"][0]["finish_reason"] == "length"
    assert completion[0]["usage"] is None


def test_answers_end_by_themselves_unless_told_to_go_on(launch: Launch) -> None:
    server = launch(*SPECULATING)
    question = "What is 6 * 7?"
    ended = server.json("POST", CHAT, chat(question, max_tokens=40, temperature=0))
    forced = chat(question, max_tokens=40, temperature=0, ignore_eos=True)
    assert ended["usage"]["completion_tokens"] < 40
    assert server.json("POST", CHAT, forced)["usage"]["completion_tokens"] == 40


def test_an_unknown_model_is_answered_and_echoed(launch: Launch) -> None:
    server = launch()
    answer = server.json("POST", CHAT, {**chat("Hi", max_tokens=2), "model": "nope"})
    assert answer["model"] == "nope"


def test_errors_have_the_bodies_of_the_real_one(launch: Launch) -> None:
    server = launch("--context-length", "2048")

    def refused(body: Any) -> Any:
        status, text = server.ask("POST", CHAT, body)
        assert status == 400
        error = json.loads(text)
        assert error["object"] == "error"
        assert error["code"] == 400
        return error

    assert "'json_invalid'" in refused(b"{broken")["message"]
    assert "Field required" in refused({"model": "m"})["message"]
    assert refused(chat("Hi", max_tokens=999999))["message"] == (
        "max_completion_tokens is too large: 999999."
        "This model supports at most 2048 completion tokens."
    )
    assert refused(chat("word " * 3000))["message"] == (
        "The input (3016 tokens) is longer than the model's context length (2048 tokens)."
    )
    assert refused(chat("word " * 1500, max_tokens=1000))["type"] == "BadRequestError"
    assert server.ask("GET", "/version") == (404, b'{"detail":"Not Found"}')
    assert server.ask("GET", CHAT)[0] == 405


def test_a_prefix_seen_before_is_reported_as_cached_until_a_flush(launch: Launch) -> None:
    server = launch()
    body = chat("bread and water " * 50, max_tokens=2)

    def cached() -> Any:
        return server.json("POST", CHAT, body)["usage"]["prompt_tokens_details"]

    assert cached() is None
    assert cached() == {"cached_tokens": 128}
    assert server.ask("POST", "/flush_cache")[0] == 200
    assert cached() is None
    assert "Cache flushed successfully!" in server.log


def test_one_connection_carries_many_requests(launch: Launch) -> None:
    server = launch()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    for _ in range(3):
        connection.request("GET", "/v1/models")
        answer = connection.getresponse()
        assert answer.status == 200
        answer.read()
    connection.close()
    ports = re.findall(r'127\.0\.0\.1:(\d+) - "GET /v1/models', server.log)
    assert len(ports) == 3
    assert len(set(ports)) == 1


def test_it_survives_bytes_that_are_not_http(launch: Launch) -> None:
    server = launch()
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as raw:
        raw.sendall(b"nonsense\r\n\r\n")
        assert raw.recv(4096).startswith(b"HTTP/1.1 400 ")
    assert server.ask("GET", "/health")[0] == 200


def test_a_client_that_hangs_up_frees_its_place(launch: Launch) -> None:
    server = launch("--enable-metrics")
    body = json.dumps(chat("Long", max_tokens=20_000, ignore_eos=True, stream=True)).encode()
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as raw:
        head = f"POST {CHAT} HTTP/1.1\r\ncontent-length: {len(body)}\r\n\r\n"
        raw.sendall(head.encode() + body)
        assert b"data: " in raw.recv(65536) + raw.recv(65536)
        assert server.ask("POST", "/flush_cache")[0] == 400
    server.wait_for(
        lambda: b'model_name="demo/model"} 0.0' in _running(server), "the request to be dropped"
    )


def _running(server: Server) -> bytes:
    metrics = server.ask("GET", "/metrics")[1].splitlines()
    return next(line for line in metrics if line.startswith(b"sglang:num_running_reqs{"))


def test_a_full_pool_retracts_and_finishes_all_the_same(launch: Launch) -> None:
    server = launch("--max-total-tokens", "700", "--schedule-conservativeness", "0.01")
    bodies = [chat(f"{n} tell me", max_tokens=150, ignore_eos=True, stream=True) for n in range(5)]
    sockets = []
    for body in bodies:
        data = json.dumps(body).encode()
        raw = socket.create_connection(("127.0.0.1", server.port), timeout=15)
        head = f"POST {CHAT} HTTP/1.1\r\nconnection: close\r\ncontent-length: {len(data)}\r\n\r\n"
        raw.sendall(head.encode() + data)
        sockets.append(raw)
    for raw in sockets:
        text = b""
        while part := raw.recv(65536):
            text += part
        raw.close()
        assert text.count(b'"content":') == 1 + 150
        assert b'"finish_reason":"length"' in text
    assert re.search(
        r"KV cache pool is full\. Retract requests\. #retracted_reqs: \d+, "
        r"#new_tokens_gained: \d+, #new_token_ratio: 0\.\d{4} -> \d\.\d{4}",
        server.log,
    )


def test_a_batch_beyond_the_captured_sizes_says_graph_false(launch: Launch) -> None:
    server = launch("--cuda-graph-max-bs-decode", "1", "--decode-log-interval", "3")
    one = chat("a", max_tokens=40, ignore_eos=True, stream=True)
    data = json.dumps(one).encode()
    head = f"POST {CHAT} HTTP/1.1\r\nconnection: close\r\ncontent-length: {len(data)}\r\n\r\n"
    sockets = [socket.create_connection(("127.0.0.1", server.port), timeout=15) for _ in "ab"]
    for raw in sockets:
        raw.sendall(head.encode() + data)
    for raw in sockets:
        while raw.recv(65536):
            pass
        raw.close()
    assert re.search(r"Decode batch, #running-req: 2, .*cuda graph: False", server.log)
    server.frames(CHAT, chat("b", max_tokens=20, ignore_eos=True))
    assert re.search(r"Decode batch, #running-req: 1, .*cuda graph: True", server.log)


def test_sigterm_ends_it_within_a_second_with_its_lines(launch: Launch) -> None:
    server = launch("--tp", "2")
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(1.5) == -signal.SIGKILL, "the real one kills its own tree, too"
    assert "SIGTERM received. signum=None frame=None. Draining requests" in server.log
    assert "Gracefully exiting... Remaining number of requests 0." in server.log
    assert re.search(r"kill_process_tree called: parent_pid=\d+, include_parent=True", server.log)
    assert re.search(r"\d TP0\] Prefill batch, #new-seq: 1", server.log)
