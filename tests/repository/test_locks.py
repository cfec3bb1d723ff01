"""The locks pin everything, with hashes, from no named host, and no older than is safe."""

import re

import pytest

from tests.repository.places import ROOT

LOCKS = ["requirements.txt", "requirements-dev.txt"]

# Lowest releases without a hole known to us when they were chosen. pip-audit asks a database for
# more than this, where one can be reached; this list holds without any network.
SAFE = {
    "django": "5.2.19",
    "asyncssh": "2.24.1",
    "redis": "6.4",
    "celery": "5.7.0",
    "cryptography": "44.0.1",
    "uvicorn": "0.30",
    "h11": "0.16",
    "nh3": "0.2.18",
    "sqlparse": "0.5.4",
    "psycopg": "3.2",
    "zstandard": "0.22",
    "requests": "2.32.4",
    "urllib3": "2.6.0",
}


def entries(lock: str) -> dict[str, list[str]]:
    """Requirement line -> its hashes."""
    found: dict[str, list[str]] = {}
    for block in re.split(r"\n(?=[a-z0-9])", (ROOT / lock).read_text(), flags=re.I)[1:]:
        found[block.split("\n")[0].rstrip(" \\")] = re.findall(r"--hash=sha256:[0-9a-f]{64}", block)
    return found


def versions(lock: str) -> dict[str, str]:
    return dict(line.split("==") for line in entries(lock))


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


@pytest.mark.parametrize("lock", LOCKS)
def test_every_package_is_pinned_to_one_release_with_hashes(lock: str) -> None:
    assert entries(lock)
    for line, hashes in entries(lock).items():
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[^\s;]+", line), line
        assert hashes, f"{line} has no hash"


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_names_no_host_and_no_option(lock: str) -> None:
    lines = (ROOT / lock).read_text().splitlines()
    assert not [line for line in lines if "://" in line or re.match(r"\s*-(?!-hash)", line)]


def test_the_development_lock_contains_the_other_whole() -> None:
    assert versions("requirements.txt").items() <= versions("requirements-dev.txt").items()


@pytest.mark.parametrize("source", ["requirements.in", "requirements-dev.in"])
def test_every_dependency_says_in_a_line_what_it_is_for(source: str) -> None:
    for line in (ROOT / source).read_text().splitlines():
        if line and not line.startswith(("#", "-r", "-c")):
            assert re.search(r"\S\s+# \w.{8,}", line), f"{source}: {line}"


@pytest.mark.parametrize("lock", LOCKS)
def test_nothing_is_older_than_the_lowest_release_known_to_be_safe(lock: str) -> None:
    have = versions(lock)
    old = {n: have[n] for n, low in SAFE.items() if n in have and numbers(have[n]) < numbers(low)}
    assert old == {}
