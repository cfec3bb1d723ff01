"""Notes: Markdown in, safe HTML out."""

from __future__ import annotations

from functools import cache, lru_cache

import nh3
from markdown_it import MarkdownIt

TAGS = {
    "a", "blockquote", "br", "code", "em", "h3", "h4", "hr", "li", "ol", "p", "pre", "strong",
    "table", "tbody", "td", "th", "thead", "tr", "ul", "del",
}  # fmt: skip


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(
        ["table", "strikethrough"]
    )


@lru_cache(maxsize=500)
def render(text: str) -> str:
    """HTML of a note. HTML that somebody typed is shown as text, not obeyed."""
    return nh3.clean(
        _parser().render(text),
        tags=TAGS,
        attributes={"a": {"href"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow ugc",
    )
