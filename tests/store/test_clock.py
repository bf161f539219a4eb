"""A clock that was set closes no slot."""

from __future__ import annotations

from pathlib import Path

from tests.store.scene import START
from tests.store.test_feeding import Hand, live

from wevent.events.formats import RawEvent
from wevent.store.clock import GuardedClock, running_time
from wevent.store.feeding import Feed

SECOND = 1_000_000


class Steady:
    """A clock that only runs, by hand."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> int:
        return int(self.seconds * SECOND)


def test_a_jump_closes_nothing(tmp_path: Path) -> None:
    """60 s ahead for 5 s with slots of a second: none is closed early, no punctual event is refused, all is said."""
    town = live(tmp_path, width="1 s", lateness="0 s", ahead="0 s")
    wall, steady = Hand(), Steady()
    said: list[str] = []
    closed: list[int] = []
    with town.session(wall) as session:
        guarded = GuardedClock(wall, town.config.slots.jump_limit, steady)
        feed = Feed(session, lambda release: closed.append(release.slot), clock=guarded, warn=said.append)

        def go(seconds: int, off: float = 0) -> None:
            """Time goes on, an event each second; the clock is off."""
            for _ in range(seconds):
                steady.seconds += 1
                wall.seconds = steady.seconds + off
                look = feed.look()
                event = RawEvent("person-0", START + int((steady.seconds - 0.5) * SECOND), ("north",))
                feed.take([b"x"], lambda _, event=event: event, None, feed.acceptance_window(look))  # type: ignore[misc]
                feed.close_by(look)

        go(5)
        assert closed == [1, 2, 3, 4, 5]
        go(5, off=60)
        assert closed == [1, 2, 3, 4, 5]
        assert "60.0 s ahead" in said[0]
        go(5)
        assert closed == list(range(1, 16))
        assert feed.tallies == {"accepted": 15}
        assert len(said) == 2
        go(3, off=-3600)
        assert "back" in said[2]
        assert closed == list(range(1, 16))
        go(1, off=0.9)  # as time servers do
        assert closed == list(range(1, 20))
        assert feed.tallies == {"accepted": 19}


def test_small_steps_are_followed() -> None:
    """Steps within the limit never add up to a jump; a larger one is noticed, and so is its end."""
    wall, steady = Hand(), Steady()
    clock = GuardedClock(wall, SECOND, steady)
    for k in range(1, 50):
        steady.seconds, wall.seconds = float(k), k * 1.5
        assert clock.read().jump == 0
    wall.seconds += 10
    found = clock.read()
    assert (found.jump, found.now) == (10 * SECOND, wall() - 10 * SECOND)
    wall.seconds -= 10
    assert clock.read().jump == 0


def test_a_pause_between_two_readings_is_no_jump() -> None:
    """A process that was held up between reading one clock and the other reads them again."""
    steady, held_up = Steady(), iter([0, 0, 7, *[0] * 99])

    def wall() -> int:
        steady.seconds += next(held_up)
        return START + steady()

    clock = GuardedClock(wall, SECOND, steady)
    assert [clock.read().jump for _ in range(5)] == [0] * 5


def test_the_running_time_runs() -> None:
    """The default is a clock in microseconds that never goes back."""
    first = running_time()
    assert 0 <= running_time() - first < 10 * SECOND
