"""A place to keep things: a path or a URL comes in, transactions and typed errors go out.

SQLite is the embedded default: write-ahead log, every commit forced to the disk. PostgreSQL goes by URL.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, NoSuchModuleError

from wevent.errors import CorruptState, InvalidSetting, StoreFull, StoreUnavailable, StoreVersion, StreamTaken
from wevent.store.schema import about

HEAD = "0002"
"""The newest version of the schema; `migrations/versions` has the way there."""

BUSY_SECONDS = 5.0
"""How long a transaction waits for another one to end."""


class Database:
    """An open store.

    Guarantees:
        A transaction is written whole or not at all.
        No error shows a value that was to be written.
    """

    def __init__(self, url: URL, *, busy_seconds: float = BUSY_SECONDS) -> None:
        self.url = url
        self.embedded = url.get_backend_name() == "sqlite"
        self._engine = _engine(url, busy_seconds)

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

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction that may write; all of it, or nothing on an error."""
        with guarded(), self._engine.connect().execution_options(wevent_write=True) as connection, connection.begin():
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One transaction that sees the store at one moment."""
        with guarded(), self._engine.connect() as connection, connection.begin():
            yield connection

    def identity(self) -> str:
        """The store's own name, the same for every copy of it."""
        with self.read() as connection:
            return str(connection.execute(sa.select(about.c.value).where(about.c.key == "store")).scalar_one())

    def close(self) -> None:
        """Let go of all connections."""
        self._engine.dispose()


def open_database(where: str | Path, *, create: bool = False, busy_seconds: float = BUSY_SECONDS) -> Database:
    """Open a store by the path of a SQLite file or by URL, and bring its schema up to date.

    Guarantees:
        A store that is not there is made only if `create` says so.
        A store that a newer program wrote is refused and left alone.
    """
    url = to_url(where)
    database = Database(url, busy_seconds=busy_seconds)
    if database.embedded and not create and not database.path.exists():
        raise StoreUnavailable("there is no store at this place; `wevent publish` makes one", url=str(url))
    if database.embedded and create and not database.path.absolute().parent.is_dir():
        raise StoreUnavailable("the folder of the store does not exist; make it first, or choose another")
    with guarded():
        _upgrade(database, create=create)
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


@contextmanager
def guarded() -> Iterator[None]:
    """Turn what databases say into the package's own errors, without any value that was to be written."""
    try:
        yield
    except IntegrityError:
        failure: Exception = StreamTaken(
            "another writer kept the same slot first, or broke the order of the store; nothing was written. "
            "Stop one of the two, then run the command again"
        )
    except DBAPIError as error:
        failure = _translated(error)
    except NoSuchModuleError as error:
        failure = InvalidSetting(f"no such kind of store: {error.args[0]}")
    except ImportError as error:
        failure = InvalidSetting(f"this kind of store needs a package that is not installed ({error.name}); "
                                 "install the extra `postgres`")  # fmt: skip
    else:
        return
    raise failure from None


def _translated(error: DBAPIError) -> Exception:
    said = str(error.orig).lower()
    state = getattr(error.orig, "sqlstate", None)
    if state == "53100" or "disk is full" in said or "no space left" in said:
        return StoreFull("there is no room left for the store; nothing was written. Make room, then run it again")
    if "locked" in said or "busy" in said or state in ("55P03", "40P01", "40001", "57014"):
        return StoreUnavailable("the store is locked by another program; nothing was written. Run it again")
    if "malformed" in said or "not a database" in said:
        return CorruptState("the store's file is damaged or is no store; restore it from a whole copy")
    kind = type(error.orig).__name__
    return StoreUnavailable(
        f"the store cannot be reached or refused ({kind}); nothing was half-written. Run it again", kind=kind
    )


def _engine(url: URL, busy_seconds: float) -> Engine:
    """An engine that never shows parameters, with transactions of our own in SQLite."""
    try:
        if url.get_backend_name() != "sqlite":
            return sa.create_engine(
                url, hide_parameters=True, pool_size=2, max_overflow=2, pool_reset_on_return="rollback"
            )
        engine = sa.create_engine(url, hide_parameters=True, connect_args={"timeout": busy_seconds})
    except ImportError as error:
        raise InvalidSetting(
            f"this kind of store needs {error.name}, which is not installed; install the extra `postgres`"
        ) from None

    @sa.event.listens_for(engine, "connect")
    def set_up(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # transactions begin where we say so
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @sa.event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("wevent_write")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _upgrade(database: Database, *, create: bool) -> None:
    with database.read() as connection:
        version = _version(connection)
    if version == HEAD:
        return
    if version is None and not create:
        raise StoreUnavailable("this database holds no store; `wevent publish` makes one")
    if version is not None and version > HEAD:
        raise StoreVersion(
            f"the store has schema {version} and this program knows {HEAD}; use the newer program", version=version
        )
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


def _version(connection: Connection) -> str | None:
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    return connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
