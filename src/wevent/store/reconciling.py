"""Decides what a store and its witness know together, before a stream is opened or begun.

Nothing is read or written here. Where store and witness contradict each other, or one of them is gone, only the
operator's word (`shown`) lets a stream go on: it forfeits the slots up to the last one that may have been shown, so
that they are never drawn, and holds everybody back by the longest window that may have been promised (SPEC §8).
"""

from __future__ import annotations

from dataclasses import dataclass

from wevent.errors import InvalidSetting, StoreReplaced, WitnessMissing
from wevent.store.witness import WitnessRecord

MOST_GIVEN_UP = 1_000_000
"""More slots than this are not given up: it is more likely a slip of the pen, and would take hours."""


UNKNOWN_OPENINGS = 1_000_000
"""More often than this no lost copy was opened: after the operator's word no epoch of theirs comes again."""


@dataclass(frozen=True, slots=True)
class StreamInStore:
    """What a store says of a stream.

    Attributes:
        record: its name, stream, last charged slot, epoch and requirement changes.
        exists: whether the stream is in the store; False if it is about to begin.
    """

    record: WitnessRecord
    exists: bool = True


@dataclass(frozen=True, slots=True)
class OpeningTerms:
    """Under which terms a stream is opened.

    Attributes:
        shown: the last slot that may have been shown, by the operator's word; None if nothing was said.
        begun_slot: the newest slot that has begun by the clock.
        promised: the longest window that the configuration itself promises, to the unlisted.
        allowed: the longest window that the operator's limits allow.
    """

    shown: int | None
    begun_slot: int
    promised: int
    allowed: int


@dataclass(frozen=True, slots=True)
class Opening:
    """What follows when a stream is opened.

    Attributes:
        record: what the witness says from now on.
        first: the first slot to be given up.
        last: the last one; before `first` if there is none.
        missing_changes: how many requirement changes, at least, the witness knows of and the store does not have.
    """

    record: WitnessRecord
    first: int
    last: int
    missing_changes: int

    @property
    def given_up(self) -> int:
        """How many slots are given up."""
        return max(0, self.last - self.first + 1)

    def __str__(self) -> str:
        return (
            f"{self.given_up:,} slots, {self.first} to {self.last}, may have been shown and are not in this store: "
            f"they are given up, and nobody spends anything before slot {self.last + self.hold} (the longest window "
            f"that may have been promised has {self.hold:,} slots)"
        )

    @property
    def hold(self) -> int:
        """For how many slots, the last one given up included, nobody spends anything."""
        return self.record.longest_window


def check_new_stream(stream: str, known: WitnessRecord | None, shown: int | None) -> None:
    """Refuse to begin a stream of which a witness knows that it was shown, unless the operator says what was."""
    if known is None:
        return
    _check_stream(stream, known)
    if known.slot > 0 and shown is None:
        raise StoreReplaced(
            f"stream {stream!r} is not in this store, but its witness knows of slots up to {known.slot}: the store was "
            "deleted, emptied or replaced. Beginning anew would draw these slots again. Restore the store from a copy. "
            f"If there is none, run `wevent publish --restored {known.slot}`, with a greater number if later slots may "
            "have been shown: the stream then goes on after that slot, and nobody spends anything for the longest "
            f"window that was promised ({known.longest_window} slots)",
            slot=known.slot,
            hold=known.longest_window,
        )


def reconcile(stored: StreamInStore, known: WitnessRecord | None, terms: OpeningTerms) -> Opening:
    """What follows from a store and its witness together.

    Guarantees:
        A witness of another stream is refused; one of another store, an older one than the store, or none, too,
        unless the operator says what was shown.
        No slot up to the last that may have been shown is ever drawn again.
    """
    ours, shown = stored.record, terms.shown
    reliable = known is not None
    if not stored.exists:
        check_new_stream(ours.stream, known, shown)
        reliable = known is not None or shown is None
    elif known is None:
        if shown is None:
            raise WitnessMissing(
                f"this store knows slots up to {ours.slot}, and no witness tells whether newer ones were shown. If the "
                "store was restored, moved or copied, or the witness was lost, say which slot may have been shown last "
                f"(`--restored SLOT`): up to there slots are lost, and nobody spends anything for {terms.allowed} "
                "slots, the longest window that the limits allow",
                slot=ours.slot,
            )
    else:
        _check_stream(ours.stream, known)
        reliable = known.store == ours.store and not _stale(ours, known)
        if not reliable and shown is None:
            raise _refusal(ours, known)
    known = known or WitnessRecord(ours.store, ours.stream)
    last = max(ours.slot, known.slot, shown or 0)
    if last - ours.slot > MOST_GIVEN_UP:
        raise InvalidSetting(
            f"{last - ours.slot:,} slots would have to be given up (up to slot {last}), and at most {MOST_GIVEN_UP:,} "
            "are. Restore a newer copy of the store, or correct the number. Nothing was changed",
            most=MOST_GIVEN_UP,
        )
    counted, fingerprint = ours.changes, ours.fingerprint
    if known.store == ours.store or not stored.exists:
        counted = known.changes
        fingerprint = known.fingerprint if counted >= ours.changes else ours.fingerprint
    longest = max(known.longest_window, terms.promised, 1 if reliable else terms.allowed)
    epoch = max(ours.epoch, known.epoch) + (1 if reliable else UNKNOWN_OPENINGS)
    changes = max(ours.changes, counted)
    record = WitnessRecord(ours.store, ours.stream, last, epoch, changes, longest, fingerprint)
    missing = max(changes - ours.changes, int(fingerprint != ours.fingerprint))
    return Opening(record, ours.slot + 1, last, missing)


def _check_stream(stream: str, known: WitnessRecord) -> None:
    if known.stream != stream:
        raise WitnessMissing(
            f"the witness file belongs to stream {known.stream!r}, not to {stream!r}; give each stream a witness of "
            "its own (`witness` under [store])"
        )


def _stale(ours: WitnessRecord, known: WitnessRecord) -> bool:
    """Whether the store knows something that the witness would have learned first, or one charged slot later."""
    return known.epoch < ours.epoch or known.slot < ours.slot - 1 or known.changes < ours.changes


def _refusal(ours: WitnessRecord, known: WitnessRecord) -> WitnessMissing | StoreReplaced:
    if known.store != ours.store:
        return StoreReplaced(
            f"the witness knows stream {known.stream!r} from another store, with slots up to {known.slot}. Give each "
            "store a witness of its own; or, if this store takes the place of the other, say which slot may have been "
            f"shown last (`--restored SLOT`, at least {known.slot})",
            slot=known.slot,
        )
    return WitnessMissing(
        f"the witness is older than the store: it knows slot {known.slot} and epoch {known.epoch}, the store slot "
        f"{ours.slot} and epoch {ours.epoch}. Another host went on with the stream, and newer slots may have been "
        "shown. Bring that host's witness here, or say which slot may have been shown last (`--restored SLOT`)",
        slot=known.slot,
        epoch=known.epoch,
    )
