"""The fingerprint of a public key, as ssh prints it."""

from __future__ import annotations

import base64
import hashlib


def fingerprint(public: str) -> str:
    """ "SHA256:…" of "ssh-ed25519 AAAA…". Raises ValueError if that is no public key."""
    parts = public.split()
    if len(parts) < 2:
        raise ValueError("A public key is an algorithm and a base64 text.")
    digest = hashlib.sha256(base64.b64decode(parts[1], validate=True)).digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")
