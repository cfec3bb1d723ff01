"""What kernels' compilers say while they compile, whichever engine they work for."""

# DeepGEMM's sessions and bars, aiter's builds, FlashInfer's and Triton's tuning, and Inductor's.
COMPILING = (
    "JIT Pre-Compile",
    "JIT Single Kernel Compile",
    "JIT Compiling",
    "DeepGEMM warmup",
    "[aiter] start build [",
    "Autotuning process starts",
    "Running FlashInfer autotune",
    "Triton autotuning for function ",
    "JIT compilation during inference",
    "AUTOTUNE benchmarking takes",
)
# Each of the above holds one of these.
HINTS = ("JIT ", "DeepGEMM", "start build [", "Autotuning", "AUTOTUNE", "utotun")
