"""Remembers outside the store what may have been shown and promised.

A store that was restored from a backup, copied, emptied or lost has forgotten what was spent and promised since. The
witness is a small file that neither lies in the database nor goes into its backups (SPEC §8). Its epoch counts how
often the stream was opened for publishing. The witness learns of a slot after the slot is charged and before its
release is kept, and of a requirement change before the change is kept. So no release that anybody can read, and no
promise that anybody was given, is newer than the witness.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from sqlalchemy.engine import URL

from wevent.errors import StoreFull, StoreUnavailable, StreamTaken, WitnessMissing

LOCK_SECONDS = 5.0
"""How long one process waits for another that writes the witness."""

_LARGEST = 4096
"""Bytes; a witness is far smaller."""


@dataclass(frozen=True, slots=True)
class WitnessRecord:
    """What a witness knows.

    Attributes:
        store: the store's own name; copies share it.
        stream: the stream's name.
        slot: the last slot that may have been shown, 0 for none.
        epoch: how often the stream was opened for publishing.
        changes: how many requirement changes were ever stored.
        longest_window: the longest window that anybody was ever promised, in slots, as the ledger keeps it.
        fingerprint: a sum of hashes of the requirement changes, which tells whether others have taken their place.
    """

    store: str
    stream: str
    slot: int = 0
    epoch: int = 0
    changes: int = 0
    longest_window: int = 1
    fingerprint: int = 0


class Witness:
    """A file that remembers one stream.

    Guarantees:
        After `write` the file holds the new record, or, if that failed, the old one; never a part of either.
        A symbolic link stays one: the file that it names is written.
        Only the owner of the file may read it.
        `advance` and `count_changes` never change the record of another store, stream or epoch.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> WitnessRecord | None:
        """What the file says; None if there is none."""
        try:
            return _parse(self.path.read_text("utf-8"))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            raise WitnessMissing(
                f"the witness file {self.path} is damaged; move it away and say which slot may have been shown last "
                "(`--restored SLOT`)"
            ) from None
        except OSError as error:
            raise StoreUnavailable(f"the witness file {self.path} cannot be read ({error.strerror})") from None

    def write(self, record: WitnessRecord) -> None:
        """Replace what the file says, and force it to the disk."""
        real = self._real()
        beside = real.with_name(real.name + ".new")
        try:
            _make_folder(real.parent)
            beside.touch(mode=0o600)
            beside.chmod(0o600)  # where it was left behind by another user
            with beside.open("w", encoding="utf-8") as file:
                json.dump({**asdict(record), "check": _check(record)}, file)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(real)
            _sync_folder(real.parent)
        except OSError as error:
            full = error.errno == 28
            kind = StoreFull if full else StoreUnavailable
            raise kind(
                f"the witness file {self.path} cannot be written ({error.strerror}); the slot is not released, "
                "the change not stored. Mend it, then run it again"
            ) from None

    def update(self, change: Callable[[WitnessRecord | None], WitnessRecord]) -> WitnessRecord:
        """Read, change and write as one step among all processes; what `change` raises leaves the file alone."""
        with self.locked():
            known = self.read()
            record = change(known)
            if record != known:
                self.write(record)
        return record

    def advance(self, slot: int, record: WitnessRecord) -> None:
        """Let the witness know that `slot` may be shown from now on.

        Args:
            slot: the slot.
            record: store, stream and epoch of the publisher.
        """
        self.check(record)  # before a missing folder is made
        self.update(lambda known: replace(_still_ours(known, record), slot=max(slot, known.slot if known else 0)))

    def check(self, record: WitnessRecord) -> None:
        """Raise unless the file is there and nobody else went on with the store, stream and epoch of a record."""
        _still_ours(self.read(), record)

    def count_changes(self, record: WitnessRecord, new: int, before: int) -> None:
        """Let the witness know of requirement changes that are about to be stored.

        Args:
            record: store, stream and epoch as the store has them, its changes with the new ones, and their longest
                window.
            new: how many of the changes are new.
            before: the fingerprint of the store without the new ones. If the witness knows of others, it keeps to those
                until they are back.
        """

        def more(known: WitnessRecord | None) -> WitnessRecord:
            known = _ours(known, record)
            if known.epoch < record.epoch or known.changes < record.changes - new:
                raise WitnessMissing(
                    f"the witness file {self.path} is older than the store (epoch {known.epoch} and {known.changes} "
                    f"requirement changes, the store has {record.epoch} and {record.changes - new}): another host "
                    "went on. Bring its witness here, then run it again. Nothing was stored"
                )
            longest = max(known.longest_window, record.longest_window)
            marks = record.fingerprint if known.fingerprint == before else known.fingerprint
            more = max(known.changes, record.changes)
            return replace(known, changes=more, longest_window=longest, fingerprint=marks)

        _ours(self.read(), record)
        self.update(more)

    def check_names(self) -> None:
        """Refuse a file of several names: only one of them would be kept up to date."""
        try:
            names = self.path.stat().st_nlink
        except OSError:
            return  # `read` says what is wrong
        if names > 1:
            raise StoreUnavailable(
                f"the witness file {self.path} has several names (hard links), and only one of them would be kept up "
                "to date. Remove the others, then run it again. Nothing was changed"
            )

    def elsewhere(self, record: WitnessRecord) -> Path | None:
        """Another file in the same folder that is a witness of the same stream of the same store."""
        real = self._real()
        if not real.parent.is_dir():
            return None
        for path in sorted(real.parent.glob("*.json")):
            try:
                if path.resolve() != real and path.stat().st_size <= _LARGEST:
                    found = _parse(path.read_text("utf-8"))
                    if (found.store, found.stream) == (record.store, record.stream):
                        return path
            except (OSError, ValueError, KeyError, TypeError):
                continue
        return None

    def _real(self) -> Path:
        real = Path(os.path.realpath(self.path))
        if real.is_symlink():
            raise StoreUnavailable(f"the witness file {self.path} is a symbolic link that leads in a circle")
        return real

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from writing: an exclusive transaction on an empty SQLite file beside the witness."""
        real = self._real()
        lock = real.with_name(real.name + ".lock")
        try:
            _make_folder(real.parent)
            if not lock.exists():
                lock.touch(mode=0o600)
            connection = sqlite3.connect(lock, timeout=LOCK_SECONDS, isolation_level=None)
        except (OSError, sqlite3.Error):
            raise StoreUnavailable(
                f"the lock of the witness file {self.path} cannot be made; nothing was changed"
            ) from None
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error:
            connection.close()
            raise StoreUnavailable(
                f"the witness file {self.path} is locked by another process; nothing was changed. Run it again"
            ) from None
        try:
            yield
        finally:
            connection.close()


def place_of(url: URL) -> str:
    """Where a store lies, the same words whatever names lead there.

    Guarantees:
        Two paths to one SQLite file, over symbolic links or relative, give the same place.
    """
    if url.get_backend_name() == "sqlite":
        return os.path.realpath(url.database or "")
    query = {name: value if isinstance(value, str) else ",".join(value) for name, value in url.query.items()}
    host = url.host or query.get("host") or "localhost"
    if host in ("127.0.0.1", "::1") or host.startswith("/"):
        host = "localhost"
    name = url.database or query.get("dbname") or url.username or ""
    return f"postgresql://{host.lower()}:{url.port or query.get('port') or 5432}/{name}"


def witness_name(stream: str, place: str) -> str:
    """The name of a witness file: readable words, and a hash so that no two streams or places share one."""
    words = re.sub(r"[^A-Za-z0-9.]+", "_", f"{stream}-{Path(place).stem}")[:80]
    digest = hashlib.sha256(json.dumps([stream, place]).encode()).hexdigest()[:24]
    return f"{words}-{digest}.json"


def _ours(known: WitnessRecord | None, record: WitnessRecord) -> WitnessRecord:
    if known is None:
        raise WitnessMissing(
            "the witness file of this stream is gone; nothing was released or stored. Bring it back, or run "
            "`wevent publish --restored SLOT` with the last slot that may have been shown"
        )
    if (known.store, known.stream) != (record.store, record.stream):
        raise WitnessMissing(
            "the witness file belongs to another store or stream; nothing was released or stored. Give each stream a "
            "witness of its own (`witness` under [store])"
        )
    return known


def _still_ours(known: WitnessRecord | None, record: WitnessRecord) -> WitnessRecord:
    known = _ours(known, record)
    if known.epoch != record.epoch:
        raise StreamTaken(
            f"another copy of this store was opened for publishing (epoch {known.epoch}, ours is {record.epoch}); "
            "nothing was released. Stop one of the two",
            epoch=known.epoch,
        )
    return known


def _parse(text: str) -> WitnessRecord:
    tree = json.loads(text)
    numbers = [tree[name] for name in ("slot", "epoch", "changes", "longest_window", "fingerprint")]
    if not all(type(number) is int and number >= 0 for number in numbers):
        raise ValueError("not a number")
    record = WitnessRecord(str(tree["store"]), str(tree["stream"]), *numbers)
    if tree["check"] != _check(record):
        raise ValueError("damaged")
    return record


def _check(record: WitnessRecord) -> str:
    return hashlib.sha256(json.dumps(asdict(record), sort_keys=True).encode()).hexdigest()[:16]


def _make_folder(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def _sync_folder(folder: Path) -> None:
    """Make a rename last; where folders cannot be opened, the system does so by itself."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
