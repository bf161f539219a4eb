"""Turns errors of SQLite, PostgreSQL and the file system into the package's own errors, each with advice.

Nothing that was to be written and no password ever stands in a message: messages are made here, from the kind of error
and from the host, port, user, database or path that the operator gave.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, IntegrityError, MultipleResultsFound, NoResultFound, NoSuchModuleError

from wevent.errors import CorruptState, InvalidSetting, StoreFull, StoreUnavailable, StreamTaken, WeventError

DAMAGED = "the store's file is damaged or is no store; restore it from a whole copy"

OWNER_ONLY = 0o600
"""Who may read and write the files of a store."""

_SQLITE_BEGINNING = b"SQLite format 3\0"
_LOCKED = ("55P03", "40P01", "40001", "57014")
_HOST = ("translate host name", "name resolution", "resolve host", "not known", "refused", "timeout", "timed out",
         "no route to host", "network is unreachable", "no such file or directory", "server closed",
         "could not connect", "connection is lost", "connection is closed", "terminating connection")  # fmt: skip
_GONE = ("08000", "08001", "08003", "08004", "08006", "57P01", "57P02", "57P03")
_FILE = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}


@contextmanager
def guarded(url: URL | None = None) -> Iterator[None]:
    """Turn what databases say into the package's own errors, without any value that was to be written."""
    try:
        yield
    except IntegrityError:
        failure: Exception = StreamTaken(
            "another writer kept the same slot first, or broke the order of the store; nothing was written. "
            "Stop one of the two, then run the command again"
        )
    except DBAPIError as error:
        failure = _translated(error, url)
    except (NoResultFound, MultipleResultsFound):
        failure = CorruptState("the store lacks a row that it must have; restore it from a whole copy")
    except UnicodeDecodeError:  # Python's module stumbles over a message of SQLite that quotes damaged words
        failure = CorruptState(DAMAGED)
    except NoSuchModuleError as error:
        failure = InvalidSetting(f"no such kind of store: {error.args[0]}")
    except ImportError as error:
        failure = InvalidSetting(f"this kind of store needs a package that is not installed ({error.name}); "
                                 "install the extra `postgres`")  # fmt: skip
    else:
        return
    raise failure from None


def _translated(error: DBAPIError, url: URL | None) -> WeventError:
    said = str(error.orig).lower()
    code = getattr(error.orig, "sqlite_errorcode", None)
    if code is not None:
        return _of_sqlite(code & 0xFF, said, url)
    if isinstance(error.orig, sqlite3.Error):  # raised by Python's module itself, which gives no code
        return _of_sqlite(sqlite3.SQLITE_ERROR, said, url)
    return _of_postgres(getattr(error.orig, "sqlstate", None), said, type(error.orig).__name__, url)


def _of_sqlite(code: int, said: str, url: URL | None) -> WeventError:
    file = "the store's file" if url is None else f"the store's file {url.database}"
    if code == sqlite3.SQLITE_FULL or "disk is full" in said:
        return _full()
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) or "database is locked" in said:
        return _locked()
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or "malformed" in said or "not a database" in said:
        other = no_store(Path(url.database)) if url is not None and url.database else None
        return other or CorruptState(DAMAGED)
    if "could not decode" in said or "no such table" in said or "no such column" in said or "too big" in said:
        return CorruptState(DAMAGED)
    if code == sqlite3.SQLITE_READONLY or "readonly" in said:
        return _unavailable(
            "permission",
            f"{file} may be read and not written by this user; nothing was written. Change who "
            "may write the file and its folder, or choose another store",
        )
    if code in _FILE or "unable to open" in said:
        return _unavailable(
            "path",
            f"{file} cannot be opened: this user may not read it, or not write to its folder. "
            "Change the permissions, or choose another path",
        )
    if code == sqlite3.SQLITE_IOERR:
        return _unavailable(
            "disk",
            f"{file} cannot be read or written: the disk reports an error, or the file was cut "
            "off. Nothing was half-written; look after the disk first",
        )
    return _unavailable("sqlite", "the store refused what was asked of it; nothing was half-written. Run it again")


def _of_postgres(state: str | None, said: str, kind: str, url: URL | None) -> WeventError:
    host = "the server" if url is None else f"{url.host or 'the local socket'}:{url.port or 5432}"
    user = "this user" if url is None or url.username is None else f"the user {url.username!r}"
    name = "the database" if url is None else f"the database {url.database!r}"
    if state == "53100" or "no space left" in said:
        return _full()
    if state in _LOCKED or "database is locked" in said:
        return _locked()
    if state in ("42P01", "42703", "XX001", "XX002") or "invalid page" in said:
        return CorruptState("the database is damaged or holds only a part of a store; restore it from a whole copy")
    if state in ("28P01", "28000") or "password" in said or "pg_hba" in said or 'role "' in said:
        return _unavailable(
            "password",
            f"{host} does not let {user} in: the user or the password is wrong, or the server "
            "admits nobody from here. Check them in the store's URL",
        )
    if state == "3D000" or ("database" in said and "does not exist" in said):
        return _unavailable(
            "database",
            f"{host} has no database of the name {'' if url is None else url.database!r}; create "
            "it (`createdb`), or correct the store's URL",
        )
    if state == "42501" or "permission denied" in said:
        return _unavailable(
            "permission",
            f"{user} may not do this in {name}; grant SELECT for reading, and SELECT, INSERT, "
            "UPDATE and DELETE for publishing. Nothing was written",
        )
    if state == "25006":
        return StoreUnavailable(
            f"{host} is read-only now, such as a standby; publish to the primary server", kind="host"
        )
    if state in ("53300", "53400") or "too many" in said:
        return _unavailable("host", f"{host} has no connection left; end another one, then run it again")
    if state in _GONE or (state is None and any(words in said for words in _HOST)):
        return _unavailable(
            "host",
            f"no PostgreSQL server answers at {host}, or the connection was lost; nothing was half-written. "
            "Check host and port in the store's URL, and that the server runs. Run it again then",
        )
    return StoreUnavailable(
        f"the store cannot be reached or refused ({kind}); nothing was half-written. Run it again", kind=kind
    )


def _unavailable(kind: str, words: str) -> StoreUnavailable:
    return StoreUnavailable(words, kind=kind)


def _full() -> StoreFull:
    return StoreFull("there is no room left for the store; nothing was written. Make room, then run it again")


def _locked() -> StoreUnavailable:
    return _unavailable("locked", "the store is locked by another program; nothing was written. Run it again")


def look_at_path(path: Path, *, create: bool, read_only: bool) -> None:
    """Say what is wrong with a path; make the file if it may be made, for its owner alone."""
    try:
        if path.is_dir():
            raise StoreUnavailable(f"the store's path {path} is a folder; give the path of a file in it", kind="path")
        if path.exists():
            return  # and is not opened here: closing it again would drop the locks that SQLite holds in this process
        if not create:
            advice = "is the path right, and was something published?" if read_only else "`wevent publish` makes one"
            raise StoreUnavailable(f"there is no store at {path}; {advice}", kind="path")
        if not path.absolute().parent.is_dir():
            raise StoreUnavailable(
                "the folder of the store does not exist; make it first, or choose another", kind="path"
            )
        make_private(path)
    except OSError as error:
        raise StoreUnavailable(
            f"the store's path {path} cannot be used ({error.strerror}); change its permissions, or choose another",
            kind="path",
        ) from None


def no_store(path: Path) -> CorruptState | None:
    """What to say of a file that SQLite does not know, if it is of another kind and not merely damaged."""
    try:
        with path.open("rb") as file:
            begins = file.read(len(_SQLITE_BEGINNING))
    except OSError:
        return None
    same = sum(ours == theirs for ours, theirs in zip(_SQLITE_BEGINNING, begins, strict=False))
    if not begins or same >= len(_SQLITE_BEGINNING) // 2:
        return None
    return CorruptState(
        f"{path} is no store: it does not begin as a SQLite file does. Give the path of the store's file, which "
        "`url` under [store] names",
        kind="path",
    )


def make_private(path: Path) -> None:
    """Make an empty file that only its owner may read; one that is there is not touched, see `look_at_path`."""
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, OWNER_ONLY))
