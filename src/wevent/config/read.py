"""Reading and writing `wevent.toml`: a path comes in, a configuration or a commented example goes out."""

from __future__ import annotations

import os
import tomllib
from importlib.resources import files
from pathlib import Path

from pydantic import ValidationError

from wevent.config.model import Config
from wevent.errors import InvalidSetting, Unreadable, WeventError


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
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Unreadable(f"{path}: not TOML: {error}", file=str(path)) from None
    _resolve(tree, path.absolute().parent)
    return to_config(tree, str(path))


def to_config(tree: dict[str, object], name: str = "wevent.toml") -> Config:
    """Check a tree of settings."""
    try:
        return Config.model_validate(tree)
    except ValidationError as error:
        wrong = [f"{'.'.join(map(str, at['loc'])) or 'file'}: {_said(at['msg'])}" for at in error.errors()]
        raise InvalidSetting(f"{name}: " + "; ".join(wrong[:5]), wrong=tuple(wrong)) from None
    except OSError as error:
        raise Unreadable(f"{name}: the file of cells cannot be read ({error.strerror})") from None
    except WeventError as error:
        raise InvalidSetting(f"{name}: {error}") from None


def write_example(path: Path) -> None:
    """Write a commented configuration; never over a file that is there."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(example())
    except FileExistsError:
        raise InvalidSetting(f"{path} is there already; it is left as it is") from None
    except OSError as error:
        raise Unreadable(f"{path}: cannot be written ({error.strerror})", file=str(path)) from None


def example() -> str:
    """The commented configuration that `wevent init` writes."""
    return files("wevent.config").joinpath("example.toml").read_text("utf-8")


def witness_path(config: Config, store: str) -> Path:
    """Where the witness of a stream lies: by default in the user's state folder, away from the store."""
    if config.store.witness is not None:
        return Path(config.store.witness)
    home = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(home) / "wevent" / f"{store}-{config.stream.name.replace(' ', '_')}.json"


def _resolve(tree: dict[str, object], folder: Path) -> None:
    """Make paths of files relative to the configuration's folder."""
    for part, key in (("cells", "file"), ("store", "url"), ("store", "witness")):
        table = tree.get(part)
        if isinstance(table, dict) and isinstance(table.get(key), str) and "://" not in table[key]:
            table[key] = str(folder / Path(table[key]).expanduser())
    store = tree.setdefault("store", {})
    if isinstance(store, dict):
        store.setdefault("url", str(folder / "wevent.db"))


def _said(message: str) -> str:
    return message.removeprefix("Value error, ")
