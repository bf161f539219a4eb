"""Code and pages speak the words of the glossary, and no two classes share a name."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GLOSSARY = ROOT / "docs/reference/glossary.md"
EXEMPT = {GLOSSARY, ROOT / "docs/references.md", Path(__file__)}  # the table itself, and titles of papers
SEED_LABEL = 'SEED_LABEL = "wishes"'  # part of the seeds of kept results: another word would draw other numbers
FOLDERS = ("src", "tests", "benchmarks", "experiments", "docs")
PYTHON = sorted(path for folder in ("src", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.py"))


def retired(section: str) -> list[str]:
    """The first column of a table of the glossary, word by word."""
    text = GLOSSARY.read_text("utf-8").partition(f"## {section}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| .+? \|$", text, re.MULTILINE)[1:]
    return [word.strip(" `") for row in rows for word in row.split(",")]


def pattern(words: list[str]) -> re.Pattern[str]:
    """Finds words in prose and inside names such as `old_word`, `OldWord` is found as a whole only."""
    return re.compile(rf"(?<![a-z0-9])(?:{'|'.join(map(re.escape, words))})(?![a-z0-9])", re.IGNORECASE)


def texts() -> list[Path]:
    """Everything that is written by hand."""
    kinds = {".py", ".md", ".toml", ".html", ".svg"}
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in kinds]
    pages = [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "CHANGELOG.md",
        ROOT / "Makefile",
        ROOT / "pyproject.toml",
    ]
    return sorted(path for path in [*found, *pages] if path not in EXEMPT and "results" not in path.parts)


def test_retired_words_are_gone() -> None:
    """No text has a retired word."""
    words = pattern(retired("Retired words"))
    found = [
        f"{path.relative_to(ROOT)}:{number}: {match[0]}"
        for path in texts()
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if line != SEED_LABEL
        for match in words.finditer(line)
    ]
    assert not found, f"{len(found)} retired words:\n" + "\n".join(found[:40])


def names(tree: ast.AST) -> Iterator[str]:
    """Every name that a module gives to a variable, argument, function or class."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name


def test_retired_names_are_gone() -> None:
    """No variable, argument, function or class has a name that says nothing."""
    gone = set(retired("Retired names"))
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in PYTHON
        for name in names(ast.parse(path.read_text("utf-8")))
        if name in gone
    ]
    assert not found, f"{len(found)} retired names:\n" + "\n".join(found[:40])


def test_classes_have_names_of_their_own() -> None:
    """No two classes of the package share a name."""
    classes = Counter(
        node.name
        for path in (ROOT / "src").rglob("*.py")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, times in classes.items() if times > 1] == []


@pytest.mark.parametrize("path", sorted((ROOT / "src").rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_begin_with_a_plain_sentence(path: Path) -> None:
    """Every module says in one sentence what it is responsible for, and not by the old formula."""
    first = (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").partition("\n\n")[0]
    assert first and "." in first
    assert not re.search(r"\b(?:comes?|goes?) (?:in|out)\b", first), first


def test_the_detector_detects() -> None:
    """A retired word is found in prose, in names and at the start of a sentence, and not inside another word."""
    words = pattern(["wish", "part 1", "part_1"])
    assert [bool(words.search(text)) for text in ("a wish", "read_wish", "Wish.", "part 1", "self.part_1")] == [
        True
    ] * 5
    assert not words.search("swish") and not words.search("wishbone") and not words.search("part 12")
    assert {"wish", "part 1", "told"} <= set(retired("Retired words"))
    assert {"told", "Kept"} <= set(retired("Retired names"))
