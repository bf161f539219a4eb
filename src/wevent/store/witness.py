"""What may have been shown, told from outside the store: a path comes in, the last such slot goes out.

A store that was restored from a backup, or copied, has forgotten what was spent since. The witness is a small
file that neither lies in the database nor goes into its backups (SPEC §8). It moves on after a slot is charged
and before its release is kept, so that no release that anybody can read is newer than the witness.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from wevent.errors import StoreFull, StoreUnavailable, StreamTaken, WitnessMissing


@dataclass(frozen=True, slots=True)
class Testimony:
    """What a witness knows.

    Attributes:
        store: the store's own name; copies share it.
        stream: the stream's name.
        slot: the last slot that may have been shown, 0 for none.
        epoch: how often the stream was opened for publishing.
    """

    store: str
    stream: str
    slot: int
    epoch: int


class Witness:
    """A file that remembers one stream.

    Guarantees:
        After `write` the file holds the new testimony, or, if that failed, the old one; never a part of either.
        A testimony of another epoch is never overwritten by `advance`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Testimony | None:
        """What the file says; None if there is none."""
        try:
            told = json.loads(self.path.read_text("utf-8"))
            return Testimony(str(told["store"]), str(told["stream"]), int(told["slot"]), int(told["epoch"]))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            raise WitnessMissing(
                "the witness file is damaged; move it away and tell the program which slot may have been shown last "
                "(`--restored`)"
            ) from None
        except OSError as error:
            raise StoreUnavailable(f"the witness file cannot be read ({error.strerror})") from None

    def write(self, testimony: Testimony) -> None:
        """Replace what the file says, and force it to the disk."""
        beside = self.path.with_name(self.path.name + ".new")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with beside.open("w", encoding="utf-8") as file:
                json.dump(asdict(testimony), file)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self.path)
            _sync_folder(self.path.parent)
        except OSError as error:
            full = error.errno == 28
            kind = StoreFull if full else StoreUnavailable
            raise kind(f"the witness file cannot be written ({error.strerror}); the slot is not released") from None

    def advance(self, slot: int, epoch: int) -> None:
        """Let the witness know that `slot` may be shown from now on."""
        known = self.read()
        if known is None:
            raise WitnessMissing("the witness file has vanished while the stream was published; nothing was released")
        if known.epoch != epoch:
            raise StreamTaken(
                f"another copy of this store was opened for publishing (epoch {known.epoch}, ours is {epoch}); "
                "nothing was released. Stop one of the two",
                epoch=known.epoch,
            )
        if slot > known.slot:
            self.write(Testimony(known.store, known.stream, slot, epoch))


def _sync_folder(folder: Path) -> None:
    """Make a rename last; where folders cannot be opened, the system does so by itself."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
