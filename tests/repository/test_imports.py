"""Who may import whom (the rules and their reason: docs/decisions.md, "Layers").

pure modules <- models <- actions <- access, execution <- views, tasks, api <- webapp.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.repository.places import PACKAGES, ROOT, python_files

# A part of runs imports only from its own rank or from below.
VALUES_ONLY = [
    "engines",
    "drivers",
    "readers",
    "metrics",
    "caveats",
    "intake",
    "charts",
    "compareseries",
    "viewstate",
    "thinning",
    "markdown",
    "exports",
    "waterfall",
]
RANKS = {
    **dict.fromkeys(VALUES_ONLY, 0),
    **dict.fromkeys(["models", "migrations", "live"], 1),
    **dict.fromkeys(["actions", "pending", "outlines", "runlines"], 2),
    **dict.fromkeys(["access", "execution"], 3),
}
TOP = 4  # views, tasks, api, commands and whatever else shows or wires

# What knows no Django: it takes values and gives values.
PURE = [
    "runs.engines",
    "runs.drivers",
    "runs.readers",
    "runs.metrics",
    "runs.caveats",
    "runs.intake",
    "runs.exports",
    "runs.waterfall",
    "hosts.nodekit",
    "hosts.transport",
    "hosts.demo",
    "hosts.kit",
    "hosts.node",
    "hosts.sshconfig",
]
FRAMEWORK = {"django", "celery", "kombu", "redis", "ninja", "csp", "django_htmx", "psycopg"}

# These are shipped to a node, which has Python and nothing else.
SHIPPED = ["hosts.nodekit", "hosts.demo.simulator"]

TRANSPORT = ["hosts.transport", "hosts.node", "hosts.kit", "hosts.links", "hosts.launchers"]

# (importer, imported): why it is right all the same.
EXCEPTIONS = {
    ("runs.execution.story", "runs.tasks"): "rings the bell for an operation it has written down",
    ("runs.execution.sweeps", "runs.tasks"): "asks the workers for a sign of life",
    ("runs.execution.sweeps", "runs.outcomes"): "answers the caveats whose campaign has ended",
    ("runs.execution.sweeps", "runs.stopping"): "takes the looks of plans, judged as on the page",
    ("runs.execution.sweeps", "runs.shares"): "holds frozen comparisons against what is known",
    ("runs.execution.conductor", "runs.tasks"): "rings the bell for imports that are due",
    ("runs.actions.import_job", "runs.tasks"): "rings the bell for an import it has written down",
}


@cache
def module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def within(name: str, *prefixes: str) -> bool:
    return any(name == prefix or name.startswith(prefix + ".") for prefix in prefixes)


def imported(path: Path) -> Iterator[str]:
    """Full names of everything the file imports, wherever in it the import stands."""
    package = module(path) if path.name == "__init__.py" else module(path).rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base]).rstrip(".")
            yield from (f"{base}.{alias.name}" for alias in node.names)


@cache
def edges() -> list[tuple[str, str]]:
    """(importer, imported) for all of the product; the exceptions are left out."""
    found = [(module(path), name) for path in python_files(*PACKAGES) for name in imported(path)]
    return [
        (who, what)
        for who, what in found
        if not any(who == a and within(what, b) for a, b in EXCEPTIONS)
    ]


def broken(*, who: tuple[str, ...], what: tuple[str, ...]) -> list[str]:
    return [f"{a} imports {b}" for a, b in edges() if within(a, *who) and within(b, *what)]


def test_hosts_never_imports_runs() -> None:
    assert broken(who=("hosts",), what=("runs",)) == []


def test_people_imports_neither_hosts_nor_runs() -> None:
    assert broken(who=("people",), what=("hosts", "runs")) == []


@pytest.mark.parametrize("pure", PURE)
def test_a_pure_module_knows_no_framework_and_no_model(pure: str) -> None:
    forbidden = (*FRAMEWORK, "runs.models", "hosts.models", "people", "webapp")
    assert broken(who=(pure,), what=forbidden) == []


def rank(name: str) -> int:
    part = name.split(".")[1] if "." in name else ""
    return RANKS.get(part, TOP)


def test_no_part_of_runs_imports_from_above_itself() -> None:
    inside = [(a, b) for a, b in edges() if within(a, "runs") and within(b, "runs") and b != "runs"]
    assert [f"{a} imports {b}" for a, b in inside if rank(a) < rank(b)] == []


def test_execution_alone_joins_runs_with_the_transport() -> None:
    joined = broken(who=("runs",), what=tuple(TRANSPORT))
    assert [line for line in joined if not line.startswith("runs.execution")] == []


def test_only_the_transports_ssh_and_the_demo_node_speak_asyncssh() -> None:
    ssh = ("hosts.transport.ssh", "hosts.transport.login", "hosts.transport.identity")
    allowed = (*ssh, "hosts.demo")
    speakers = {a for a, b in edges() if within(b, "asyncssh")}
    assert {name for name in speakers if not within(name, *allowed)} == set()


@pytest.mark.parametrize("shipped", SHIPPED)
def test_what_is_shipped_to_a_node_needs_nothing_but_python(shipped: str) -> None:
    foreign = [
        f"{a} imports {b}"
        for a, b in edges()
        if within(a, shipped)
        and not within(b, shipped)
        and b.split(".")[0] not in sys.stdlib_module_names
    ]
    assert foreign == []


def test_the_product_imports_no_test() -> None:
    assert broken(who=PACKAGES, what=("tests",)) == []


def test_every_exception_is_still_needed() -> None:
    for importer, imported_name in EXCEPTIONS:
        path = ROOT / f"{importer.replace('.', '/')}.py"
        assert any(within(name, imported_name) for name in imported(path)), importer


@pytest.mark.parametrize("package", PACKAGES)
def test_every_folder_with_python_in_it_is_a_package(package: str) -> None:
    folders = {path.parent for path in python_files(package)}
    assert [str(f.relative_to(ROOT)) for f in folders if not (f / "__init__.py").exists()] == []
