"""Starts processes on a store and kills them: each round a child works until it is killed.

Run as a process of its own, so that children start in milliseconds: everything is imported once, then forked.
Every child writes down what it has accepted, after the store said so, in a file that only grows.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import opendp.prelude  # noqa: F401  (takes long, and is wanted before the fork)
from tests.store.scene import CELLS, Town, config, random_rows, sorted_events, waiting_rows
from tests.store.twin import with_noise

from wevent import Fixed
from wevent.cohorts.requirement import Requirement
from wevent.config.model import Config

PEOPLE = 20
ASKED: dict[str, Requirement | None] = {f"person-{k}": Fixed(60 + k % 3, 4) for k in range(PEOPLE)}
"""So much that it often publishes."""


def settings(mechanism: str) -> Config:
    """The configuration of the stream that is killed."""
    return config(privacy={"mechanism": mechanism, "history_slots": 8})


def work(town: Town, accepted: Path, number: int, ready: int) -> None:
    """Accept events for the next slots and release slots, until it is stopped."""
    chance = random.Random(number)
    with town.session() as session, accepted.open("a", encoding="utf-8") as file:
        os.write(ready, b"1")
        while True:
            first = session.next_slot
            events = [
                (
                    f"person-{chance.randrange(PEOPLE)}",
                    (first - 1 + chance.randrange(3)) * 60_000_000 + k,
                    chance.choice(CELLS),
                )
                for k in range(chance.randrange(1, 9))
            ]
            slots = [since // 60_000_000 + 1 for _, since, _ in events]
            file.write(json.dumps({"tried": slots}) + "\n")
            file.flush()
            session.intake.accept(sorted_events(session, events))
            file.write(json.dumps({"accepted": slots}) + "\n")
            file.flush()
            session.release(waiting_rows(session, first))


def work_like_the_twin(town: Town, number: int, ready: int) -> None:
    """Release slots whose rows and noise depend on their number alone, until it is stopped.

    Every other child is ready only after its first slot, so that however slow the machine is some slots are released.
    """
    with with_noise(town.session()) as session:
        if number % 2:
            session.release(random_rows(session, session.next_slot))
        os.write(ready, b"1")
        while True:
            session.release(random_rows(session, session.next_slot))


def main(where: str, folder: Path, rounds: int, mechanism: str) -> None:
    """Start and kill children, one after the other."""
    witness, accepted, chosen = folder / "witness.json", folder / "accepted.ndjson", settings(mechanism)
    town = Town(where, witness, chosen)
    town.require(ASKED)
    town.database.close()
    chance = random.Random(7)
    killed = 0
    for number in range(rounds):
        listen, ready = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                if mechanism == "auto":
                    work_like_the_twin(Town(where, witness, chosen), number, ready)
                else:
                    work(Town(where, witness, chosen), accepted, number, ready)
            finally:
                os._exit(3)  # only reached on an error: a child works until it is killed
        os.close(ready)
        if number % 4:  # one in four may be killed while it opens the stream, the others are at work
            os.read(listen, 1)
        os.close(listen)
        time.sleep(chance.uniform(0, 0.2))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        killed += os.WIFSIGNALED(status)
    print(json.dumps({"killed": killed}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
