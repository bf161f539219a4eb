"""The specification in the documentation has every section that code, tests and pages cite."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
CITED = re.compile(r"SPEC (§[\d§, -]*\d)")


def cited(text: str) -> set[int]:
    """The sections that a text cites: `SPEC §2, §6`, `SPEC §5-§8`."""
    return {int(number) for place in CITED.findall(text) for number in re.findall(r"\d+", place)}


def test_citations() -> None:
    """Every cited section exists; what the code must keep, sections 1 to 8, is cited somewhere."""
    text = (ROOT / "docs" / "reference" / "specification.md").read_text("utf-8")
    sections = {int(number) for number in re.findall(r"^## §(\d+) ", text, re.MULTILINE)}
    assert sections == set(range(1, len(sections) + 1))
    found: set[int] = set()
    for folder, kind in (("src", "*.py"), ("tests", "*.py"), ("docs", "*.md")):
        for path in (ROOT / folder).rglob(kind):
            missing = cited(path.read_text("utf-8")) - sections
            assert not missing, (path, missing)
            found |= cited(path.read_text("utf-8"))
    assert {1, 2, 3, 4, 5, 6, 7, 8} <= found


def test_how_citations_are_read() -> None:
    """Lists and ranges count."""
    assert cited("SPEC §2, §6 and SPEC §5-§8, or SPEC §11.") == {2, 5, 6, 8, 11}
