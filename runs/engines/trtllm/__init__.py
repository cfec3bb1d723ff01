"""TensorRT-LLM: its iteration lines. Pure."""
