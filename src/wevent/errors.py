"""Every exception of the package; what went wrong comes in as fields, a sentence that says what now goes out.

    WeventError
    ├── InvalidInput (ValueError)
    │   ├── InvalidRequirement      epsilon or window out of range, share below one unit
    │   │   └── WrongKind           a dynamic requirement where only fixed ones are served, or the reverse
    │   ├── InvalidSetting          a setting that is not one of the known ones
    │   ├── EmptyRegister           nobody to protect
    │   ├── AlreadyRegistered       joining twice
    │   ├── UnknownUser             somebody who is not registered
    │   ├── SharedPeople            a second stream over the same people, which nobody allowed
    │   ├── UnknownCell             a cell outside the declared domain
    │   ├── TooManyCells            more cells for one user and slot than were declared
    │   ├── WrongShape              an array that does not fit the register or the domain
    │   ├── UnknownName             a data set, mechanism, metric or key that nobody knows
    │   ├── MissingData             files that have to be downloaded first
    │   ├── SlotOutOfOrder          a slot that is not the next one, or is no longer kept
    │   ├── NothingAcceptable       sources of which not one event can be accepted
    │   └── Unreadable              a file that is not what it should be, with the line
    ├── BudgetError
    │   ├── BudgetExceeded          a charge above what the windows leave
    │   └── Infeasible              a backward requirement that the past has already broken
    ├── NotCharged                  settling a slot that was never charged
    ├── NotWhole (TypeError)        something fractional offered to the noise
    ├── SeededNoiseRefused          a seeded generator near a durable journal
    ├── CopyRefused (TypeError)     copying or pickling what spends budgets
    ├── CorruptState (ValueError)   bytes that are not a ledger's
    ├── RowMismatch                 events put into other rows than those that are charged for their people
    └── StoreError                  the store cannot do what it should
        ├── StoreUnavailable        locked, not there, or the connection is lost
        ├── StoreFull               no room left on the disk
        ├── StoreVersion            written by a newer program, or a filter taught by another
        ├── StreamUnknown           no stream of this name in the store
        ├── StreamBusy              another process publishes this stream
        ├── StreamTaken             another process, or another copy of the store, went on with this stream
        ├── SettingsChanged         a privacy setting differs from the one the stream began with
        ├── WitnessMissing          nothing tells which slots may have been shown
        ├── StoreReplaced           a witness knows of a stream that this store does not have, or from another store
        └── RequirementsMissing     a witness has counted requirement changes that this store does not have

No message names a user, a cell or a count: messages name slots, rows, budgets and limits.
"""

from __future__ import annotations


class WeventError(Exception):
    """Anything this package refuses; `fields` holds the facts of the message by name."""

    def __init__(self, message: str, **fields: object) -> None:
        super().__init__(message)
        self.fields = fields


class InvalidInput(WeventError, ValueError):
    """Something given from outside is wrong; nothing was changed or spent."""


class InvalidRequirement(InvalidInput):
    """A budget or a window is out of range."""


class WrongKind(InvalidRequirement):
    """A requirement of a kind that this mechanism does not serve."""


class InvalidSetting(InvalidInput):
    """A setting is not one of the known ones."""


class EmptyRegister(InvalidInput):
    """There is nobody to protect, so nothing may be published."""


class AlreadyRegistered(InvalidInput):
    """Somebody joins who is already there."""


class UnknownUser(InvalidInput):
    """Somebody who is not registered."""


class SharedPeople(InvalidInput):
    """A second stream over the same people, and its configuration does not say that they are shared."""


class UnknownCell(InvalidInput):
    """A cell outside the declared domain."""


class TooManyCells(InvalidInput):
    """More cells for one user in one slot than the settings declare."""


class WrongShape(InvalidInput):
    """An array that does not fit the register or the domain."""


class UnknownName(InvalidInput):
    """A name that nobody knows; `fields["known"]` lists the known ones."""


class MissingData(InvalidInput):
    """Files that have to be downloaded first; `fields` name the files, their source and the folder."""


class SlotOutOfOrder(InvalidInput):
    """A slot that is not the next one, or one that is no longer kept."""


class NothingAcceptable(InvalidInput):
    """Slots are due, and the sources hold nothing that can be accepted; nothing was charged."""


class Unreadable(InvalidInput):
    """A file is not what it should be; `fields` has the file's name and, where there is one, the line."""


class BudgetError(WeventError):
    """Budget that is not there."""


class BudgetExceeded(BudgetError):
    """A charge above what the windows leave; nothing was spent."""


class Infeasible(BudgetError):
    """A backward requirement below what was already spent; `fields["least"]` is the least feasible budget."""


class NotCharged(WeventError):
    """Settling or refunding a slot that was never charged."""


class NotWhole(WeventError, TypeError):
    """The noise takes whole numbers only."""


class SeededNoiseRefused(WeventError):
    """Seeded noise is for tests and study; a durable journal refuses it."""


class CopyRefused(WeventError, TypeError):
    """A publisher, a ledger or a membership cannot be copied or pickled; the message names the safe ways."""


class CorruptState(WeventError, ValueError):
    """Bytes that do not hold a ledger, or not all of it."""


class RowMismatch(WeventError):
    """Events were put into other rows than those that are charged for their people; nothing was charged."""


class StoreError(WeventError):
    """The store cannot do what it should; nothing is half-written."""


class StoreUnavailable(StoreError):
    """The store is locked, not there, or the connection to it is lost."""


class StoreFull(StoreError):
    """There is no room left where the store lies."""


class StoreVersion(StoreError):
    """A newer program wrote this store, or another version of this one taught its filter."""


class StreamUnknown(StoreError):
    """The store has no stream of this name."""


class StreamBusy(StoreError):
    """Another process publishes this stream."""


class StreamTaken(StoreError):
    """Another process, or another copy of the store, went on with this stream."""


class SettingsChanged(StoreError):
    """A privacy setting differs from the one that the stream began with."""


class WitnessMissing(StoreError):
    """Nothing outside the store tells which slots may have been shown."""


class StoreReplaced(StoreError):
    """A witness knows that a stream was shown which this store does not have, or knows it from another store."""


class RequirementsMissing(StoreError):
    """A witness has counted requirement changes that this store does not have; `fields["missing"]` says how many."""
