"""One set of promises, kept by a real OpenSSH server and by the demo node alike."""
