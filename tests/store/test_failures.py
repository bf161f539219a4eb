"""Errors of a connection say which part is wrong, and never a password."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.store.scene import Town, random_rows

from wevent.errors import CorruptState, StoreUnavailable, StreamBusy, WeventError
from wevent.store.database import open_database
from wevent.store.failures import guarded

SECRET = "open-sesame"  # noqa: S105
URL = sa.make_url(f"postgresql+psycopg://ann:{SECRET}@db.example:5433/town")

SAID = {  # what libpq and the server really say
    "host": [
        'failed to resolve host "db.example": [Errno -2] Name or service not known',
        'connection to server at "10.0.0.1", port 5433 failed: Connection refused\n\tIs the server running?',
        "connection timeout expired",
        'connection to server on socket "/tmp/.s.PGSQL.5432" failed: No such file or directory',
        "server closed the connection unexpectedly",
        "consuming input failed: server closed the connection unexpectedly",
        "the connection is lost",
    ],
    "password": [
        f'FATAL:  password authentication failed for user "ann" ({SECRET})',
        "fe_sendauth: no password supplied",
        'FATAL:  no pg_hba.conf entry for host "1.2.3.4", user "ann", database "town", no encryption',
        'FATAL:  role "ann" does not exist',
    ],
    "database": ['FATAL:  database "town" does not exist'],
    "permission": ["permission denied for table slots", "permission denied for schema public"],
}
ADVICE = {
    "host": "db.example:5433",
    "password": "'ann'",
    "database": "no database of the name 'town'",
    "permission": "grant SELECT",
}


@pytest.mark.parametrize(("kind", "said"), [(kind, words) for kind, all_of in SAID.items() for words in all_of])
def test_what_a_server_says(kind: str, said: str) -> None:
    """Each failure has words of its own, with advice that fits and without the password."""
    psycopg = pytest.importorskip("psycopg")
    with pytest.raises(StoreUnavailable) as caught, guarded(URL):
        raise sa.exc.OperationalError("SELECT 1", {"password": SECRET}, psycopg.OperationalError(said))
    assert caught.value.fields["kind"] == kind
    assert ADVICE[kind] in str(caught.value)
    assert SECRET not in str(caught.value) + repr(caught.value)
    assert caught.value.__cause__ is None


def test_a_host_that_is_none(tmp_path: Path) -> None:
    """A port at which nobody listens is the host's fault, said at once."""
    pytest.importorskip("psycopg")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(StoreUnavailable, match=f"answers at 127.0.0.1:{port}"):
        open_database(f"postgresql://ann:{SECRET}@127.0.0.1:{port}/town")


def test_paths(tmp_path: Path) -> None:
    """A folder instead of a file, a folder that is not there, a file in place of a folder."""
    with pytest.raises(StoreUnavailable, match="is a folder"):
        open_database(tmp_path, create=True)
    with pytest.raises(StoreUnavailable, match="folder of the store does not exist"):
        open_database(tmp_path / "none" / "town.db", create=True)
    (tmp_path / "file").write_text("words")
    with pytest.raises(StoreUnavailable, match=r"folder of the store does not exist|cannot be used"):
        open_database(tmp_path / "file" / "town.db", create=True)
    (tmp_path / "empty.db").touch()
    with pytest.raises(StoreUnavailable, match="holds no store"):
        open_database(tmp_path / "empty.db")


def test_a_folder_that_was_removed(tmp_path: Path) -> None:
    """A store whose folder is gone, or whose file was replaced, is noticed at the next transaction."""
    for replace in (False, True):
        folder = tmp_path / f"place-{replace}"
        folder.mkdir()
        town = Town(folder / "town.db", tmp_path / f"{replace}.json")
        town.people(3)
        session = town.session()
        session.release(random_rows(session, 1))
        shutil.copytree(folder, tmp_path / "other", dirs_exist_ok=True)
        shutil.rmtree(folder)
        if replace:
            shutil.copytree(tmp_path / "other", folder)
        with pytest.raises(StoreUnavailable, match="replaced" if replace else "gone"):
            session.release(random_rows(session, 2))


@pytest.mark.parametrize("version", ["0000", "0", "x001", "0002"])
def test_a_version_that_never_was(tmp_path: Path, version: str) -> None:
    """A damaged version is damage; a later one is another program's."""
    town = Town(tmp_path / "town.db", tmp_path / "w.json")
    with town.database.write() as connection:
        connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{version}'")  # noqa: S608
    with pytest.raises(WeventError) as caught:
        open_database(tmp_path / "town.db")
    assert isinstance(caught.value, CorruptState) == (version != "0002")


def test_a_second_look_keeps_the_locks_of_the_first(tmp_path: Path) -> None:
    """Opening a store, or trying to lock its stream, again in one process takes away no lock that it holds."""
    path = tmp_path / "town.db"
    town = Town(path, tmp_path / "witness.json")
    town.people(3)
    code = (
        "import sys, sqlite3; c = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)\n"
        "try: c.execute('BEGIN EXCLUSIVE'); print('taken')\n"
        "except sqlite3.OperationalError: print('locked')"
    )

    def try_elsewhere(file: Path) -> str:
        ran = subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=True)
        return ran.stdout.strip()

    with town.session():
        with pytest.raises(StreamBusy):
            town.session()
        assert try_elsewhere(tmp_path / "town.db.1.lock") == "locked"
    with town.database.write():
        open_database(path).close()
        assert try_elsewhere(path) == "locked"
