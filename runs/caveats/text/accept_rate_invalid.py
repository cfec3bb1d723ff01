"""A printed accept rate above one is no rate."""

from runs.caveats.base import Finding
from runs.caveats.text.paste import Paste
from runs.engines.base import JSON


def find(paste: Paste) -> Finding | None:
    """Fire on the first rate above one."""
    for sample in paste.samples:
        rate, length = sample.accept_rate, sample.accept_len
        if rate is not None and rate > 1:
            steps = f" ({length:.2f} / {rate:.2f} = {length / rate:.0f} steps)" if length else ""
            text = (
                f"The printed accept rate {rate:.2f} is above one: that release divided accept "
                "len by "
                f"the steps{steps}. The length is right, the rate is not a rate."
            )
            evidence: dict[str, JSON] = {"accept_rate": rate, "accept_len": length}
            return Finding("accept-rate-invalid", text, evidence)
    return None
