"""The tracebacks of a dying server, in the shape SGLang leaves them. Pure.

Frames name files inside the package, never paths of a machine.
"""

from __future__ import annotations

from typing import Sequence

INIT_FRAMES = (
    ("srt/managers/scheduler.py", "run_scheduler_process", "scheduler = Scheduler("),
    ("srt/managers/scheduler.py", "__init__", "self.init_model_worker()"),
    ("srt/managers/tp_worker.py", "__init__", "self._init_model_runner()"),
)
LOAD_FRAMES = (
    *INIT_FRAMES,
    ("srt/model_executor/model_runner.py", "load_model", "self.model = get_model("),
    ("srt/model_loader/loader.py", "_prepare_weights", "raise RuntimeError("),
)
CAPTURE_FRAMES = (
    *INIT_FRAMES,
    ("srt/managers/scheduler.py", "init_all_cuda_graphs", "self.init_cuda_graphs()"),
    ("srt/model_executor/runner/decode_runner.py", "capture", "raise Exception("),
)
STEP_FRAMES = (
    ("srt/managers/scheduler.py", "run_scheduler_process", "scheduler.run_event_loop()"),
    ("srt/managers/scheduler.py", "event_loop_overlap", "batch_result = self.run_batch(batch)"),
    ("srt/managers/tp_worker.py", "forward_batch_generation", "out = self.model_runner.forward("),
    ("srt/layers/radix_attention.py", "forward", "return get_attn_backend().forward("),
    ("srt/layers/attention/triton_backend.py", "forward_extend", "o = torch.empty_like(q)"),
)
OUT_OF_MEMORY = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 18.00 MiB. GPU 0 has a total "
    "capacity of 79.10 GiB of which 12.31 MiB is free. Including non-PyTorch memory, this process "
    "has 79.08 GiB memory in use. Of the allocated memory 78.20 GiB is allocated by PyTorch, with "
    "62.00 MiB allocated in private pools (e.g., CUDA Graphs), and 105.79 MiB is reserved by "
    "PyTorch but unallocated."
)
CAPTURE_FAILED = (
    "Exception: Capture cuda graph failed: CUDA out of memory. Tried to allocate 512.00 MiB.\n"
    "Possible solutions:\n"
    "1. set --mem-fraction-static to a smaller value (e.g., 0.8 or 0.7)\n"
    "2. set --cuda-graph-max-bs-decode to a smaller value (e.g., 16)\n"
    "3. disable CUDA graph by --disable-cuda-graph. (Not recommended. Huge performance loss)"
)
START_UP_CRASH = (
    "RuntimeError: CUDA error: an illegal memory access was encountered (simulated crash at start)"
)
NOT_ENOUGH_MEMORY = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."


def weights_missing(path: str) -> str:
    return f"RuntimeError: Cannot find any model weights with `{path}`"


def scheduler_exception(frames: Sequence[tuple[str, str, str]], error: str) -> str:
    """'Scheduler hit an exception: …' with its unstamped lines and the empty line after it."""
    lines: list[str] = ["Scheduler hit an exception: Traceback (most recent call last):"]
    for number, (file, function, code) in enumerate(frames, start=1):
        lines.append(f'  File "sglang/{file}", line {100 * number + 31}, in {function}')
        lines.append(f"    {code}")
    return "\n".join([*lines, error, ""])


SCHEDULER_DIED = (
    "RuntimeError: Rank 0 scheduler died during initialization (exit code: -3). If exit code is -9 "
    "(SIGKILL), a common cause is the OS OOM killer. Run `dmesg -T | grep -i oom` to check."
)


def launch_traceback(error: str) -> str:
    """The main process's own traceback when it cannot start."""
    return (
        "Traceback (most recent call last):\n"
        '  File "sglang/launch_server.py", line 86, in <module>\n'
        "    run_server(server_args)\n"
        '  File "sglang/srt/entrypoints/engine.py", line 231, in _launch_subprocesses\n'
        f"    scheduler_infos = cls._wait_for_scheduler_ready()\n{error}"
    )
