"""The quick way reads nothing differently, and the cheap test passes over nothing."""

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from runs.engines.base import Sample
from runs.engines.sglang.crash import SIGNATURES
from runs.engines.sglang.events import HINTS, NEEDLES
from runs.engines.sglang.log import may_tell, read_line
from runs.engines.sglang.shapes import Shapes

CASES = Path(__file__).parents[2] / "cases" / "sglang_log"
LINES = [
    line for path in sorted(CASES.glob("*.log")) for line in path.read_bytes().split(b"\n") if line
]
BATCHES = [line for line in LINES if b" batch" in line]


def learnt() -> Shapes:
    shapes = Shapes()
    for line in BATCHES:
        read_line(line, 0, 1, True, shapes)
    return shapes


def test_a_known_shape_gives_what_the_slow_way_gives() -> None:
    quick = 0
    for line in BATCHES:
        shapes = Shapes()
        read_line(line, 0, 1, True, shapes)
        assert read_line(line, 7, 3, True, shapes) == read_line(line, 7, 3)
        quick += line.isascii() and shapes.read(line.decode("ascii"), 7, 3) is not None
    assert quick > 40


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(BATCHES),
    st.integers(0, 400),
    st.integers(0, 4),
    st.sampled_from([b"", b"9", b"-", b".", b", ", b" ", b"True", b"nan", b"%", b"\r", b"\xff"]),
)
def test_a_changed_line_is_read_alike_both_ways(line: bytes, at: int, cut: int, put: bytes) -> None:
    shapes = Shapes()
    read_line(line, 0, 1, True, shapes)
    at %= len(line)
    changed = line[:at] + put + line[at + cut :]
    for _ in range(2):  # the first time may learn, the second time may use it
        assert read_line(changed, 0, 1, True, shapes) == read_line(changed, 0, 1)


def test_many_shapes_are_forgotten_and_learnt_again() -> None:
    shapes = learnt()
    for line in BATCHES:
        assert read_line(line, 0, 1, True, shapes) == read_line(line, 0, 1)


def test_every_line_with_a_record_passes_the_cheap_test() -> None:
    for line in LINES:
        if read_line(line, 0, 1):
            assert may_tell(line), line


def test_every_needle_and_signature_holds_a_hint() -> None:
    for needle in [*NEEDLES, *(signature.needle for signature in SIGNATURES)]:
        assert any(hint in needle for hint in HINTS), needle


def test_a_shape_keeps_no_value_of_the_line_it_was_learnt_from() -> None:
    line = next(each for each in BATCHES if b"accept len" in each and each.startswith(b"["))
    shapes = Shapes()
    read_line(line, 0, 1, True, shapes)
    other = line.replace(b"#running-req: ", b"#running-req: 9")
    (first,), (second,) = read_line(line, 0, 1), read_line(other, 0, 1, True, shapes)
    assert isinstance(first, Sample)
    assert isinstance(second, Sample)
    assert second.running == int(f"9{first.running}")
