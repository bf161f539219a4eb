"""Defines the tables of `wevent.toml` as a checked and frozen configuration."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from wevent.cohorts.requirement import check_limits
from wevent.config.durations import UNITS, show_duration, to_microseconds
from wevent.config.people import LevelsPart, LimitsPart, PeoplePart, SettingsTable, UnlistedGroup, resolve_group
from wevent.events.cells import Box, Cells, GridCells, NamedCells
from wevent.events.formats import Columns, TimeUnit, Unterminated
from wevent.events.timeline import Timeline, show_instant, to_instant
from wevent.mechanisms import RECIPES, EstimatorName
from wevent.settings import Limits, Neighbours, Privacy, Rest, WhenInfeasible
from wevent.units import MAX_WINDOW, show, to_units


def _instant(given: Any) -> Any:
    if isinstance(given, datetime):
        return to_instant((given if given.tzinfo else given.replace(tzinfo=UTC)).isoformat())
    if isinstance(given, date):
        return to_instant(given.isoformat())
    if not isinstance(given, str):
        raise ValueError("a time is ISO 8601, such as 2024-05-01T00:00:00Z; a number does not say what it counts")  # noqa: TRY004
    return to_instant(given)


def _microseconds(given: Any) -> Any:
    if not isinstance(given, str):
        raise ValueError(f"a length of time needs a unit: a number and one of {', '.join(UNITS)}, as in '15 min'")  # noqa: TRY004
    return to_microseconds(given)


def _known(name: str) -> str:
    if name not in RECIPES:
        raise ValueError(f"must be one of {', '.join(RECIPES)}")
    return name


def _estimator(name: object) -> object:
    if name is not None and name not in get_args(EstimatorName):
        raise ValueError(f"must be one of {', '.join(get_args(EstimatorName))}")
    return name


Instant = Annotated[int, BeforeValidator(_instant)]
Duration = Annotated[int, BeforeValidator(_microseconds), Field(ge=0)]
Words = Annotated[str, Field(min_length=1, max_length=512, pattern=r"^[^\x00]*$")]


class StreamPart(SettingsTable):
    """`[stream]`: the name under which the stream is kept in the store."""

    name: Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[\w .-]+$")]


class SlotsPart(SettingsTable):
    """`[slots]`: how time is cut, and who closes a slot."""

    width: Duration
    first: Instant
    origin: Instant = 0
    closing: Literal["files", "arrival", "operator"] = "files"
    lateness: Duration = 0
    ahead: Duration = 0
    clock_jump: Duration | None = None

    @property
    def jump_limit(self) -> int:
        """By how many microseconds the clock may jump: a slot if not said otherwise, at least 1 s, at most 1 min."""
        usual = max(1_000_000, min(self.width, 60_000_000))
        return usual if self.clock_jump is None else self.clock_jump

    @property
    def timeline(self) -> Timeline:
        """Where slots begin and end."""
        return Timeline(self.origin, self.width, self.first)


class GridPart(SettingsTable):
    """`[cells.grid]`: a box of longitude and latitude, cut into columns and rows."""

    west: float
    south: float
    east: float
    north: float
    columns: Annotated[int, Field(ge=1, le=100_000)]
    rows: Annotated[int, Field(ge=1, le=100_000)]


def _names_of(file: Path) -> list[str]:
    """One name a line, exactly as it stands there; empty lines are none."""
    try:
        lines = file.read_bytes().decode("utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise ValueError("the file of cells is not text in UTF-8") from None
    names = [line.removesuffix("\r") for line in lines]
    for number, name in enumerate(names, start=1):
        if name != name.strip(" \t"):
            raise ValueError(f"line {number} of the file of cells begins or ends with a space; names are exact")
    return [name for name in names if name]


class CellsPart(SettingsTable):
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
            return NamedCells(_names_of(self.file), self.other)
        return NamedCells(list(self.names or ()), self.other)


class PrivacyPart(SettingsTable):
    """`[privacy]`: the mechanism and what it promises."""

    mechanism: Annotated[str, AfterValidator(_known)] = "auto"
    estimator: Annotated[EstimatorName | None, BeforeValidator(_estimator)] = None
    neighbours: Neighbours = "add_remove"
    infeasible: WhenInfeasible = "project"
    rest: Rest = "all"
    history_slots: Annotated[int, Field(ge=1, le=MAX_WINDOW)] = 1
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
        """Further options of the recipe: the estimator of `auto`."""
        return {"estimator": self.estimator or "unbiased"} if self.mechanism == "auto" else {}


class StorePart(SettingsTable):
    """`[store]`: where things are kept, and the witness outside of it."""

    url: str = "wevent.db"
    witness: str | None = None


class SourcesPart(SettingsTable):
    """`[sources]`: the columns of files of events."""

    user: Words = "user"
    time: Words = "time"
    place: Words = "place"
    longitude: Words = "longitude"
    latitude: Words = "latitude"
    time_unit: TimeUnit = "iso"
    delimiter: str = ","
    unterminated: Unterminated = "refuse"
    memory: Annotated[str, Field(pattern=r"^\d{1,6} ?[MG]B$")] = "1GB"


class Config(SettingsTable):
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
        _ = self.protection, self.columns, self.group
        return self

    @property
    def columns(self) -> Columns:
        """The columns of files of events."""
        sources = self.sources
        place = (sources.place,) if self.cells.grid is None else (sources.longitude, sources.latitude)
        return Columns(sources.user, sources.time, place, sources.time_unit, sources.delimiter, sources.unterminated)

    @property
    def limits(self) -> Limits:
        """What people may require, in the words that they use."""
        return Limits(**self.privacy.limits.model_dump())

    @property
    def group(self) -> UnlistedGroup | None:
        """The row of unlisted people; a level added later does not change what it requires."""
        group = resolve_group(self.people, self.levels)
        if group is not None:
            check_limits(group.requirement, self.limits)
        return group

    @property
    def protection(self) -> Privacy:
        """The privacy settings of the core; windows are widened where people are carried.

        A window widened by carrying has a smaller share than the one that a person required and was granted; the core's
        least share is lowered by the most that this can be.
        """
        limits, carry = self.limits, self.people.carry
        least = limits.least_share if carry == 1 else limits.least_share / carry * (1 - 1e-12)
        widest = min(MAX_WINDOW, limits.window + carry - 1)
        return Privacy(
            neighbours=self.privacy.neighbours,
            infeasible=self.privacy.infeasible,
            rest=self.privacy.rest,
            limits=replace(limits, window=widest, least_share=least),
        )

    def fixed(self) -> dict[str, Any]:
        """What the promise depends on, in plain words; the store holds it and compares."""
        slots, people, privacy = self.slots, self.people, self.privacy
        cells = self.cells.declared()
        place: Any = list(cells.names)
        if self.cells.grid is not None:
            place = {**self.cells.grid.model_dump(), "other": self.cells.other}
        group = None
        if self.group is not None:
            required = self.group.requirement
            group = {"size": self.group.size, "epsilon_units": required.units, "window": required.window}
        limits = {name: repr(value) for name, value in privacy.limits.model_dump().items() if name != "history_cells"}
        levels = {name: show(to_units(value)) for name, value in self.levels.epsilons.items()}
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
            "people.shared": people.shared,
            "privacy.mechanism": privacy.mechanism,
            **{f"privacy.{name}": word for name, word in privacy.choices.items()},
            "privacy.neighbours": privacy.neighbours,
            "privacy.infeasible": privacy.infeasible,
            "privacy.rest": privacy.rest,
            "privacy.history_slots": privacy.history_slots,
            "privacy.limits": limits,
            "levels.epsilons": levels,
            "levels.windows": dict(self.levels.windows),
        }
