"""The same lines in every carrier, at every width of a terminal, give the same samples."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from runs.readers import read

FIELD = Path(__file__).parents[2] / "field_cases"
NUMBERS = ("01", "02", "08", "13", "14", "17", "20", "22", "23", "34", "40", "41", "67")
CASES = [path for path in sorted(FIELD.glob("*.log")) if path.name[:2] in NUMBERS]
# What tells of the carrier, and where in the text a line stands.
LEFT_OUT = ("offset", "line", "source", "segment", "process", "process_pid", "accept_rate_strict")


def samples(data: bytes) -> list[dict]:
    found = read(data, "x").as_json()["samples"]
    return [{key: each[key] for key in each if key not in LEFT_OUT} for each in found]


def each_line(change: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    return lambda data: b"".join(change(line) + b"\n" for line in data.split(b"\n")[:-1])


def before(prefix: bytes) -> Callable[[bytes], bytes]:
    return each_line(lambda line: prefix + line)


def as_json(**told: object) -> Callable[[bytes], bytes]:
    def change(line: bytes) -> bytes:
        values = {key: value(line) if callable(value) else value for key, value in told.items()}
        return json.dumps(values).encode()

    return each_line(change)


def folded(width: int, *, trimmed: bool = False) -> Callable[[bytes], bytes]:
    def change(line: bytes) -> bytes:
        parts = [line[at : at + width] for at in range(0, len(line), width)] or [b""]
        return b"\n".join(part.rstrip(b" ") if trimmed else part for part in parts)

    return each_line(change)


def worded(width: int, mark: bytes, *, flowed: bool) -> Callable[[bytes], bytes]:
    """Break between words as mail programs do; flowed text keeps the blank that stood there."""

    def change(line: bytes) -> bytes:
        parts = [b""]
        for word in line.split(b" "):
            if parts[-1] and len(parts[-1]) + 1 + len(word) > width:
                parts.append(word)
            else:
                parts[-1] += (b" " if parts[-1] else b"") + word
        return (b" \n" if flowed else b"\n").join(mark + part for part in parts)

    return each_line(change)


CARRIERS: dict[str, Callable[[bytes], bytes]] = {
    "windows": lambda data: data.replace(b"\n", b"\r\n"),
    "quoted": before(b"> "),
    "quoted twice": before(b">> "),
    "entities": lambda data: data.replace(b">", b"&gt;"),
    "fenced": lambda data: b"```\n" + data + b"```\n",
    "indented": before(b"    "),
    "compose": before(b"server-1  | "),
    "compose by name": before(b"engine  | "),
    "compose with stamps": before(b"server-1  | 2026-11-29T16:01:02.250114377Z "),
    "podman": before(b"[server]   | "),
    "kubectl": before(b"[pod/sg-0/main] "),
    "kubectl with stamps": before(b"[pod/sg-0/main] 2026-11-29T16:01:02.250114377Z "),
    "rfc 3339": before(b"2026-11-29T16:01:02.250114377Z "),
    "runtime": before(b"2026-11-29T16:01:02.250114377Z stderr F "),
    "journal short": before(b"Nov  9 16:01:02 gpu-7 python3[43]: "),
    "journal precise": before(b"Nov 29 16:01:02.250114 gpu-7 python3[43]: "),
    "journal iso": before(b"2026-11-29T16:01:02+0100 gpu-7 python3[43]: "),
    "journal full": before(b"Sun 2026-11-29 16:01:02 UTC gpu-7 sglang@a.service[43]: "),
    "journal unix": before(b"1795968062.250114 gpu-7 python3[43]: "),
    "journal monotonic": before(b"[ 4012.250114] gpu-7 python3[43]: "),
    "journal json": as_json(MESSAGE=bytes.decode, _PID="7", _HOSTNAME="h"),
    "journal json bytes": as_json(MESSAGE=lambda line: list(b"\x1b[0m" + line), _PID="7"),
    "docker json": as_json(log=lambda line: line.decode() + "\n", stream="stderr", time="2026"),
    "ray": before(b"(SGLangEngine pid=1234, ip=192.0.2.15) "),
    "coloured": each_line(lambda line: b"\x1b[1;36m" + line[:12] + b"\x1b[0m" + line[12:]),
    **{
        f"coloured, {name}": each_line(
            lambda line, esc=esc: esc + b"[1;36m" + line[:12] + esc + b"[0m" + line[12:]
        )
        for name, esc in (
            ("the sign lost", b""),
            ("with a caret", b"^["),
            ("spelt", b"\\x1b"),
            ("as JSON", b"\\u001b"),
            ("by syslog", b"#033"),
            ("replaced", "\ufffd".encode()),
        )
    },
    "docker json, colours spelt inside": as_json(
        log=lambda line: "\\x1b[36m" + line.decode() + "\\x1b[0m\n", stream="stderr", time="2026"
    ),
    "titled, a colour's sign lost": before(b"\x1b]0;a terminal\x07[36m"),
    "titled": before(b"\x1b]0;a terminal\x07"),
    "bars": before(b"Loading: 50%|##  | 1/2\rLoading: 100%|####| 2/2\r"),
    "tail": lambda data: b"==> /var/log/a.log <==\n" + data,
    "numbered": before(b"17:"),
}
WIDTHS = (50, 60, 72, 79, 80, 88, 96, 100, 110, 119, 120, 121, 132, 140, 150, 160, 180, 200)


@pytest.mark.parametrize("carrier", CARRIERS)
def test_a_carrier_changes_nothing(carrier: str) -> None:
    for path in CASES:
        data = path.read_bytes()
        assert samples(CARRIERS[carrier](data)) == samples(data), path.name


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("trimmed", [False, True])
def test_a_fold_changes_nothing(width: int, trimmed: bool) -> None:
    for path in CASES:
        data = path.read_bytes()
        found = samples(folded(width, trimmed=trimmed)(data))
        if trimmed and width < 70:
            continue  # so narrow that parts lose several blanks: some records stay damaged
        assert found == samples(data), path.name


@pytest.mark.parametrize("width", [64, 70, 72, 74, 76, 78, 80, 90, 98, 120, 160])
@pytest.mark.parametrize("mark", [b"", b"> "])
@pytest.mark.parametrize("flowed", [False, True])
def test_a_break_between_words_changes_nothing(width: int, mark: bytes, flowed: bool) -> None:
    for path in CASES:
        data = path.read_bytes()
        assert samples(worded(width, mark, flowed=flowed)(data)) == samples(data), path.name


def requests(data: bytes) -> list[dict]:
    found = read(data, "x").as_json().get("requests", [])
    return [{key: each[key] for key in each if key not in LEFT_OUT} for each in found]


@pytest.mark.parametrize("width", WIDTHS[1:])
@pytest.mark.parametrize("name", ["11-llamacpp-print-timing-draft.log", "11a-old-multi.txt"])
def test_a_fold_changes_nothing_of_timings(width: int, name: str) -> None:
    folder = FIELD if name.endswith(".log") else FIELD.parent / "cases" / "variants"
    data = (folder / name).read_bytes()
    assert requests(folded(width)(data)) == requests(data)
    if width > 71:
        assert requests(folded(width, trimmed=True)(data)) == requests(data)


def test_two_pods_keep_their_names() -> None:
    line = (FIELD / "01-sglang-plain-decode.log").read_bytes().split(b"\n")[0]
    data = b"".join(b"[pod/" + name + b"/main] " + line + b"\n" for name in (b"sg-0", b"sg-1"))
    assert [each["source"] for each in read(data, "x").as_json()["samples"]] == ["sg-0", "sg-1"]


def test_tail_headers_name_the_file_of_the_lines_below() -> None:
    line = (FIELD / "01-sglang-plain-decode.log").read_bytes().split(b"\n")[0] + b"\n"
    data = b"==> a.log <==\n" + line + b"\n==> b.log <==\n" + line
    assert [each["source"] for each in read(data, "x").as_json()["samples"]] == ["a.log", "b.log"]


def test_parts_of_a_long_line_are_put_together() -> None:
    line = (FIELD / "01-sglang-plain-decode.log").read_bytes().split(b"\n")[0].decode()
    docker = [{"log": line[:90], "stream": "stderr"}, {"log": line[90:] + "\n", "stream": "stderr"}]
    data = b"".join(json.dumps(each).encode() + b"\n" for each in docker)
    assert len(samples(data)) == 1
    stamp = "2026-11-29T16:01:02.25Z stderr"
    data = f"{stamp} P {line[:90]}\n{stamp} F {line[90:]}\n".encode()
    assert len(samples(data)) == 1


def test_a_table_is_not_taken_for_a_service() -> None:
    data = b"steps-1 | 61.2 | 96.8\nsteps-2 | 62.2 | 97.8\n"
    assert all(each.get("source") is None for each in read(data, "x").as_json()["rows"])


def test_a_message_the_journal_left_out_is_damage() -> None:
    (damaged,) = read(b'{"MESSAGE": null, "_PID": "7", "_HOSTNAME": "h"}\n', "x").damaged
    assert "--all" in damaged.reason


def test_a_complete_line_is_not_joined_with_what_follows() -> None:
    line = (FIELD / "01-sglang-plain-decode.log").read_bytes().split(b"\n")[0]
    for follower in (b"2", b"17 tokens", b"and then: nothing", b"Killed", b"0, #queue: 1"):
        (sample,) = samples(line + b"\n" + follower + b"\n")
        assert sample["queue_req"] == 0


def test_a_folded_dump_of_arguments_is_read_and_a_whole_one_takes_nothing_in() -> None:
    data = (FIELD / "70-old-server-answers-the-new-runs-health-check.log").read_bytes()
    dump = data.split(b"\n")[0] + b"\n"
    for text in (dump, folded(80)(dump), dump + b"Killed: 9\n"):
        assert read(text, "x").context["spec_num_draft_tokens"] == 2
    crash = b"torch.OutOfMemoryError: CUDA out of memory.\n"
    assert [each.kind for each in read(dump + crash, "x").events] == ["server_args", "crash"]


@pytest.mark.parametrize("width", [60, 72, 80, 96, 120])
@pytest.mark.parametrize("trimmed", [False, True])
def test_a_folded_command_is_read_as_one(width: int, trimmed: bool) -> None:
    data = (FIELD / "02-sglang-eagle3-three-steps-greedy.log").read_bytes()
    context = read(folded(width, trimmed=trimmed)(data), "x").context
    wanted = read(data, "x").context
    for key in ("spec_num_steps", "spec_num_draft_tokens", "tp", "temperature", "max_tokens"):
        assert context[key] == wanted[key], key


RESULTS = [
    path for path in sorted(FIELD.glob("*.txt")) if path.name[:2] in ("05", "10", "52", "56")
]


def rows(data: bytes) -> list[dict]:
    found = read(data, "x").as_json()["rows"]
    left_out = ("offset", "line", "source", "settings", "label", "tag")
    return [{key: each[key] for key in each if key not in left_out} for each in found]


@pytest.mark.parametrize(
    "carrier", [each for each in CARRIERS if each not in ("numbered", "indented")]
)
def test_a_carrier_changes_no_row(carrier: str) -> None:
    for path in RESULTS:
        data = path.read_bytes()
        assert rows(CARRIERS[carrier](data)) == rows(data), path.name
