"""Reads `wevent.toml` into a checked configuration, and writes a commented example."""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import get_args

from pydantic import BaseModel, ValidationError

from wevent.config.model import Config
from wevent.errors import InvalidSetting, Unreadable, WeventError
from wevent.events.names import show_name

_DAY = 86_400_000_000
_LONG = 2**14
"""More slots than this are no window that `wevent init` proposes."""


def read_config(path: Path) -> Config:
    """Read and check a configuration; paths in it are relative to its folder.

    Guarantees:
        Whatever is wrong raises one error that names the place in the file and what is allowed there.
    """
    try:
        text = path.read_bytes().decode("utf-8")
        tree = tomllib.loads(text)
    except OSError as error:
        raise Unreadable(f"{path}: cannot be read ({error.strerror}); `wevent init` writes one") from None
    except UnicodeDecodeError:
        raise Unreadable(f"{path}: not text in UTF-8; convert it first", file=str(path)) from None
    except tomllib.TOMLDecodeError as error:
        raise Unreadable(f"{path}: not TOML: {error}", file=str(path)) from None
    except RecursionError:
        raise Unreadable(f"{path}: not a configuration: its values are nested too deeply", file=str(path)) from None
    _resolve(tree, path.absolute().parent)
    return to_config(tree, str(path))


def to_config(tree: dict[str, object], name: str = "wevent.toml") -> Config:
    """Check a tree of settings."""
    try:
        return Config.model_validate(tree)
    except ValidationError as error:
        wrong = [f"{_place(at['loc'])}: {_said(at['type'], at['loc'], at['msg'])}" for at in error.errors()]
        raise InvalidSetting(f"{name}: " + "; ".join(wrong[:5]), wrong=tuple(wrong)) from None
    except RecursionError:
        raise InvalidSetting(f"{name}: its values are nested too deeply") from None
    except OSError as error:
        raise Unreadable(f"{name}: the file of cells cannot be read ({error.strerror})") from None
    except WeventError as error:
        raise InvalidSetting(f"{name}: {error}") from None


def write_example(path: Path, choices: Mapping[str, str | None] | None = None) -> None:
    """Write a commented configuration; never over a file that is there."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(example(choices))
    except FileExistsError:
        raise InvalidSetting(f"{path} is there already; it is left as it is") from None
    except OSError as error:
        raise Unreadable(f"{path}: cannot be written ({error.strerror})", file=str(path)) from None


def example(choices: Mapping[str, str | None] | None = None) -> str:
    """The commented configuration that `wevent init` writes.

    `choices` are values, as TOML writes them, by key; None leaves the key out.
    """
    text = files("wevent.config").joinpath("example.toml").read_text("utf-8")
    for key, value in (choices or {}).items():
        found = re.search(rf"(?m)^{key} = .*?(?= *#|$)", text)
        assert found is not None  # noqa: S101
        line = "" if value is None else f"{key} = {value}".ljust(34)
        text = text[: found.start()] + line + text[found.end() + (value is None) :]
    return "\n".join(line.rstrip() for line in text.split("\n"))


def by_width(width: int) -> dict[str, str | None]:
    """The choices of `example` that depend on the length of a slot, in microseconds: windows named after times.

    Guarantees:
        A level lasts at least as long as its name says; one that is shorter than a slot, or longer than `_LONG` slots,
        is left out.
    """
    day = -(-_DAY // width)
    windows = {"hour": _DAY // 24, "evening": _DAY // 4, "day": _DAY}
    levels = {name: -(-time // width) for name, time in windows.items() if width <= time <= _LONG * width}
    longest = max(levels.values(), default=1)
    return {
        "history_slots": str(longest),
        "window": str(min(7 * day, _LONG)),
        "least_share": f"{math.floor(0.48 / longest * 1e6) / 1e6:g}",
        **{name: str(levels[name]) if name in levels else None for name in windows},
    }


def witness_path(config: Config, name: str) -> Path:
    """Where the witness of a stream lies: by default under a name in the user's state folder, away from the store."""
    if config.store.witness is not None:
        return Path(config.store.witness)
    try:
        home = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    except RuntimeError:
        raise InvalidSetting(
            "there is no home folder for the witness; say where it lies (`witness` under [store])"
        ) from None
    return Path(home) / "wevent" / name


def _resolve(tree: dict[str, object], folder: Path) -> None:
    """Make paths of files relative to the configuration's folder."""
    for part, key in (("cells", "file"), ("store", "url"), ("store", "witness")):
        table = tree.get(part)
        if isinstance(table, dict) and isinstance(table.get(key), str) and "://" not in table[key]:
            table[key] = str(folder / Path(table[key]).expanduser())
    store = tree.setdefault("store", {})
    if isinstance(store, dict):
        store.setdefault("url", str(folder / "wevent.db"))


def _place(at: tuple[int | str, ...]) -> str:
    return show_name(".".join(map(str, at))) or "file"


def _said(kind: str, at: tuple[int | str, ...], message: str) -> str:
    """What is wrong at a place; for a setting that nobody knows, which one may be meant."""
    if kind != "extra_forbidden":
        return message.removeprefix("Value error, ")
    known = _known_settings(Config)
    given, folder = ".".join(map(str, at)), ".".join(map(str, at[:-1]))
    beside = [name.removeprefix(f"{folder}.") for name in known if name.rpartition(".")[0] == folder]
    elsewhere = [name for name in known if name.rpartition(".")[2] == at[-1]]
    meant = get_close_matches(given, known, 1, 0.75) or elsewhere[:1]
    if meant:
        return f"no such setting; did you mean {meant[0]}?"
    return f"no such setting; here are {', '.join(beside)}"


def _known_settings(part: type[BaseModel], folder: str = "") -> list[str]:
    """The names of all settings with their tables."""
    names = []
    for name, field in part.model_fields.items():
        place = f"{folder}.{name}" if folder else name
        names.append(place)
        for kind in (field.annotation, *get_args(field.annotation)):
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                names += _known_settings(kind, place)
    return names
