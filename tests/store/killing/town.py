"""Describes the stream that is killed: its configuration, its people, its events, and the counts that they make.

Everybody's budget is the largest there is over one slot, so that the noise is zero but for a chance of 10⁻⁴²: a
published count is right or wrong, and an event that is lost or counted twice shows.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

CELLS = ("north", "south", "east")
LISTED, UNLISTED, NEWCOMERS = 6, 4, 3
FIRST_SLOTS, SLOTS = 3, 6
"""Slots that are released before anybody is killed, and slots in all."""

START = 1_714_521_600
"""When the first slot begins, in seconds since 1970."""

_CONFIGURATION = """
[stream]
name = "town"

[slots]
width = "1 min"
first = "2024-05-01T00:00:00Z"
closing = "{closing}"

[cells]
names = ["north", "south", "east"]

[people.group]
size = 50
epsilon = 100
window = 1

[privacy]
mechanism = "uniform"

[store]
url = "{url}"
witness = "{folder}/outside/witness.json"
"""


@dataclass(frozen=True)
class Command:
    """Words for `wevent`, and how many minutes after the first slot began they are said."""

    words: tuple[str, ...]
    minute: float


@dataclass(frozen=True)
class Files:
    """Everything that commands read, below one folder.

    Attributes:
        folder: where it lies; kills count what is written below it.
        truth: how many people are in each cell of each slot, by slot.
        events: how many events there are, by slot.
    """

    folder: Path
    truth: dict[int, tuple[int, ...]] = field(default_factory=dict)
    events: Counter[int] = field(default_factory=Counter)

    @property
    def config(self) -> Path:
        """The configuration."""
        return self.folder / "wevent.toml"

    @property
    def people(self) -> Path:
        """Requirements of the listed people."""
        return self.folder / "people.csv"

    @property
    def changed_people(self) -> Path:
        """The same people, some of whom require something else, and newcomers."""
        return self.folder / "changed.csv"

    @property
    def parts(self) -> tuple[Path, Path]:
        """Events of the slots before the kills, and of those after."""
        return self.folder / "events-1.csv", self.folder / "events-2.csv"

    def publish(self, files: tuple[Path, ...], last: int) -> Command:
        """Release slots up to the last, after they are over."""
        words = ["publish", "--config", str(self.config), "--events", *map(str, files), "--quiet"]
        return Command((*words, "--until", f"2024-05-01T00:{last:02d}:00Z"), last + 0.2)

    def import_people(self, file: Path, minute: float) -> Command:
        """Store what people require."""
        return Command(("requirements", "import", "--config", str(self.config), str(file)), minute)


def write_files(folder: Path, closing: str, url: str) -> Files:
    """Write the files of a town; the same for every folder."""
    files = Files(folder)
    (folder / "outside").mkdir(parents=True)
    files.config.write_text(_CONFIGURATION.format(closing=closing, url=url, folder=folder), "utf-8")
    users = [f"listed-{k}" for k in range(LISTED)] + [f"unlisted-{k}" for k in range(UNLISTED)]
    lines = [f"{user},100,1\n" for user in users[:LISTED]]
    files.people.write_text("".join(["user,epsilon,window\n", *lines]), "utf-8")
    lines += [f"unlisted-{k},100,1\n" for k in range(NEWCOMERS)]
    files.changed_people.write_text("".join(["user,epsilon,window\n", *lines]), "utf-8")
    chance = random.Random(5)
    parts = [["user,time,place"], ["user,time,place"]]
    for slot in range(1, SLOTS + 1):
        where: dict[str, str] = {}
        for second in sorted(chance.sample(range(60), 12)):
            user, cell = chance.choice(users), chance.choice(CELLS)
            where.setdefault(user, cell)  # the first cell of a slot counts
            parts[slot > FIRST_SLOTS].append(f"{user},2024-05-01T00:{slot - 1:02d}:{second:02d}Z,{cell}")
            files.events[slot] += 1
        files.truth[slot] = tuple(list(where.values()).count(cell) for cell in CELLS)
    for path, content in zip(files.parts, parts, strict=True):
        path.write_text("\n".join(content) + "\n", "utf-8")
    return files
