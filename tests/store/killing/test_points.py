"""The command killed at every write, sync, rename and send: nothing shown changes, nothing is lost without a word."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from tests.store.postgres import server

ROOT = Path(__file__).parents[3]
needs_a_compiler = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="needs Linux and a C compiler (cc)"
)


@pytest.fixture(scope="session")
def shim() -> Iterator[Path]:
    """The library that is preloaded."""
    folder = Path(mkdtemp(prefix="wevent-shim-"))
    library = folder / "shim.so"
    source = Path(__file__).with_name("shim.c")
    subprocess.run([str(shutil.which("cc")), "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    yield library
    shutil.rmtree(folder)


def kill(shim: Path, folder: Path, target: str, step: int, server: str = "") -> dict[str, Any]:
    """Kill a kind of command at every `step`-th call; return what the driver found."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.store.killing.driver", str(folder / "town"), target, str(step), server],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}", "LD_PRELOAD": str(shim)},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    found: dict[str, Any] = json.loads(ended.stdout)
    assert found["problems"] == []
    return found


@needs_a_compiler
@pytest.mark.slow
@pytest.mark.parametrize(("target", "step", "least"), [("operator", 1, 300), ("files", 2, 50), ("requirements", 2, 25)])
def test_sqlite(target: str, step: int, least: int, shim: Path, tmp_path: Path) -> None:
    """Before, after and in the middle of calls on SQLite, for `operator` of every one; few lose a slot."""
    found = kill(shim, tmp_path, target, step)
    assert found["kills"] >= least
    assert found["endings"]["published"] > 0
    assert target == "requirements" or found["endings"]["lost"] > 0


@needs_a_compiler
@pytest.mark.slow
@pytest.mark.parametrize(("target", "step", "least"), [("operator", 3, 90), ("requirements", 5, 10)])
def test_postgres(target: str, step: int, least: int, shim: Path, tmp_path: Path) -> None:
    """The same at every third or fifth call on PostgreSQL, what is sent to the server included."""
    folder = Path(mkdtemp(prefix="wevent-postgres-"))
    try:
        with server(folder) as address:
            found = kill(shim, tmp_path, target, step, address)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    assert found["kills"] >= least
    assert found["endings"]["published"] > 0


@needs_a_compiler
def test_a_few(shim: Path, tmp_path: Path) -> None:
    """The same at every 37th call on SQLite, for every day."""
    assert kill(shim, tmp_path, "operator", 37)["kills"] >= 3
