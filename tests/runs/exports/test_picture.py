"""The picture of a share link."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageChops

from runs.exports.picture import SIZE, WARN_TINT, as_picture, drawn
from tests.runs.exports.told import comparison, row


def opened(told: dict[str, Any]) -> Image.Image:
    image = Image.open(io.BytesIO(as_picture(told)))
    image.load()
    return image


def colours(image: Image.Image) -> set[str]:
    found = image.convert("RGB").getcolors(maxcolors=2**20) or []
    return {f"#{bytes(colour).hex().upper()}" for _, colour in found}  # type: ignore[arg-type]


def test_it_is_a_png_of_the_size_that_chats_ask_for() -> None:
    image = opened(comparison())
    assert (image.format, image.size) == ("PNG", SIZE)
    assert len(as_picture(comparison())) < 200_000


def test_what_was_simulated_is_marked() -> None:
    assert WARN_TINT not in colours(opened(comparison()))
    assert WARN_TINT in colours(opened({**comparison(), "simulated": True}))


def test_the_sentence_and_the_words_are_in_the_picture() -> None:
    """Another sentence, word or change is another picture."""
    pictures = [opened(comparison())]
    told = comparison()
    told["pairs"][0]["sentence"] = "steps=2 gives nothing."
    pictures.append(opened(told))
    told = comparison()
    told["pairs"][0]["rows"][0] |= {"word": "worse", "tone": "down"}
    pictures.append(opened(told))
    for a, b in ((0, 1), (0, 2), (1, 2)):
        assert ImageChops.difference(pictures[a], pictures[b]).getbbox() is not None


@pytest.mark.parametrize("levels", [0, 1, 8, 20])
def test_any_number_of_levels_has_room(levels: int) -> None:
    told = comparison()
    told["pairs"][0]["rows"] = [row(n + 1, 100.0, 150.0) for n in range(levels)]
    image = opened(told)
    right = image.crop((SIZE[0] - 60, 380, SIZE[0], 540)).convert("RGB")
    assert right.getcolors() == [(60 * 160, (255, 255, 255))]  # nothing runs out of the picture


def test_without_a_pair_it_still_is_a_picture() -> None:
    assert opened({**comparison(), "pairs": []}).size == SIZE


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1.5 → 2.4", "1.5 to 2.4"),
        ("−23 %", "−23 %"),
        ("ştep", "step"),
        ("步数=2", "=2"),
        ("a\nb", "a b"),
    ],
)
def test_only_letters_that_the_font_has_are_drawn(text: str, shown: str) -> None:
    assert drawn(text) == shown


@settings(max_examples=15, deadline=None)
@given(st.text(max_size=400))
def test_any_text_can_be_drawn(words: str) -> None:
    told = comparison()
    told["question"] = told["pairs"][0]["sentence"] = words
    told["pairs"][0]["other"] = words
    assert opened(told).size == SIZE
