"""Decides which text names a person or a cell, alike in every format, and shows names safely.

A name is exact text in Unicode normal form C, so that composed and decomposed letters are one name. Nothing is
stripped and upper case stays upper case. Numbers stand for their decimal digits. `to_name` and `sql_name` are the same
rule in Python and in DuckDB; tests compare them.
"""

from __future__ import annotations

import unicodedata
from decimal import Decimal
from uuid import UUID

from wevent.errors import InvalidInput

LONGEST_NAME = 512
"""Characters of a user's name and of a cell's, after normalisation."""

WHOLE_TYPES = (
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"),
    *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"),
)
"""DuckDB's types of whole numbers."""

_EXACT = {"DOUBLE": 2**53, "FLOAT": 2**24}
"""Below this, a whole number of the type is the one that was written; from here on it may be another one, rounded."""


def to_name(value: object) -> str:
    """The name that a value stands for.

    Guarantees:
        Text is itself in normal form C: never stripped, never in another case; names of one result are one person.
        A whole number is its decimal digits, exactly, whatever its size; a float below 2^53 too if it is whole.
        A UUID is its canonical text.
        Anything else (empty, longer than `LONGEST_NAME`, NUL, lone surrogates, true and false, fractions, nothing)
        raises `InvalidInput`, whose words do not hold the value.
    """
    text = value if isinstance(value, str) else _digits(value)
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
        if any("\ud800" <= letter <= "\udfff" for letter in text):
            raise InvalidInput("a name is Unicode text; this one holds half of a surrogate pair")
    if not 0 < len(text) <= LONGEST_NAME or "\0" in text:
        raise InvalidInput(f"a name has from 1 to {LONGEST_NAME} characters, and no NUL among them")
    return text


def sql_name(column: str, kind: str) -> str:
    """An SQL expression for `to_name` of a column of a DuckDB type: NULL where `to_name` would refuse.

    Guarantees:
        It agrees with `to_name` for text, bytes in UTF-8, numbers and UUIDs; columns of other types are all NULL.
        It never raises for a value.
    """
    if kind in WHOLE_TYPES:
        return f"CAST({column} AS VARCHAR)"
    if kind in _EXACT:
        sure = f"isfinite({column}) AND floor({column}) = {column} AND abs({column}) < {_EXACT[kind]}"
        return f"CASE WHEN {sure} THEN CAST(CAST({column} AS BIGINT) AS VARCHAR) END"
    if kind.startswith("DECIMAL"):
        return f"CASE WHEN trunc({column}) = {column} THEN CAST(CAST({column} AS HUGEINT) AS VARCHAR) END"
    if kind == "UUID":
        return f"CAST({column} AS VARCHAR)"
    if kind not in ("VARCHAR", "BLOB"):
        return "CAST(NULL AS VARCHAR)"
    given = f"TRY(decode({column}))" if kind == "BLOB" else column
    text = f"nfc_normalize({given})"  # this drops everything behind a NUL, so NUL is checked first
    return f"CASE WHEN length({text}) BETWEEN 1 AND {LONGEST_NAME} AND NOT contains({given}, chr(0)) THEN {text} END"


def show_name(text: object) -> str:
    r"""A name for a terminal or a log: what is not printable stands as an escape such as `\x1b`."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in str(text))


def _digits(value: object) -> str:
    """The text of a value that is none itself."""
    if isinstance(value, int) and not isinstance(value, bool):
        if abs(value) < 10**LONGEST_NAME:
            return str(value)
        raise InvalidInput(f"a name has from 1 to {LONGEST_NAME} characters, and no NUL among them")
    if isinstance(value, float) and abs(value) < _EXACT["DOUBLE"] and value.is_integer():
        return str(int(value))
    if isinstance(value, Decimal) and value.is_finite() and value.adjusted() < LONGEST_NAME and value == int(value):
        return str(int(value))
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            pass
    raise InvalidInput("a name is text or a whole number")
