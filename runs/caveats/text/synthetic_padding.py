"""Generation tokens count the padding of the captured batch."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste, real


def find(paste: Paste) -> Finding | None:
    """Fire when an iteration of TensorRT-LLM generates more tokens than it runs requests."""
    for sample in paste.samples:
        tokens = real(sample.extras.get("generation_tokens"))
        running = sample.running
        if "prev_device_step_ms" in sample.extras and tokens and running and tokens > running:
            text = (
                f"{tokens:.0f} generation tokens for {running} requests: the count holds drafts "
                "and the "
                "padding of the captured batch. Neither a batch size nor a speed follows from it."
            )
            return Finding(
                "synthetic-padding", text, {"generation_tokens": int(tokens), "running": running}
            )
    return None
