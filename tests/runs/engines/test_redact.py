import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.engines.redact import redact, redact_text

SECRET = "hunter2hunter2"


@pytest.mark.parametrize(
    "text",
    [
        f"server_args=ServerArgs(model_path='/m', api_key='{SECRET}', port=1)",
        f"{{'admin_api_key': '{SECRET}'}}",
        f'{{"api_key": "{SECRET}"}}',
        f"python -m x --api-key {SECRET} --port 1",
        f"--admin-api-key={SECRET}",
        f"HF_TOKEN={SECRET}",
        f"ssl_keyfile_password='{SECRET}'",
        f"Authorization: Bearer {SECRET}",
        f"AWS_SECRET_ACCESS_KEY={SECRET}",
        f"https://user:{SECRET}@example.org/x",
        f"https://example.org/x?v=1&token={SECRET}&n=2",
        f"GET /v1/models?key={SECRET} HTTP/1.1",
        f"Authorization: Basic {SECRET}",
        f"Authorization: {SECRET}",
        f"curl -u user:{SECRET} http://127.0.0.1/",
        f"curl -s -u user:{SECRET} http://127.0.0.1/",
        f"Cookie: {SECRET}",
        f"passwd: {SECRET}",
        f"SLACK_TOKEN={SECRET}",
        f"export REGISTRY_PAT='{SECRET}'",
        f'{{"auth": {{"token": "{SECRET}"}}}}',
        f"client_secret={SECRET}",
        f"-----BEGIN OPENSSH PRIVATE KEY-----{SECRET}-----END OPENSSH PRIVATE KEY-----",
    ],
)
def test_it_overwrites_the_secret_and_nothing_else(text: str) -> None:
    found, count = redact(text.encode())
    assert found.decode() == text.replace(SECRET, "*" * len(SECRET))
    assert count == 1


FORMS = (
    *("hf_abcdefghijklmnop", "sk-proj-abcdefgh1234", "nvapi-abcdefgh1234", "glpat-abcdefgh1234"),
    *("ghp_abcdefghijklmnopqrst12", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"),
)


@pytest.mark.parametrize("text", FORMS)
def test_it_knows_tokens_by_their_form(text: str) -> None:
    assert redact_text(f"uses {text}.") == f"uses {'*' * len(text)}."


@pytest.mark.parametrize(
    "text",
    [
        "api_key=None, admin_api_key=None, ssl_keyfile_password=None",
        '"api_key":null',
        "#token: 848, token usage: 0.01, gen throughput (token/s): 71.44",
        "max_total_num_tokens=797201, tokenizer_path='/m', tokenizer_mode='auto'",
        "--tokenizer-path /models/x --max-total-tokens 65536",
        "GET http://127.0.0.1:30000/health",
        "num_draft_tokens=4, max_token=5, #new-token: 3, page_token: 88",
        '{"token": "Hello", "logprob": -0.1}, {"token": " strawberry"}',
        "docker run -u 1000:1000 -p 8000:8000 image",
        "CUDA_PATH=/usr/local/cuda, MODEL_PATH=/models/x, PATTERN: abc",
        "SGLANG_PASS_THROUGH=1 authorization: none",
    ],
)
def test_it_leaves_what_is_no_secret(text: str) -> None:
    assert redact(text.encode()) == (text.encode(), 0)


@given(
    st.lists(
        st.sampled_from(
            [
                *(b"api_key=", b"'", b"Bearer ", b"hf_", b"abcdefghijkl", b" ", b"*", b"://", b":"),
                *(
                    b"@",
                    b"Authorization: ",
                    b"Cookie: ",
                    b'"token": "',
                    b"?key=",
                    b"&",
                    b"curl -u ",
                ),
                *(b"-----BEGIN PRIVATE KEY-----", b"\n", b"A_TOKEN=", b"Basic ", b"123456789"),
            ]
        )
        | st.binary(max_size=4)
    )
)
def test_the_length_stays_and_a_second_time_changes_nothing(parts: list[bytes]) -> None:
    data = b"".join(parts)
    once, _ = redact(data)
    assert len(once) == len(data)
    assert redact(once)[0] == once


def test_a_private_key_keeps_its_lines() -> None:
    key = "-----BEGIN PRIVATE KEY-----\nQUJD\r\nREVG\n-----END PRIVATE KEY-----\n"
    assert redact_text(key) == key.replace("QUJD", "****").replace("REVG", "****")


def test_a_secret_in_a_file_that_stands_inside_of_json_is_overwritten() -> None:
    inner = json.dumps({"server_info": {"api_key": "hush-hush", "model": "m"}, "n": 1})
    line = json.dumps({"type": "result", "text": inner}).encode()
    clean, count = redact(line)
    assert (count, len(clean)) == (1, len(line))
    assert json.loads(json.loads(clean)["text"]) == {
        "server_info": {"api_key": "*********", "model": "m"}, "n": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        *(
            '["--api-key", "plain1secret"]',
            "- --api-key\n  - plain1secret\n",
            "--api-key plain1secret",
        ),
        *('- name: DB_PASSWORD\n  value: "plain1secret"', "{name: A_TOKEN, value: plain1secret}"),
        *('--api-key `\n  "plain1secret"', "--api-key \\\n  plain1secret \\\n --port 1"),
        *('--admin-api-key "plain1secret of mine"', "DB_PASSWORD='plain1secret of mine'"),
        *('Environment="A_PASSWORD=plain1secret of mine"', "A_SECRET: 'plain1secret of mine'"),
    ],
)
def test_a_secret_in_a_list_a_manifest_or_with_blanks_is_covered(text: str) -> None:
    covered, count = redact(text.encode())
    assert (b"plain1" in covered, b"mine" in covered, count) == (False, False, 1)
    assert len(covered) == len(text.encode())
    assert redact(covered) == (covered, 0)


@pytest.mark.parametrize(
    "text",
    [
        *("- --api-key\n- --port\n", "- name: HF_TOKEN\n  valueFrom:\n    secretKeyRef:\n"),
        *('"--api-key-file", "keep/me"', 'api_key=None, prompt="keep all of it"'),
    ],
)
def test_what_follows_a_secrets_name_is_not_always_one(text: str) -> None:
    assert redact(text.encode()) == (text.encode(), 0)
