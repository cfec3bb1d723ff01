"""What each label of a batch line means: the field it fills and the form of its value.

Releases add, rename and drop labels all the time; one that is not here is kept as it is printed.
"""

from typing import NamedTuple


class Label(NamedTuple):
    """`form` is 'int', 'float' or 'percent' (printed as '94.31%', kept as 0.9431)."""

    field: str
    form: str


_INTS = {
    "#running-req": "running",
    "#queue-req": "waiting",
    "#token": "tokens",
    "#new-seq": "new_seq",
    "#new-token": "new_tokens",
    "#cached-token": "cached_tokens",
    "#pending-token": "pending_tokens",
    "#full token": "full_token",
    "#swa token": "swa_token",
    "#gpu token": "gpu_token",
    "#cpu token": "cpu_token",
    "mamba num": "mamba_num",
    "#prealloc-req": "prealloc_req",
    "#transfer-req": "transfer_req",
    "#host-receive-req": "host_receive_req",
    "#retracted-req": "retracted_req",
    "#inflight-req": "inflight_req",
    "#bootstrap-req": "bootstrap_req",
    "#optimistic-req": "optimistic_req",
    "#unbootstrapped-req": "unbootstrapped_req",
    "#transferring-req": "transferring_req",
    "#replay-token": "replay_token",
    "waiting-image-req": "waiting_image_req",
    "largest-len": "largest_len",
}
_FLOATS = {
    "token usage": "token_usage",
    "accept len": "accept_len",
    "accept rate": "accept_rate",
    "gen throughput (token/s)": "output_tps",
    "input throughput (token/s)": "input_tps",
    "full token usage": "full_token_usage",
    "swa token usage": "swa_token_usage",
    "gpu token usage": "gpu_token_usage",
    "cpu token usage": "cpu_token_usage",
    "mamba usage": "mamba_usage",
    "pre-allocated usage": "preallocated_usage",
    "cap len": "cap_len",
    "block accept len": "block_accept_len",
    "est. decode TFLOPS/s (per GPU)": "est_decode_tflops",
    "est. prefill TFLOPS/s (per GPU)": "est_prefill_tflops",
    "est. read BW (GB/s per GPU)": "est_read_gbps",
    "est. write BW (GB/s per GPU)": "est_write_gbps",
}
_PERCENTS = {
    "cache hit rate": "cache_hit_rate",
    "fwd occupancy": "fwd_occupancy",
    "fwd+idle occupancy": "fwd_idle_occupancy",
}

LABELS: dict[str, Label] = {
    **{text: Label(field, "int") for text, field in _INTS.items()},
    **{text: Label(field, "float") for text, field in _FLOATS.items()},
    **{text: Label(field, "percent") for text, field in _PERCENTS.items()},
}
# Only a node of a disaggregated pair prints these: on its decode lines, on its prefill lines.
DECODE_NODE = frozenset({"transfer_req", "preallocated_usage"})
PREFILL_NODE = frozenset({"inflight_req", "unbootstrapped_req"})
# '2.66 [2.51, 2.81]': an estimate with its interval.
INTERVAL_LABEL = "est uncap acc len"
INTERVAL_FIELDS = ("est_uncap_acc_len", "est_uncap_acc_lo", "est_uncap_acc_hi")
