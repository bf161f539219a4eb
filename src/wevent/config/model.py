"""The shape of `wevent.toml`: tables as they are written come in, a checked and frozen configuration goes out."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from wevent.cohorts.requirement import Levels
from wevent.config.durations import show_duration, to_microseconds
from wevent.events.bounding import OneCell
from wevent.events.cells import Box, Cells, GridCells, NamedCells
from wevent.events.formats import Columns, TimeUnit
from wevent.events.timeline import Timeline, show_instant, to_instant
from wevent.recipes import ESTIMATORS, RECIPES
from wevent.settings import Limits, Neighbours, Privacy, Rest, WhenInfeasible
from wevent.units import MAX_EPSILON, MAX_WINDOW, show, to_units


def _instant(given: Any) -> Any:
    if isinstance(given, datetime):
        return to_instant((given if given.tzinfo else given.replace(tzinfo=UTC)).isoformat())
    if isinstance(given, date):
        return to_instant(given.isoformat())
    return to_instant(given) if isinstance(given, str) else given


def _microseconds(given: Any) -> Any:
    return to_microseconds(given) if isinstance(given, str) else given


def _known(name: str) -> str:
    if name not in RECIPES:
        raise ValueError(f"must be one of {', '.join(RECIPES)}")
    return name


def _estimator(name: str | None) -> str | None:
    if name is not None and name not in ESTIMATORS:
        raise ValueError(f"must be one of {', '.join(ESTIMATORS)}")
    return name


Instant = Annotated[int, BeforeValidator(_instant)]
Duration = Annotated[int, BeforeValidator(_microseconds), Field(ge=0)]
Words = Annotated[str, Field(min_length=1, max_length=512, pattern=r"^[^\x00]*$")]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class StreamPart(_Part):
    """`[stream]`: the name under which the stream is kept in the store."""

    name: Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[\w .-]+$")]


class SlotsPart(_Part):
    """`[slots]`: how time is cut, and who closes a slot."""

    width: Duration
    first: Instant
    origin: Instant = 0
    closing: Literal["files", "arrival", "operator"] = "files"
    lateness: Duration = 0
    ahead: Duration = 0

    @property
    def timeline(self) -> Timeline:
        """Where slots begin and end."""
        return Timeline(self.origin, self.width, self.first)


class GridPart(_Part):
    """`[cells.grid]`: a box of longitude and latitude, cut into columns and rows."""

    west: float
    south: float
    east: float
    north: float
    columns: Annotated[int, Field(ge=1, le=100_000)]
    rows: Annotated[int, Field(ge=1, le=100_000)]


class CellsPart(_Part):
    """`[cells]`: a list of names, a file with one name a line, or a grid; and a cell for the rest, if wanted."""

    names: tuple[Words, ...] | None = None
    file: Path | None = None
    grid: GridPart | None = None
    other: Words | None = None

    @model_validator(mode="before")
    @classmethod
    def _lists(cls, given: Any) -> Any:
        if isinstance(given, dict):
            if isinstance(given.get("names"), list):
                given = {**given, "names": tuple(given["names"])}
            if isinstance(given.get("file"), str):
                given = {**given, "file": Path(given["file"])}
        return given

    @model_validator(mode="after")
    def _one(self) -> CellsPart:
        if sum(part is not None for part in (self.names, self.file, self.grid)) != 1:
            raise ValueError("give exactly one of names, file and grid")
        return self

    def declared(self) -> Cells:
        """The cells; those of a file are read now."""
        if self.grid is not None:
            grid = self.grid
            return GridCells(Box(grid.west, grid.south, grid.east, grid.north), grid.columns, grid.rows, self.other)
        if self.file is not None:
            lines = self.file.read_text("utf-8").splitlines()
            return NamedCells([line.strip() for line in lines if line.strip()], self.other)
        return NamedCells(list(self.names or ()), self.other)


class GroupPart(_Part):
    """`[people.group]`: one row for everybody who is not listed, of declared size and requirement."""

    size: Annotated[int, Field(ge=1, le=2**53)]
    epsilon: float | int | str
    window: int | str


class PeoplePart(_Part):
    """`[people]`: which of a person's cells counts, for how long, and what becomes of unlisted people."""

    one_cell: OneCell = "first"
    presence: Literal["seen", "carry"] = "seen"
    carry: Annotated[int, Field(ge=1, le=MAX_WINDOW)] = 1
    group: GroupPart | None = None

    @model_validator(mode="after")
    def _carried(self) -> PeoplePart:
        if self.presence == "seen" and self.carry != 1:
            raise ValueError("carry needs presence = 'carry'")
        return self


class LimitsPart(_Part):
    """`[privacy.limits]`: what people may ask for."""

    epsilon: float | int = MAX_EPSILON
    window: int = MAX_WINDOW
    share_ratio: float = float("inf")


class PrivacyPart(_Part):
    """`[privacy]`: the mechanism and what it promises."""

    mechanism: Annotated[str, AfterValidator(_known)] = "auto"
    estimator: Annotated[str | None, AfterValidator(_estimator)] = None
    neighbours: Neighbours = "add_remove"
    infeasible: WhenInfeasible = "project"
    rest: Rest = "all"
    horizon: Annotated[int, Field(ge=1, le=MAX_WINDOW)] = 1
    limits: LimitsPart = LimitsPart()

    @model_validator(mode="after")
    def _chosen(self) -> PrivacyPart:
        if self.estimator is not None and self.mechanism != "auto":
            raise ValueError(
                f"estimator goes with mechanism = 'auto'; {self.mechanism} has one of its own, leave it out"
            )
        return self

    @property
    def choices(self) -> dict[str, str]:
        """What the recipe is told besides; `auto` is told how to count."""
        return {"estimator": self.estimator or "unbiased"} if self.mechanism == "auto" else {}


class LevelsPart(_Part):
    """`[levels.budgets]` and `[levels.windows]`: names that people may pick from."""

    budgets: dict[str, float | int | str] = {}
    windows: dict[str, int] = {}


class StorePart(_Part):
    """`[store]`: where things are kept, and the witness outside of it."""

    url: str = "wevent.db"
    witness: str | None = None


class SourcesPart(_Part):
    """`[sources]`: the columns of files of events."""

    user: Words = "user"
    time: Words = "time"
    place: Words = "place"
    longitude: Words = "longitude"
    latitude: Words = "latitude"
    time_unit: TimeUnit = "iso"
    delimiter: str = ","
    memory: Annotated[str, Field(pattern=r"^\d{1,6} ?[MG]B$")] = "1GB"


class Config(_Part):
    """Everything of `wevent.toml`."""

    stream: StreamPart
    slots: SlotsPart
    cells: CellsPart
    people: PeoplePart = PeoplePart()
    privacy: PrivacyPart = PrivacyPart()
    levels: LevelsPart = LevelsPart()
    store: StorePart = StorePart()
    sources: SourcesPart = SourcesPart()

    @model_validator(mode="after")
    def _fits(self) -> Config:
        if self.people.presence == "carry" and self.privacy.neighbours != "substitution":
            raise ValueError("people.presence = 'carry' needs privacy.neighbours = 'substitution' (SPEC §1)")
        domain = len(self.cells.declared().names)
        if self.slots.timeline.width * domain >= 2**62:
            raise ValueError("slots this wide with this many cells do not fit into whole numbers; take fewer of either")
        _ = self.protection, self.columns
        return self

    @property
    def columns(self) -> Columns:
        """The columns of files of events."""
        sources = self.sources
        place = (sources.place,) if self.cells.grid is None else (sources.longitude, sources.latitude)
        return Columns(sources.user, sources.time, place, sources.time_unit, sources.delimiter)

    @property
    def protection(self) -> Privacy:
        """The privacy settings of the core; windows are widened where people are carried."""
        limits = self.privacy.limits
        widest = min(MAX_WINDOW, limits.window + self.people.carry - 1)
        return Privacy(
            neighbours=self.privacy.neighbours,
            infeasible=self.privacy.infeasible,
            rest=self.privacy.rest,
            limits=Limits(limits.epsilon, widest, limits.share_ratio),
        )

    @property
    def named(self) -> Levels | None:
        """The named levels, if there are any."""
        return Levels(self.levels.budgets, self.levels.windows) if self.levels.budgets or self.levels.windows else None

    def fixed(self) -> dict[str, Any]:
        """What the promise depends on, in plain words; the store holds it and compares."""
        slots, people, privacy = self.slots, self.people, self.privacy
        cells = self.cells.declared()
        place: Any = list(cells.names)
        if self.cells.grid is not None:
            place = {**self.cells.grid.model_dump(), "other": self.cells.other}
        group = None if people.group is None else people.group.model_dump()
        levels = {name: show(to_units(value)) for name, value in self.levels.budgets.items()}
        return {
            "slots.width": show_duration(slots.width),
            "slots.origin": show_instant(slots.origin),
            "slots.first": show_instant(slots.first),
            "slots.closing": slots.closing,
            "slots.lateness": show_duration(slots.lateness),
            "slots.ahead": show_duration(slots.ahead),
            "cells": place,
            "cells.other": self.cells.other,
            "people.one_cell": people.one_cell,
            "people.presence": people.presence,
            "people.carry": people.carry,
            "people.group": group,
            "privacy.mechanism": privacy.mechanism,
            **{f"privacy.{name}": word for name, word in privacy.choices.items()},
            "privacy.neighbours": privacy.neighbours,
            "privacy.infeasible": privacy.infeasible,
            "privacy.rest": privacy.rest,
            "privacy.horizon": privacy.horizon,
            "privacy.limits": {name: repr(value) for name, value in privacy.limits.model_dump().items()},
            "levels.budgets": levels,
            "levels.windows": dict(self.levels.windows),
        }
