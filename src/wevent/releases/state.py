"""A publisher as bytes and back: what a store needs to bring one to where it stood.

A store keeps bytes from time to time, and of every slot since then what was charged and what was released.
`restore` and `replay` bring a publisher to the same state, and `take_learned` what cannot be lived through again: what
schedule, view and trigger learned. `forfeit` gives a slot up that an older copy of the store does not know (SPEC §8).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from wevent.budgets.codec import pack, unpack
from wevent.budgets.ledger import Ledger, Offer
from wevent.budgets.membership import Membership
from wevent.errors import CorruptState, StoreVersion
from wevent.releases.publisher import Publisher
from wevent.releases.release import Decision, Release


def to_bytes(publisher: Publisher) -> bytes:
    """Ledger, membership and last published counts; the settings are not in it."""
    counts, error = publisher.last
    return pack(
        {
            "ledger": np.frombuffer(publisher.ledger.to_bytes(), np.uint8),
            "members": publisher.members.state(),
            "counts": counts,
            "standard_error": error,
            "more": publisher.state(),
        }
    )


def restore(publisher: Publisher, data: bytes) -> None:
    """Bring a publisher that was made with the same settings to where the kept one stood.

    Guarantees:
        From here on both give the same offers for the same slots, joins, leaves and changes.
        A slot that was charged and not settled is lost.
        What another version of a filter or schedule learned raises `StoreVersion`.
    """
    state: dict[str, Any] = unpack(data)
    if "members" not in state:
        raise CorruptState("these bytes hold a ledger, not a publisher; restore them with Ledger.from_bytes")
    if state["counts"].size != len(publisher.domain):
        raise CorruptState(
            f"the kept publisher has {state['counts'].size} cells and this one {len(publisher.domain)}; "
            "use the settings that the stream began with"
        )
    dynamic = publisher.schedule.dynamic is not None
    ledger = Ledger.from_bytes(state["ledger"].tobytes(), publisher.privacy)
    ledger.fast = publisher.ledger.fast
    publisher.take(ledger, Membership.from_state(state["members"], ledger, dynamic=dynamic))
    publisher.keep_last(state["counts"], state["standard_error"])
    _take(publisher, state["more"])


def replay(publisher: Publisher, offer: Offer, release: Release) -> None:
    """Let a publisher live through a slot that is over, with what was charged and released then.

    Guarantees:
        Nothing is drawn; a charge that the windows do not leave room for is refused.
    """
    publisher.members.begin_slot()
    if publisher.ledger.individual is not None:  # which is faster with an offer of its own
        own = publisher.ledger.offer(publisher.schedule)
        same = np.array_equal(own.change_budget, offer.change_budget) and np.array_equal(
            own.publish_budget, offer.publish_budget
        )
        offer = own if same else offer
    publisher.ledger.charge(offer)
    if release.decision is Decision.LOST:
        publisher.ledger.lose()
        return
    published = release.decision is Decision.PUBLISHED
    publisher.ledger.settle(published)
    if published:
        publisher.keep_last(release.counts, release.standard_error)


def planned(publisher: Publisher) -> dict[str, bytes]:
    """What the schedule decided before the slot that is charged next; to be kept with its charge."""
    state = publisher.schedule.state()
    return {"schedule": pack(state)} if state else {}


def learned(publisher: Publisher, decision: Decision) -> dict[str, bytes]:
    """What view and trigger learned in a slot that ended so; to be kept with its release.

    Guarantees:
        Nothing where the last whole counts are all that is shown: `replay` brings those back.
    """
    parts, trigger = {}, publisher.trigger.state()
    if decision is Decision.PUBLISHED and not publisher.unfiltered:
        parts["filter"] = pack(publisher.filter.state())
    if trigger:
        parts["trigger"] = pack(trigger)
    return parts


def take_learned(publisher: Publisher, parts: Mapping[str, bytes]) -> None:
    """Go on with the newest of what `planned` and `learned` gave.

    Guarantees:
        Damaged bytes raise `CorruptState`; whole ones that this version does not understand raise `StoreVersion`.
    """
    if not parts:
        return
    _take(publisher, {**publisher.state(), **{name: unpack(data) for name, data in parts.items()}})


def forfeit(publisher: Publisher, hold: int = 1) -> Release:
    """Give the next slot up after a restore: nobody spends anything until their windows have left it behind.

    The copy that was lost may have spent everybody's budget there, also that of people whom this one does
    not know yet.

    Args:
        publisher: as it was restored.
        hold: so many slots, the one given up included, leave nobody room: the longest window that anybody may have
            required in the lost copy. 1 if every requirement change made there is known again.

    Guarantees:
        Nothing is drawn, and the counts repeat.
        No row, of somebody who joins later neither, spends anything in the w - 1 slots that follow.
        Nobody spends anything in the first `hold` slots, the one given up included.
    """
    publisher.members.begin_slot()
    slot = publisher.ledger.slot
    publisher.ledger.forfeit(hold)
    return publisher.repeat(slot)


def _take(publisher: Publisher, state: dict[str, Any]) -> None:
    try:
        publisher.restore(state)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        raise StoreVersion(
            f"what {publisher.mechanism.name} learned was kept by another version of this program; use that version, "
            "or begin a new stream"
        ) from None
