"""The command `wevent smooth`: raw releases in, smoothed counts out, bad files refused by line."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from wevent import Fixed, Register, Release, Slot, auto
from wevent.cli.main import main
from wevent.cli.raw_releases import read, write_raw
from wevent.errors import InvalidInput
from wevent.noise import SeededNoise
from wevent.releases.smoothing import published, smooth

CELLS = ["north", "south"]


def releases_csv() -> tuple[str, list[Release]]:
    register = Register.from_rows({k: Fixed(1, 6) for k in range(40)})
    publisher = auto(register, CELLS, noise=SeededNoise(1), fast=False)
    releases = [publisher.step(Slot(t, {k: CELLS[k % 2] for k in range(30)})) for t in range(1, 30)]
    text = StringIO()
    write_raw(text, releases, CELLS)
    return text.getvalue(), releases


def test_there_and_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is written is read back exactly, and the command writes what `smooth` gives, to a file or to the screen."""
    text, releases = releases_csv()
    wanted = smooth(published(releases), 29)
    publications, last, cells = read(StringIO(text))
    assert (last, cells) == (29, CELLS)
    assert np.array_equal(smooth(publications, last).counts, wanted.counts)
    source, target = tmp_path / "releases.csv", tmp_path / "smoothed.csv"
    source.write_text(text, "utf-8")
    assert main(["smooth", str(source), "--output", str(target)]) == 0
    assert main(["smooth", str(source)]) == 0
    assert capsys.readouterr().out == target.read_text("utf-8")
    lines = list(csv.DictReader(StringIO(target.read_text("utf-8"))))
    assert len(lines) == 2 * len(wanted.counts)
    assert float(lines[0]["count"]) == pytest.approx(wanted.counts[0, 0], rel=1e-5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("slot,cell,raw\n1,a,3\n", "lack the column"),
        ("slot,cell,raw,raw_standard_error\n0,a,3,1\n", "line 2: a slot"),
        ("slot,cell,raw,raw_standard_error\n1,a,x,1\n", "line 2: raw counts"),
        ("slot,cell,raw,raw_standard_error\n1,a,nan,1\n", "line 2: raw counts"),
        ("slot,cell,raw,raw_standard_error\n1,a,3,0\n", "line 2: a raw standard error"),
        ("slot,cell,raw,raw_standard_error\n1,a,3,1\n1,a,3,1\n", "line 3: slot 1 has a cell twice"),
        ("slot,cell,raw,raw_standard_error\n1,a,3,1\n1,b,,\n", "1 of 2 cells"),
    ],
)
def test_bad_files(text: str, message: str) -> None:
    """Each is refused with the line or the slot that is wrong."""
    with pytest.raises(InvalidInput, match=message):
        read(StringIO(text))


def test_files_that_are_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2 and a message, for a missing file and for one without publications."""
    assert main(["smooth", str(tmp_path / "no.csv")]) == 2
    empty = tmp_path / "empty.csv"
    empty.write_text("slot,cell,raw,raw_standard_error\n1,a,,\n", "utf-8")
    assert main(["smooth", str(empty)]) == 2
    assert "nothing to smooth" in capsys.readouterr().err
