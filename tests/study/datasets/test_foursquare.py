"""The reader of TIST2015, on made-up files in its format."""

from __future__ import annotations

import hashlib
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.study.datasets.naive import last_of, walk, walked

from wevent.errors import InvalidInput, InvalidSetting, MissingData
from wevent.study.datasets.foursquare import CHECK_INS, KEPT_BELOW, VENUES, merge, open_foursquare
from wevent.study.datasets.stream import DataOptions, Presence, RecordedStream


def kept(who: int) -> bool:
    """The public hash, by another library, as a share of its range."""
    digest = hashlib.md5(str(who).encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest[:4], "big") / 2**32 < 0.05


KEPT = [who for who in range(1, 1_000) if kept(who)]
A, B = KEPT[:2]
LEFT_OUT = next(who for who in range(1, 100) if not kept(who))
START = datetime(2012, 4, 3, 18, 0, 6, tzinfo=UTC)

PLACES = {"v1": "JP", "v2": "US", "v3": "BR", "v4": "TR"}


def venue_lines(places: dict[str, str]) -> str:
    return "".join(f"{venue}\t35.70\t139.62\tCafé\t{country}\n" for venue, country in places.items())


def check_in(who: object, venue: str, seconds: int) -> str:
    return f"{who}\t{venue}\t{START + timedelta(seconds=seconds):%a %b %d %H:%M:%S +0000 %Y}\t540\n"


def write(folder: Path, check_ins: str | bytes, venues: str | bytes | None = None) -> None:
    (folder / "foursquare").mkdir(parents=True, exist_ok=True)
    for name, text in ((CHECK_INS, check_ins), (VENUES, venue_lines(PLACES) if venues is None else venues)):
        (folder / "foursquare" / name).write_bytes(text if isinstance(text, bytes) else text.encode())


def foursquare(folder: Path, **options: Any) -> RecordedStream:
    stream = open_foursquare(DataOptions(folder=folder, **options))
    assert isinstance(stream, RecordedStream)
    return stream


def test_format_is_the_documented_one() -> None:
    """The made-up lines look like those of the data set."""
    assert check_in(50756, "4f5e3a72e4b053fd6a4313f6", 0) == (
        "50756\t4f5e3a72e4b053fd6a4313f6\tTue Apr 03 18:00:06 +0000 2012\t540\n"
    )


def test_one_in_twenty_is_kept(tmp_path: Path) -> None:
    """People are kept by the hash of their id: the same ones always, 5 in 100 (20,000 ids, 5 standard deviations)."""
    assert KEPT_BELOW == "0ccccccd"
    write(tmp_path, "".join(check_in(who, "v1", who) for who in range(1, 1_000)))
    assert foursquare(tmp_path).people == tuple(map(str, KEPT))
    assert abs(sum(kept(who) for who in range(20_000)) - 1_000) < 155


def test_slots_of_a_hundred_minutes(tmp_path: Path) -> None:
    """Slots begin with the first check-in of a user who is kept; the last check-in of a slot counts; gaps stay."""
    before = [(LEFT_OUT, "v4", -50), (A, "nowhere", -10)]
    first = [(A, "v1", 0), (A, "v2", 5_999), (A, "v3", 30)]
    fourth = [(B, "v3", 18_000), (B, "v1", 18_000), (B, "v1", 18_000)]
    write(tmp_path, "".join(check_in(*visit) for visit in before + first + fourth))
    seen = foursquare(tmp_path, presence="seen")
    named = [[seen.cells[c] if c >= 0 else "" for c in slot] for slot in walked(seen)]
    assert named == [["US", ""], ["", ""], ["", ""], ["", "JP"]]
    carry = foursquare(tmp_path)
    assert [[carry.cells[c] for c in slot] for slot in walked(carry)] == [["US", "JP"]] * 4


def test_bad_lines_and_unknown_venues_are_counted(tmp_path: Path) -> None:
    """Lines of another form and check-ins at unknown venues are dropped, and the stream says how many."""
    bad = [
        f"{A}\tv1\tTue Apr 03 18:00:06 +0000 2012\n",
        f"{A}\tv1\tTue Apr 03 18:00:06 +0000 2012\t540\t1\n",
        f"{A}\tv1\t2012-04-03 18:00:06\t540\n",
        f"{A}\tv1\tTue Apr 31 18:00:06 +0000 2012\t540\n",
        f"{A}\tv1\tTue Apr 03 18:00:06 +0200 2012\t540\n",
        f"{A}\t\tTue Apr 03 18:00:06 +0000 2012\t540\n",
        "\tv1\tTue Apr 03 18:00:06 +0000 2012\t540\n",
        "1.5\tv1\tTue Apr 03 18:00:06 +0000 2012\t540\n",
        "9" * 30 + "\tv1\tTue Apr 03 18:00:06 +0000 2012\t540\n",
        '"\n',
    ]
    check_ins = "".join(bad) + "\n" + check_in(A, "v9", 60) + check_in(A, "v1", 60) + check_in(LEFT_OUT, "v9", 60)
    venues = "v8\t1\t2\tBar\n" + "v7\t1\t2\tBar\tJapan\n" + "\t1\t2\tBar\tJP\n"
    write(tmp_path, check_ins.encode() + b"\xff\n", (venues + venue_lines({"v1": "jp"})).encode("latin-1"))
    stream = foursquare(tmp_path)
    assert stream.dropped == {"invalid line": len(bad) + 1, "invalid venue": 3, "unknown venue": 1}
    assert stream.cells == ("JP",)
    assert walked(stream) == [[0]]


def test_a_venue_that_is_listed_twice(tmp_path: Path) -> None:
    """It counts once, in the first of its countries by code, and doubles no check-in."""
    write(tmp_path, check_in(A, "v1", 0), venue_lines({"v1": "US"}) + venue_lines({"v1": "JP"}))
    stream = foursquare(tmp_path)
    assert stream.cells == ("JP",)
    assert stream.slot.size == 1


def test_fewer_cells_merge_the_rare_countries(tmp_path: Path) -> None:
    """With d cells the d - 1 most frequent countries keep their own, and everything else is `other`."""
    often = [("v3", 5), ("v2", 3), ("v1", 2), ("v4", 2)]
    slots = iter(range(100))
    write(tmp_path, "".join(check_in(A, venue, 6_000 * next(slots)) for venue, times in often for _ in range(times)))
    assert foursquare(tmp_path).cells == ("BR", "JP", "TR", "US")
    assert foursquare(tmp_path, cells=4).cells == ("BR", "JP", "TR", "US")
    three = foursquare(tmp_path, cells=3, presence="seen")
    assert three.cells == ("BR", "US", "other")
    assert [cell for (cell,) in walked(three)] == [0] * 5 + [1] * 3 + [2] * 4
    assert foursquare(tmp_path, cells=2).cells == ("BR", "other")
    for cells in (1, 5):
        with pytest.raises(InvalidSetting, match=f"from 2 to 4 cells in this folder, got cells={cells}"):
            foursquare(tmp_path, cells=cells)


def test_ties_of_countries_go_by_code() -> None:
    """Of equally frequent countries the first by code keeps its cell."""
    cells, index = merge(["AA", "BB", "CC"], np.array([2, 3, 3]), 2)
    assert cells == ("BB", "other")
    assert index.tolist() == [1, 0, 1]


@pytest.mark.parametrize("presence", ["carry", "seen"])
@pytest.mark.parametrize("cells", [None, 3])
def test_same_as_plain_python(tmp_path: Path, presence: Presence, cells: int | None) -> None:
    """2,000 check-ins of 200 people, some broken: the stream is that of plain loops over the lines."""
    dice = random.Random(8)
    text, visits = "", []
    people = [*dice.sample(KEPT, 20), *dice.sample(range(1_000, 9_000), 180)]
    for _ in range(2_000):
        who, venue = dice.choice(people), dice.choice(["v1", "v1", "v2", "v3", "v4", "v5"])
        seconds = dice.randrange(90_000)
        text += check_in(who, venue, seconds)
        if kept(who) and venue in PLACES:
            visits.append((who, PLACES[venue], seconds))
        if dice.random() < 0.03:
            text += dice.choice(["garbage\n", "\n", f"{who}\t{venue}\tsoon\t0\n", text.splitlines(keepends=True)[-1]])
    write(tmp_path, text)
    first = min(seconds for *_, seconds in visits)
    codes = sorted({country for _, country, _ in visits})
    stays = last_of((who, (at - first) // 6_000, (at, codes.index(country))) for who, country, at in visits)
    if cells is not None:
        often = [sum(list(records_of.values()).count(c) for records_of in stays.values()) for c in range(len(codes))]
        order = sorted(range(len(codes)), key=lambda c: (-often[c], c))[: cells - 1]
        codes = [*(codes[c] for c in order), "other"]
        stays = {
            who: {at: order.index(c) if c in order else cells - 1 for at, c in records_of.items()}
            for who, records_of in stays.items()
        }
    stream = foursquare(tmp_path, presence=presence, cells=cells)
    assert list(stream.cells) == codes
    assert walked(stream) == walk(stays, max(max(records_of) for records_of in stays.values()) + 1, presence)


def test_missing_files_are_named(tmp_path: Path) -> None:
    """The refusal names each missing file, the source and the folder."""
    with pytest.raises(MissingData, match=rf"{CHECK_INS}, {VENUES} not found in .*foursquare.*TIST2015") as refused:
        foursquare(tmp_path)
    assert refused.value.fields["files"] == (CHECK_INS, VENUES)
    write(tmp_path, "")
    (tmp_path / "foursquare" / VENUES).unlink()
    with pytest.raises(MissingData) as refused:
        foursquare(tmp_path)
    assert refused.value.fields["files"] == (VENUES,)
    assert refused.value.fields["folder"] == str(tmp_path / "foursquare")


def test_files_without_a_usable_line_are_refused(tmp_path: Path) -> None:
    """Nothing usable is an error, not an empty stream."""
    for check_ins in ("", "nothing\n", check_in(LEFT_OUT, "v1", 0)):
        write(tmp_path, check_ins)
        with pytest.raises(InvalidInput, match="foursquare: not one usable record"):
            foursquare(tmp_path)
