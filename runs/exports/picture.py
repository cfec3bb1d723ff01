"""The picture that a chat shows for a share link: the sentence and one tile for each level.

Drawn with the page's own font, which lies beside it; letters that the font does not have are left
out, so that no box stands in their place.
"""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from runs.metrics.shown import change

Told = Mapping[str, Any]

SIZE = (1200, 630)
FONT = Path(__file__).parents[2] / "static" / "vendor" / "ibm-plex-sans-latin-wght-normal.woff2"
MARGIN = 64
MOST_TILES = 8
GAP = 12
TILES_Y, TILE_HEIGHT = 396, 132
SENTENCE_Y, SENTENCE_HEIGHT = 154, 226
FOOT_Y = 560

# static/css/tokens.css, light
INK, INK_2, INK_3 = "#16191D", "#4A5058", "#646A72"
SURFACE, RULE, HAIR = "#FFFFFF", "#C9C9C2", "#E2E2DD"
WARN, WARN_TINT = "#7A5200", "#FBF4E1"
TONES = {
    "up": ("#005A8C", "#EAF3FA", "#0072B2"),
    "down": ("#A34100", "#FDF0E6", "#D55E00"),
    "same": ("#5B5B5B", "#EFEFEC", "#C9C9C2"),
}
UNSURE = (INK_2, SURFACE, RULE)
# beyond Latin-1, what the font's Latin part holds
_HELD = set("–—‘’“”„•…−×·‹›€™ŒœıˆŸŠšŽž")
_INSTEAD = {"→": "to", "≥": ">=", "≤": "<=", "✓": "", "\u202f": " ", "\u00a0": " "}


def as_picture(told: Told) -> bytes:
    """PNG of 1200 × 630."""
    image = Image.new("RGB", SIZE, SURFACE)
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, SIZE[0], 10), fill=INK)
    _head(draw, told)
    pair = told["pairs"][0] if told["pairs"] else None
    sentence = pair["sentence"] if pair else ""
    _sentence(draw, sentence or "Nothing is judged yet: a copy of what was measured so far.")
    _tiles(draw, pair["rows"] if pair else [])
    _foot(draw, told, pair)
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def _head(draw: ImageDraw.ImageDraw, told: Told) -> None:
    draw.text((MARGIN, 44), "Throughline", font=_font(22, 600), fill=INK_3)
    if told["simulated"]:
        words, font = "SIMULATED", _font(22, 700)
        width = draw.textlength(words, font=font)
        right = SIZE[0] - MARGIN
        box = (right - width - 28, 38, right, 80)
        draw.rounded_rectangle(box, radius=6, fill=WARN_TINT, outline=WARN, width=2)
        draw.text((right - width - 14, 45), words, font=font, fill=WARN)
    font = _font(26, 400)
    (line, *_) = _lines(drawn(told["question"]), font, SIZE[0] - 2 * MARGIN, most=1)
    draw.text((MARGIN, 92), line, font=font, fill=INK_2)


def _sentence(draw: ImageDraw.ImageDraw, words: str) -> None:
    """As large as it fits; a very long one ends in an ellipsis."""
    for size in (46, 42, 38, 34, 30):
        font, height = _font(size, 600), round(size * 1.24)
        most = SENTENCE_HEIGHT // height
        lines = _lines(drawn(words), font, SIZE[0] - 2 * MARGIN, most=most)
        if not lines[-1].endswith("…"):
            break
    for n, line in enumerate(lines):
        draw.text((MARGIN, SENTENCE_Y + n * height), line, font=font, fill=INK)


def _tiles(draw: ImageDraw.ImageDraw, rows: Sequence[Told]) -> None:
    shown = list(rows[:MOST_TILES])
    if not shown:
        return
    width = min(220.0, (SIZE[0] - 2 * MARGIN - GAP * (len(shown) - 1)) / len(shown))
    for n, row in enumerate(shown):
        x = MARGIN + n * (width + GAP)
        ink, tint, line = TONES.get(row["tone"], UNSURE)
        box = (x, TILES_Y, x + width, TILES_Y + TILE_HEIGHT)
        fill = tint if row["clear"] else SURFACE
        draw.rounded_rectangle(box, radius=8, fill=fill, outline=line, width=2)
        told = row["change_words"] or change(row["headline"]["ratio"])
        room = width - 28
        small = _font(19, 400)
        word = _lines(drawn(f"{row['glyph']} {row['word']}"), small, room, most=2)
        draw.text((x + 14, TILES_Y + 10), str(row["concurrency"]), font=small, fill=INK_3)
        draw.text((x + 14, TILES_Y + 36), drawn(told), font=_fitting(drawn(told), room), fill=ink)
        for at, line_of_word in enumerate(word):
            place = (x + 14, TILES_Y + 78 + 23 * at)
            draw.text(place, line_of_word, font=small, fill=INK_2)


def _foot(draw: ImageDraw.ImageDraw, told: Told, pair: Told | None) -> None:
    launches = {arm["launches"] for arm in told["arms"]}
    each = f"{launches.pop()} launches each" if len(launches) == 1 else "launches differ in number"
    parts = ["tiles are concurrencies", each.replace("1 launches", "1 launch")]
    if len(told["pairs"]) > 1 and pair:
        parts.insert(0, f"{pair['other']} against {pair['base']}, and {len(told['arms']) - 2} more")
    hidden = len(pair["rows"]) - MOST_TILES if pair else 0
    if hidden > 0:
        parts.append(f"{hidden} more levels")
    parts.append(f"as of {told['made_at']}")
    font = _font(20, 400)
    draw.line((MARGIN, FOOT_Y - 8, SIZE[0] - MARGIN, FOOT_Y - 8), fill=HAIR, width=2)
    (line, *_) = _lines(drawn(" · ".join(parts)), font, SIZE[0] - 2 * MARGIN, most=1)
    draw.text((MARGIN, FOOT_Y + 8), line, font=font, fill=INK_3)


def drawn(text: str) -> str:
    """The text in letters that the font has; accents go before a letter does."""
    found = []
    for letter in " ".join(text.split()):
        told = _INSTEAD.get(letter, letter)
        if not all(_is_held(each) for each in told):
            told = "".join(e for e in unicodedata.normalize("NFKD", told) if _is_held(e))
        found.append(told)
    return " ".join("".join(found).split())


def _is_held(letter: str) -> bool:
    return " " <= letter <= "~" or "\u00a1" <= letter <= "\u00ff" or letter in _HELD


def _lines(text: str, font: ImageFont.FreeTypeFont, room: float, *, most: int) -> list[str]:
    """Broken between words; what is too much ends in an ellipsis."""
    lines, line = [], ""
    for word in text.split():
        longer = f"{line} {word}".strip()
        if line and font.getlength(longer) > room:
            lines.append(line)
            longer = word
        line = longer
    lines = [*lines, line]
    whole = len(lines) <= most
    return [_cut(each, font, room) for each in lines[: most - (not whole)]] + (
        [] if whole else [_cut(f"{lines[most - 1]} …", font, room)]
    )


def _cut(line: str, font: ImageFont.FreeTypeFont, room: float) -> str:
    if font.getlength(line) <= room:
        return line
    while line and font.getlength(f"{line}…") > room:
        line = line[:-1]
    return f"{line.rstrip()}…"


def _fitting(text: str, room: float) -> ImageFont.FreeTypeFont:
    size = 32
    while size > 16 and _font(size, 700).getlength(text) > room:
        size -= 2
    return _font(size, 700)


@lru_cache(maxsize=32)
def _font(size: int, weight: int) -> ImageFont.FreeTypeFont:
    font = ImageFont.truetype(str(FONT), size)
    font.set_variation_by_axes([weight])
    return font
