"""A state folder that is thrown away, so that no test reaches ``var/`` of the clone.

Loaded by ``-p tests.early`` (pyproject.toml): pytest-django reads the settings before any
conftest.py is. Needs `python -m pytest`, which puts the clone on the path.
"""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

if "THROUGHLINE_TEST_VAR" in os.environ:  # keep it, to look at it afterwards
    VAR = os.environ["THROUGHLINE_TEST_VAR"]
else:
    VAR = tempfile.mkdtemp(prefix="throughline-test-")
    atexit.register(shutil.rmtree, VAR, ignore_errors=True)

os.environ["THROUGHLINE_VAR"] = VAR
os.environ["SECRET_KEY"] = "only-for-tests-" * 5
os.environ["THROUGHLINE_LOOPBACK_HOSTS"] = "1"  # nodes of tests are on this machine
# A file, not memory: threads and worker processes of a test share it.
os.environ["THROUGHLINE_TEST_DB"] = f"{VAR}/test.sqlite3"
(Path(VAR) / "static").mkdir(parents=True, exist_ok=True)
