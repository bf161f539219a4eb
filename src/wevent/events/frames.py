"""Reads columns of a pandas or polars DataFrame by name, without importing either library."""

from __future__ import annotations

from typing import Any, Protocol

from wevent.errors import InvalidInput
from wevent.events.names import show_name


class DataFrame(Protocol):
    """What pandas and polars frames share: columns by name."""

    @property
    def columns(self) -> Any:
        """The names of the columns."""
        ...

    def __getitem__(self, name: Any, /) -> Any:
        """One column."""
        ...


def read_column(frame: DataFrame, name: str, *, optional: bool = False) -> list[Any]:
    """The values of a column as plain Python values, None where a value is missing.

    Guarantees:
        A frame without the column raises `InvalidInput`; so does a missing value, unless `optional`. No message holds
        a value.
    """
    names = list(frame.columns)
    if names.count(name) != 1:
        found = ", ".join(show_name(other) for other in names[:20]) or "none"
        raise InvalidInput(f"the frame must have one column '{show_name(name)}'; its columns are {found}")
    column = frame[name]
    missing = (column.isna() if hasattr(column, "isna") else column.is_null()).to_list()
    values = [None if gone or value != value else value for value, gone in zip(column.to_list(), missing, strict=True)]
    if not optional and None in values:
        raise InvalidInput(f"column '{show_name(name)}' has a row without a value; fill it in, or leave the row out")
    return values
