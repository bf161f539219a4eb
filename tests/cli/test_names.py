"""One person under one name: on the command line, in files of requirements and in events of every format."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb

from wevent.cli import tour
from wevent.cli.main import main
from wevent.config.read import read_config
from wevent.events.cells import NamedCells
from wevent.events.files import GroupedFiles
from wevent.events.validation import AcceptanceWindow, EventValidator
from wevent.store.database import open_database
from wevent.store.requirements import read_people
from wevent.store.streams import find_stream

REQUIRED = ["zoe\u0308", " ann", "Ann", "1234567890123456789", "[bold]", "-7", "a,b"]
"""As requirements name people."""
WRITTEN = ["zoë", " ann", "Ann", 1234567890123456789, "[bold]", -7, "a,b"]
"""As events name them."""


def test_people_are_found_by_every_way(tmp_path: Path) -> None:
    """A person who was listed by `set` or `import` is found in events of every format, once."""
    tour.write_city(tmp_path, 20, 3, 1)
    config = ["--config", str(tmp_path / "wevent.toml")]
    for name in REQUIRED[::2]:
        assert main(["requirements", "set", *config, "--epsilon", "1", "--window", "4", "--", name]) == 0
    quoted = "".join(f'"{name}",1,4\n' for name in REQUIRED)
    (tmp_path / "people.csv").write_text(f"user,epsilon,window\n{quoted}", "utf-8")
    assert main(["requirements", "import", *config, str(tmp_path / "people.csv")]) == 0
    settings = read_config(tmp_path / "wevent.toml")
    with open_database(settings.store.url, read_only=True) as database, database.read() as connection:
        people = read_people(connection, find_stream(database, settings.stream.name)[0].id)
    assert len(people) == len(REQUIRED)
    timeline = settings.slots.timeline
    moment = "2024-05-01T00:00:10Z"
    rows = [{"user": name, "time": moment, "place": "x"} for name in WRITTEN]
    (tmp_path / "e.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
    lines = "".join(f'"{name}",{moment},x\n' for name in WRITTEN)
    (tmp_path / "e.csv").write_text(f"user,time,place\n{lines}", "utf-8")
    with duckdb.connect() as connection:
        connection.execute('CREATE TABLE t ("user" VARCHAR)')
        connection.executemany("INSERT INTO t VALUES (?)", [[str(name)] for name in WRITTEN])
        wanted = f"\"user\", TIMESTAMP '{moment}' AS time, 'x' AS place"
        connection.execute(f"COPY (SELECT {wanted} FROM t) TO '{tmp_path / 'e.parquet'}' (FORMAT parquet)")  # noqa: S608
    for name in ("e.csv", "e.ndjson", "e.parquet"):
        validator = EventValidator(timeline, NamedCells(["x"]), people, True)
        with GroupedFiles(
            [tmp_path / name], validator, AcceptanceWindow(1, timeline.end(1)), "first", settings.columns
        ) as grouped:
            assert grouped.rows(1).cells.tolist() == [0] * len(REQUIRED), name
            assert grouped.rows(1).unlisted.tolist() == [0], name
