"""What a private key file is, told from its first bytes, before any library reads it."""

from __future__ import annotations

import base64
import binascii
import stat
from pathlib import Path

MOST = 64 * 1024  # bytes; no private key is longer

_OPENSSH = b"-----BEGIN OPENSSH PRIVATE KEY-----"
_MAGIC = b"openssh-key-v1\0"
_LOCKED = (b"-----BEGIN ENCRYPTED PRIVATE KEY-----", b"Proc-Type: 4,ENCRYPTED")


def problem_with_key_file(path: str) -> str | None:
    """Why no login can be proven with this file, and what to do; None if nothing speaks against it.

    Raises OSError if the file cannot be looked at, ValueError if the path cannot be one.
    """
    status = Path(path).stat()
    if not stat.S_ISREG(status.st_mode):
        return "it is no file"
    if stat.S_IMODE(status.st_mode) & 0o077:
        return f"others may read it (chmod 600 {path} would end that)"
    with Path(path).open("rb") as file:
        head = file.read(MOST + 1)
    if len(head) > MOST:
        return "it is too long to be a private key"
    if head.startswith(b"PuTTY-User-Key-File"):
        return "it is a key of PuTTY (puttygen KEY -O private-openssh -o NEW makes one for SSH)"
    if _is_locked(head):
        return (
            "it is locked with a passphrase, and Throughline keeps none. Add the key to an SSH "
            f"agent (ssh-add {path}) and give the agent's socket instead, or use a key without "
            "passphrase that is for this host alone"
        )
    if _is_public(head):
        return "it is the public half; the private key is the file of the same name without .pub"
    return None


def _is_public(head: bytes) -> bool:
    return head.split(b" ", 1)[0].strip() in {
        b"ssh-ed25519", b"ssh-rsa", b"ssh-dss", b"ecdsa-sha2-nistp256", b"ecdsa-sha2-nistp384",
        b"ecdsa-sha2-nistp521", b"sk-ssh-ed25519@openssh.com",
    }  # fmt: skip


def _is_locked(head: bytes) -> bool:
    if any(word in head for word in _LOCKED):
        return True
    _, found, rest = head.partition(_OPENSSH)
    if not found:
        return False
    try:
        raw = base64.b64decode(b"".join(rest.partition(b"-----")[0].split()))
    except binascii.Error:
        return False
    cipher = raw[len(_MAGIC) + 4 :][: int.from_bytes(raw[len(_MAGIC) :][:4], "big")]
    return raw.startswith(_MAGIC) and cipher != b"none"
