"""Fills the templates of reports; pages, sentences and labels live in `templates/`, not in Python."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any


@cache
def read_template(name: str) -> str:
    """The text of a file in `templates/`."""
    return files("wevent.study.reporting").joinpath("templates", name).read_text("utf-8")


@cache
def read_table(name: str) -> dict[str, Any]:
    """A TOML file in `templates/`."""
    return tomllib.loads(read_template(name))


def fill(name: str, **values: object) -> str:
    """A page or a section, with its placeholders filled; a placeholder without a value raises `KeyError`."""
    return Template(read_template(name)).substitute(values)


def say(page: str, sentence: str, **values: object) -> str:
    """A sentence of `sentences.toml`, with its placeholders filled."""
    return Template(read_table("sentences.toml")[page][sentence]).substitute(values)
