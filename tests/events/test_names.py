"""One rule for names in every format, in Python and in DuckDB."""

from __future__ import annotations

import unicodedata
from decimal import Decimal
from typing import Any
from uuid import UUID

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wevent.errors import InvalidInput
from wevent.events.names import LONGEST_NAME, show_name, sql_name, to_name

CONNECTION = duckdb.connect()
KINDS: dict[str, st.SearchStrategy[Any]] = {
    "VARCHAR": st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    | st.sampled_from(["é\0x", "\0", "e\u0301\0", "a\0é"])
    | st.integers(505, 520).map(lambda many: "e\u0301" * many)
    | st.integers(505, 520).map(lambda many: "q\u0301" * (many // 2)),
    "BLOB": st.binary(max_size=6) | st.text(max_size=4).map(lambda text: text.encode("utf-8", "surrogatepass")),
    "BIGINT": st.integers(-(2**63), 2**63 - 1) | st.integers(10**18, 2**63 - 1),
    "UBIGINT": st.integers(0, 2**64 - 1) | st.integers(2**63, 2**64 - 1),
    "HUGEINT": st.integers(-(2**127) + 1, 2**127 - 1),
    "TINYINT": st.integers(-128, 127),
    "DOUBLE": st.floats() | st.integers(-(2**54), 2**54).map(float) | st.sampled_from([-0.0, 2.0**53, 2.0**53 - 1]),
    "DECIMAL(38,2)": st.decimals(-(10**30), 10**30, places=2),
    "DECIMAL(18,0)": st.decimals(-(10**17), 10**17, places=0),
    "UUID": st.uuids(),
}


def name_or_none(value: Any) -> str | None:
    """`to_name`, None for what it refuses."""
    try:
        return to_name(value)
    except InvalidInput:
        return None


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_python_and_duckdb_agree(kind: str, data: st.DataObject) -> None:
    """DuckDB gives every value of every type the name that Python gives it, and refuses what Python refuses."""
    values = data.draw(st.lists(KINDS[kind], min_size=1, max_size=8))
    rows = ", ".join(f"(CAST(? AS {kind}))" for _ in values)
    found = CONNECTION.execute(f"SELECT {sql_name('v', kind)} FROM (VALUES {rows}) t(v)", values).fetchall()  # noqa: S608
    assert [name for (name,) in found] == [name_or_none(value) for value in values]


def test_every_letter_that_has_two_forms() -> None:
    """For all letters of Unicode, composed and decomposed forms are one name, in Python and in DuckDB."""
    letters = [chr(code) for code in range(0xA0, 0x110000) if not 0xD800 <= code <= 0xDFFF]
    texts = [form for form in (unicodedata.normalize("NFD", letter) for letter in letters) if len(form) > 1]
    texts += [letter for letter in letters if not unicodedata.is_normalized("NFC", letter)]
    assert len(texts) > 10_000
    column = np.empty(len(texts), object)
    column[:] = texts
    with duckdb.connect() as connection:
        connection.register("batch", {"v": column})
        found = connection.execute(f"SELECT {sql_name('v', 'VARCHAR')} FROM batch").fetchall()  # noqa: S608
    assert [name for (name,) in found] == [to_name(text) for text in texts]


def test_the_rule() -> None:
    """Forms of Unicode are one name; spaces and case are not touched; numbers are their digits."""
    assert to_name("e\u0301") == to_name("é") == "é"
    assert to_name(" ann ") == " ann " != to_name("ann")
    assert to_name("Ann") != to_name("ann")
    assert to_name("\ufb01") == "\ufb01"  # a ligature is not its letters: form C, not KC
    for number in (0, -7, 2**53 + 1, 1234567890123456789, 2**64 - 1):
        assert to_name(number) == str(number)
    assert to_name(7.0) == "7"
    assert to_name(-0.0) == "0"
    assert to_name(Decimal("12.00")) == "12"
    assert to_name(UUID("A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11")) == "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
    assert to_name("e\u0301" * LONGEST_NAME) == "é" * LONGEST_NAME


def test_refused() -> None:
    """What is no name is refused, and the message does not hold it."""
    refused: list[object] = ["", "a" * 513, "a\0", "a\ud800", "\udfffe\u0301", True, False, None, [], {}, ("a",)]
    refused += [1.5, float("nan"), float("inf"), 2.0**53, 10**512, -(10**512) + 1, -(10**5000), b"\xff"]
    refused += [Decimal("0.1"), Decimal("nan"), Decimal("1e999999")]
    for value in refused:
        with pytest.raises(InvalidInput, match=r"a name (is text or a whole number|has from 1 to 512|is Unicode text)"):
            to_name(value)


def test_shown() -> None:
    """Control characters and lone surrogates are shown as escapes; other letters as they are."""
    assert show_name("zoë 東京 [bold]") == "zoë 東京 [bold]"
    assert show_name("a\x1b[31m\n\u202eb\ud800") == "a\\x1b[31m\\n\\u202eb\\ud800"
