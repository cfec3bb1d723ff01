"""Prompts of random tokens are no language, so acceptance and routing are not the real ones."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste

_RANDOM = ("random", "random-ids", "random_ids", "synthetic", "synthetic_text")


def find(paste: Paste) -> Finding | None:
    """Fire for random data sets, unless a chat template was put around them."""
    for row in paste.rows:
        dataset = paste.setting(row, "dataset")
        if dataset in _RANDOM and paste.setting(row, "apply_chat_template") is not True:
            text = (
                f"The prompts are the '{dataset}' data set without a chat template: random "
                "lengths and "
                "contents make acceptance, expert routing and cache hits unlike real traffic."
            )
            return Finding("random-tokens", text, {"dataset": dataset})
    return None
