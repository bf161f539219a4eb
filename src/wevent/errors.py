"""Defines every exception of the package; the facts of a message are also its fields.

    WeventError
    ├── InvalidInput (ValueError)
    │   ├── InvalidRequirement      epsilon or window out of range, share below one unit
    │   │   └── WrongRequirementKind   a dynamic requirement where only fixed ones are served, or the reverse
    │   ├── InvalidSetting          a setting that is not one of the known ones
    │   ├── EmptyRegister           no person to protect
    │   ├── AlreadyRegistered       joining twice
    │   ├── UnknownUser             a person who is not registered
    │   ├── SharedPeople            a second stream over the same people that its configuration does not allow
    │   ├── UnknownCell             a cell outside the declared domain
    │   ├── TooManyCells            more cells for one user and slot than were declared
    │   ├── WrongShape              an array that does not fit the register or the domain
    │   ├── UnknownName             a data set, mechanism, metric or key that does not exist
    │   ├── MissingData             files that have to be downloaded first
    │   ├── SlotOutOfOrder          a slot that is not the next one, or is no longer kept
    │   ├── NoAcceptableEvents      sources without a single event that can be accepted
    │   └── Unreadable              a file that is not what it should be, with the line
    ├── BudgetError
    │   ├── BudgetExceeded          a charge above what the windows leave
    │   └── Infeasible              a backward requirement that earlier spends already exceed
    ├── NotCharged                  settling a slot that was never charged
    ├── NotExact (TypeError)        a number given to the noise that is not an integer or an exact fraction
    ├── SeededNoiseRefused          a seeded generator near a durable journal
    ├── CopyRefused (TypeError)     copying or pickling an object that spends budgets
    ├── CorruptState (ValueError)   bytes that do not hold a ledger
    ├── RowMismatch                 events counted in other rows than those charged for their people
    └── StoreError                  the store cannot read or write
        ├── StoreUnavailable        locked, not there, or the connection is lost
        ├── StoreFull               no room left on the disk
        ├── StoreVersion            written by a newer program, or a filter of another version
        ├── StreamUnknown           no stream of this name in the store
        ├── StreamBusy              another process publishes this stream
        ├── StreamTaken             another process, or another copy of the store, continued this stream
        ├── SettingsChanged         a privacy setting differs from the one the stream began with
        ├── WitnessMissing          no witness says which slots may have been shown
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


class WrongRequirementKind(InvalidRequirement):
    """A requirement of a kind that this mechanism does not serve."""


class InvalidSetting(InvalidInput):
    """A setting is not one of the known ones."""


class EmptyRegister(InvalidInput):
    """No person is registered, so nothing may be published."""


class AlreadyRegistered(InvalidInput):
    """A person joins who is already registered."""


class UnknownUser(InvalidInput):
    """A person who is not registered."""


class SharedPeople(InvalidInput):
    """A second stream over the same people, and its configuration does not say that they are shared."""


class UnknownCell(InvalidInput):
    """A cell outside the declared domain."""


class TooManyCells(InvalidInput):
    """More cells for one user in one slot than the settings declare."""


class WrongShape(InvalidInput):
    """An array that does not fit the register or the domain."""


class UnknownName(InvalidInput):
    """A name that does not exist; `fields["known"]` lists the known ones."""


class MissingData(InvalidInput):
    """Files that have to be downloaded first; `fields` name the files, their source and the folder."""


class SlotOutOfOrder(InvalidInput):
    """A slot that is not the next one, or one that is no longer kept."""


class NoAcceptableEvents(InvalidInput):
    """Slots are due, and the sources have no event that can be accepted; nothing was charged."""


class Unreadable(InvalidInput):
    """A file is not what it should be; `fields` has the file's name and, where there is one, the line."""


class BudgetError(WeventError):
    """A budget is too small."""


class BudgetExceeded(BudgetError):
    """A charge above what the windows leave; nothing was spent."""


class Infeasible(BudgetError):
    """A backward requirement below what was already spent; `fields["least"]` is the least feasible budget."""


class NotCharged(WeventError):
    """Settling or refunding a slot that was never charged."""


class NotExact(WeventError, TypeError):
    """The noise takes integers and exact fractions only; nothing is rounded."""


class SeededNoiseRefused(WeventError):
    """Seeded noise is for tests and study; a durable journal refuses it."""


class CopyRefused(WeventError, TypeError):
    """A publisher, a ledger or a membership cannot be copied or pickled; the message names the safe ways."""


class CorruptState(WeventError, ValueError):
    """Bytes that do not hold a ledger, or not all of it."""


class RowMismatch(WeventError):
    """Events were counted in other rows than those charged for their people; nothing was charged."""


class StoreError(WeventError):
    """The store cannot read or write; nothing is half-written."""


class StoreUnavailable(StoreError):
    """The store is locked, not there, or the connection to it is lost."""


class StoreFull(StoreError):
    """The disk of the store is full."""


class StoreVersion(StoreError):
    """A newer program wrote this store, or another version of this one trained its filter."""


class StreamUnknown(StoreError):
    """The store has no stream of this name."""


class StreamBusy(StoreError):
    """Another process publishes this stream."""


class StreamTaken(StoreError):
    """Another process, or another copy of the store, continued this stream."""


class SettingsChanged(StoreError):
    """A privacy setting differs from the one that the stream began with."""


class WitnessMissing(StoreError):
    """No witness outside the store says which slots may have been shown."""


class StoreReplaced(StoreError):
    """A witness knows that a stream was shown which this store does not have, or knows it from another store."""


class RequirementsMissing(StoreError):
    """A witness has counted requirement changes that this store does not have; `fields["missing"]` says how many."""
