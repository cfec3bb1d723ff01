"""llama.cpp: timings of its server. Pure."""
