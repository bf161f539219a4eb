"""An oracle for streams in a store: a publisher in memory that is given the same noise, slot by slot.

Noise depends on the slot alone, so that a lost slot moves no other. The twin loses the given slots by an
error in the middle of the draw, and releases all others without any store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from wevent.cohorts.requirement import Requirement
from wevent.config.model import Config
from wevent.events.slot import Slot
from wevent.noise import SeededNoise
from wevent.releases.journal import MemoryJournal
from wevent.releases.publisher import Publisher
from wevent.releases.release import Release
from wevent.store.build import build_publisher
from wevent.store.running import RunningStream
from wevent.store.session import Session


class BrokenError(Exception):
    """Something goes wrong in the middle of a draw."""


class SlotNoise(SeededNoise):
    """Noise by the number of the slot; in lost slots there is none."""

    def __init__(self, publisher: Publisher, lost: Iterable[int] = ()) -> None:
        super().__init__(0)
        self._publisher, self.lost = publisher, set(lost)

    def rekey(self) -> None:
        """Begin the draws of a slot."""
        slot = self._publisher.ledger.slot
        if slot in self.lost:
            raise BrokenError
        self._random = np.random.Generator(np.random.Philox([7, slot]))


def with_noise(session: Session, lost: Iterable[int] = ()) -> Session:
    """A session whose noise is that of the twin, also after it was recovered."""
    recovered = session._recovered

    def noisy() -> RunningStream:
        stream = recovered()
        if not isinstance(stream.publisher._noise, SlotNoise):
            stream.publisher._noise = SlotNoise(stream.publisher, lost)
        return stream

    session._recovered = noisy  # type: ignore[method-assign]
    return session


class Twin:
    """A publisher in memory."""

    def __init__(self, config: Config, asked: Mapping[int, Requirement]) -> None:
        self.publisher = build_publisher(config, MemoryJournal(keep=10_000), asked)
        self._noise = self.publisher._noise = SlotNoise(self.publisher)
        self._cells = list(config.cells.declared().names)

    def live(self, slot: int, cells: Iterable[int], *, lost: bool) -> Release:
        """Live through a slot; cells by person, -1 for none."""
        if lost:
            self._noise.lost.add(slot)
        places = {person: self._cells[cell] for person, cell in enumerate(cells) if cell >= 0}
        try:
            return self.publisher.step(Slot(slot, places))
        except BrokenError:
            kept = self.publisher.journal.find(slot)
            assert kept is not None
            return kept
