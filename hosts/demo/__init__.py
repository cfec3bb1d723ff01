"""The demo node: a real SSH server on loopback, and the simulated engine that it runs."""
