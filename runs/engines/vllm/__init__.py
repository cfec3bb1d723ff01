"""vLLM: its log lines. Pure."""
