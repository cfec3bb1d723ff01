#!/bin/sh
# Make .venv with the locked packages: sh scripts/venv.sh requirements.txt|requirements-dev.txt
# Does nothing when the lock is the one installed last (.venv/installed holds its checksum).
# PYTHON chooses the interpreter; uv is used when it is on PATH, and is not needed.
set -eu
cd "$(dirname "$0")/.."
lock=$1

good_python() { # runs, is 3.11 to 3.13
    "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null
}

find_python() {
    for name in ${PYTHON:-python3.11 python3.12 python3.13 python3}; do
        if command -v "$name" >/dev/null 2>&1 && good_python "$name"; then
            command -v "$name"
            return
        fi
    done
    echo "No Python 3.11, 3.12 or 3.13 was found (looked for: ${PYTHON:-python3.11 python3.12 python3.13 python3})." >&2
    exit 1
}

if [ ! -x .venv/bin/python ] || ! good_python .venv/bin/python; then
    python=$(find_python)
    echo "making .venv with $("$python" -V)"
    rm -rf .venv
    "$python" -m venv .venv || {
        rm -rf .venv
        echo "This Python cannot make virtual environments; on Debian: apt-get install python3-venv" >&2
        exit 1
    }
fi

# requirements-dev.txt contains requirements.txt whole, so its install stands for both.
checksum() { .venv/bin/python -c 'import hashlib, sys; print(hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest(), sys.argv[1])' "$1"; }
stamp=.venv/installed
if [ -f "$stamp" ] && grep -qxF "$(checksum "$lock")" "$stamp"; then
    exit 0
fi

echo "installing $lock"
if command -v uv >/dev/null 2>&1; then
    VIRTUAL_ENV="$PWD/.venv" uv pip install --quiet --require-hashes -r "$lock"
else
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input \
        --require-hashes -r "$lock"
fi
checksum requirements.txt >"$stamp"
if [ "$lock" = requirements-dev.txt ]; then
    checksum requirements-dev.txt >>"$stamp"
fi
