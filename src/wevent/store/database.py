"""Opens a store by path or URL, and gives transactions with typed errors.

SQLite is the embedded default: write-ahead log, every commit forced to the disk, what is deleted overwritten, files
that only their owner may read. PostgreSQL goes by URL. A store that is opened for reading is never written to: no
table, no pragma that lasts, no file beside it.
"""

from __future__ import annotations

import re
import sqlite3
import uuid
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine, make_url
from sqlalchemy.exc import ArgumentError

from wevent.errors import CorruptState, InvalidSetting, StoreUnavailable, StoreVersion
from wevent.store.checksums import check
from wevent.store.failures import DAMAGED, guarded, look_at_path
from wevent.store.schema import about

HEAD = "0001"
"""The newest version of the schema; `migrations/versions` has the way there."""

BUSY_SECONDS = 5.0
"""How long a transaction waits for another one to end."""

SCHEMA = "schema"
"""The key of the checksum of the schema, beside the store's own name."""

_CONNECT_SECONDS = 10
_LASTING = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON")


class Database:
    """An open store.

    Guarantees:
        A transaction is written whole or not at all.
        No error shows a value that was to be written.
    """

    def __init__(self, url: URL, *, busy_seconds: float = BUSY_SECONDS, read_only: bool = False) -> None:
        self.url, self.read_only = url, read_only
        self.embedded = url.get_backend_name() == "sqlite"
        self._engine = _engine(url, busy_seconds, read_only)
        self._file: tuple[int, int] | None = None  # device and inode, once the store was opened for writing

    @property
    def engine(self) -> Engine:
        """SQLAlchemy's engine below."""
        return self._engine

    @property
    def path(self) -> Path:
        """The file of an embedded store."""
        return Path(self.url.database or "")

    def __repr__(self) -> str:
        return f"Database({self.url.render_as_string(hide_password=True)})"

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction that may write; all of it, or nothing on an error."""
        if self.read_only:
            raise StoreUnavailable("the store was opened for reading only; nothing was written", kind="permission")
        self._still_there()
        engine = self._engine.execution_options(wevent_write=True)
        with guarded(self.url), engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One transaction that sees the store at one moment."""
        before = _signature(self.path) if self.embedded and self.read_only else None
        with guarded(self.url), self._engine.connect() as connection:
            if not self.embedded:
                connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            with connection.begin():
                yield connection
        if before is not None and before.immutable and before != _signature(self.path):
            raise StoreUnavailable("the store was written to while it was read; run it again", kind="locked")

    def identity(self) -> str:
        """The store's own name, the same for every copy of it."""
        with self.read() as connection:
            found = connection.execute(sa.select(about).where(about.c.key == "store")).all()
            if check(about, found) != 1:
                raise CorruptState(DAMAGED)
            return str(found[0].value)

    def _still_there(self) -> None:
        """A file that was removed or replaced would take all that is written with it."""
        if not self.embedded:
            return
        try:
            status = self.path.stat()
        except FileNotFoundError:
            raise StoreUnavailable(
                "the store's file or its folder is gone; nothing was written. Bring it back, or restore it from a copy",
                kind="path",
            ) from None
        except OSError as error:
            raise StoreUnavailable(f"the store's file cannot be reached ({error.strerror})", kind="path") from None
        present = (status.st_dev, status.st_ino)
        if self._file is None:
            self._file = present
        elif self._file != present:
            raise StoreUnavailable(
                "the store's file was replaced by another one while it was open; nothing was written. Run it again",
                kind="path",
            )

    def close(self) -> None:
        """Let go of all connections."""
        self._engine.dispose()


def open_database(
    where: str | Path, *, create: bool = False, read_only: bool = False, busy_seconds: float = BUSY_SECONDS
) -> Database:
    """Open a store by the path of a SQLite file or by URL, and bring its schema up to date.

    Guarantees:
        A store that is not there is made only if `create` says so; only its owner may read its files.
        A store that a newer program wrote is refused and left alone.
        With `read_only` nothing is written, neither to the store nor beside it.
    """
    url = to_url(where)
    database = Database(url, busy_seconds=busy_seconds, read_only=read_only)
    if database.embedded:
        look_at_path(database.path, create=create, read_only=read_only)
    try:
        with guarded(url):
            _upgrade(database, create=create, read_only=read_only)
    except BaseException:
        database.close()
        raise
    return database


def to_url(where: str | Path) -> URL:
    """The URL of a path or of words that are a URL already."""
    text = str(where)
    if "://" not in text:
        return URL.create("sqlite", database=text)
    try:
        url = make_url(re.sub(r"^postgres(ql)?://", "postgresql+psycopg://", text))
    except ArgumentError:
        raise InvalidSetting("the store is neither a path nor a URL such as postgresql://user@host/name") from None
    if url.get_backend_name() not in ("sqlite", "postgresql"):
        raise InvalidSetting("the store must be a path, sqlite:///… or postgresql://…", known=("sqlite", "postgresql"))
    if url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:"):
        raise InvalidSetting("a store must outlive the process; give the path of a file")
    return url


def _engine(url: URL, busy_seconds: float, read_only: bool) -> Engine:
    """An engine that never shows parameters, with transactions of our own in SQLite."""
    try:
        if url.get_backend_name() != "sqlite":
            timeout = {} if "connect_timeout" in url.query else {"connect_timeout": _CONNECT_SECONDS}
            return sa.create_engine(
                url,
                hide_parameters=True,
                pool_size=2,
                max_overflow=2,
                pool_reset_on_return="rollback",
                connect_args=timeout,
            )
        if read_only:
            path = Path(url.database or "")
            engine = sa.create_engine(url, hide_parameters=True, creator=lambda: _reader(path, busy_seconds))
        else:
            engine = sa.create_engine(url, hide_parameters=True, connect_args={"timeout": busy_seconds})
    except ImportError as error:
        raise InvalidSetting(
            f"this kind of store needs {error.name}, which is not installed; install the extra `postgres`"
        ) from None

    @sa.event.listens_for(engine, "connect")
    def set_up(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # transactions begin where we say so
        for pragma in ("query_only=ON",) if read_only else _LASTING:
            connection.execute(f"PRAGMA {pragma}")

    @sa.event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("wevent_write")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


@dataclass(frozen=True, slots=True)
class _Signature:
    """A SQLite file as it lies on the disk; `immutable` if no write-ahead log lies beside it."""

    immutable: bool
    facts: tuple[int, int, int]


def _signature(path: Path) -> _Signature:
    try:
        status = path.stat()
    except OSError as error:
        raise StoreUnavailable(f"the store's file cannot be read ({error.strerror})", kind="path") from None
    alone = not path.with_name(path.name + "-wal").exists()
    return _Signature(alone, (status.st_ino, status.st_size, status.st_mtime_ns))


def _reader(path: Path, busy_seconds: float) -> sqlite3.Connection:
    """A connection that changes no file and makes none.

    Beside a write-ahead log SQLite reads what others are writing, with locks. Without one it would make one; then
    nobody is writing, and the file is read as it lies. `Database.read` looks whether a writer began meanwhile.
    """
    way = "immutable=1" if _signature(path).immutable else "mode=ro"
    return sqlite3.connect(f"{path.absolute().as_uri()}?{way}", uri=True, timeout=busy_seconds, check_same_thread=False)


def _upgrade(database: Database, *, create: bool, read_only: bool) -> None:
    with database.read() as connection:
        version = _version(connection)
    if version == HEAD:
        return
    if version is None and not create:
        advice = "was something published, and is it the right one?" if read_only else "`wevent publish` makes one"
        raise StoreUnavailable(f"this database holds no store; {advice}", kind="database")
    if version is not None and version > HEAD and version.isdecimal():
        raise StoreVersion(
            f"the store has schema {version} and this program knows {HEAD}; use the newer program", version=version
        )
    if version is not None:
        raise CorruptState(f"the store names a schema that never was; {DAMAGED}")
    from alembic import command
    from alembic.config import Config

    with database.write() as connection:
        if not database.embedded:
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7083)")
        config = Config()
        scripts = Path(__file__).with_name("migrations")
        config.set_main_option("script_location", str(scripts).replace("%", "%%"))
        config.set_main_option("path_separator", "os")
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        if connection.execute(sa.select(about.c.value).where(about.c.key == "store")).first() is None:
            connection.execute(about.insert().values(key="store", value=uuid.uuid4().hex))
        if database.embedded:
            connection.execute(about.delete().where(about.c.key == SCHEMA))
            connection.execute(about.insert().values(key=SCHEMA, value=seal_of_schema(connection)))


def seal_of_schema(connection: Connection) -> str:
    """A checksum of how a SQLite file describes its tables."""
    tables = connection.exec_driver_sql("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name").all()
    return str(zlib.crc32(ascii([tuple(row) for row in tables]).encode()))


def _version(connection: Connection) -> str | None:
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    return connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
