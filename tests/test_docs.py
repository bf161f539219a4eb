"""What is written is true: code blocks run, links lead somewhere, names and trees are those of the source."""

from __future__ import annotations

import inspect
import re
import tomllib
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any
from unittest.mock import patch

import pytest

import wevent
from tests.support import quick_and_slow
from wevent import RECIPES, errors
from wevent.study.datasets.catalog import DATASETS
from wevent.study.mechanisms import MECHANISMS

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
KEY = re.compile(r"\[([A-Z][a-z]+\d\d)\]")
DRAWN = re.compile(r"^([│├└─ ]*)([A-Z]\w+)(?: \((\w+)\))?", re.MULTILINE)


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> list[tuple[int, str]]:
    """First line and code of each Python block of a page."""
    text = page.read_text("utf-8")
    return [(text.count("\n", 0, found.start(1)), found[1]) for found in BLOCK.finditer(text)]


RUN = [page for page in PAGES if blocks(page)]
LONG = [page for page in RUN if page.name in ("repeat-the-paper.md", "use-your-own-data.md")]  # runs studies


@pytest.mark.parametrize("page", quick_and_slow([page for page in RUN if page not in LONG], LONG), ids=name)
def test_every_block_runs(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The Python blocks of a page run from top to bottom, one after the other.

    What a page registers is forgotten afterwards: other tests of the same worker list what the product knows.
    """
    names: dict[str, Any] = {"__name__": "page"}
    with patch.dict(DATASETS), patch.dict(MECHANISMS):
        for line, code in blocks(page):
            exec(compile("\n" * line + code, name(page), "exec"), names)  # noqa: S102
    assert "Traceback" not in capsys.readouterr().out


def test_readme_publishes_in_ten_lines() -> None:
    """The first example of the README has at most ten lines of code."""
    (_, code), *_ = blocks(ROOT / "README.md")
    assert len([line for line in code.splitlines() if line.strip()]) <= 10


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link of a page, pictures included, names a file of the repository."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" not in target:
            assert (page.parent / target.partition("#")[0]).exists(), target


def test_every_page_is_linked() -> None:
    """The README leads to every page under docs/."""
    readme = (ROOT / "README.md").read_text("utf-8")
    assert [name(page) for page in PAGES if page.is_relative_to(ROOT / "docs") and name(page) not in readme] == []


def test_citations_are_listed() -> None:
    """Every citation key in source, tests and docs stands in docs/references.md, and none stands there for nothing."""
    listed = set(re.findall(r"^\*\*\[(\w+)\]\*\*", (ROOT / "docs/references.md").read_text("utf-8"), re.MULTILINE))
    source = "".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))
    written = "".join(page.read_text("utf-8") for page in PAGES)
    assert listed == set(KEY.findall(source))
    assert set(KEY.findall(written)) <= listed


def drawn(text: str) -> list[tuple[int, str, str]]:
    """Depth, name and other base of each line of a drawn tree."""
    return [(len(indent) // 4, word, other) for indent, word, other in DRAWN.findall(text)]


def built(kind: type[Exception], depth: int = 0) -> list[tuple[int, str, str]]:
    """The same from the classes, in the order in which they are defined."""
    other = next((base.__name__ for base in kind.__bases__[1:]), "")
    tree = [(depth, kind.__name__, other)]
    for below in kind.__subclasses__():
        tree += built(below, depth + 1)
    return tree


def test_error_tree() -> None:
    """The tree on the page of errors is that of the classes, and each of them has a line in the table."""
    page = (ROOT / "docs/reference/errors.md").read_text("utf-8")
    tree = re.search(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert tree is not None
    expected = built(errors.WeventError)
    assert sorted(drawn(tree[1])) == sorted(expected)
    assert [word for _, word, _ in drawn(tree[1])] == re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)


def test_recipes_are_listed() -> None:
    """The table of the README has every recipe, in order, and nothing else."""
    table = (ROOT / "README.md").read_text("utf-8").partition("## Nine recipes")[2].partition("## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(RECIPES)


def test_layers_are_those_of_the_contract() -> None:
    """The order of imports on the page of the architecture is the one that the linter checks."""
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"][0]
    page = (ROOT / "docs/explanation/architecture.md").read_text("utf-8")
    assert " > ".join(contract["layers"]) in page


def test_modules_are_drawn() -> None:
    """The page of the architecture names every module of the package, but for the second, compiled ones."""
    page = (ROOT / "docs/explanation/architecture.md").read_text("utf-8")
    drawn_tree = page.partition("```text\n")[2].partition("```")[0]
    for path in (ROOT / "src/wevent").rglob("*.py"):
        if path.stem not in ("__init__", "__main__", "fast") and path.parent.name != "cli":
            assert re.search(rf"\b{path.stem}\b", drawn_tree), path.stem


def test_the_walkthrough_is_short_and_true() -> None:
    """One event passes through at most 25 files, and each step names functions that its file defines."""
    page = ROOT / "docs/explanation/walkthrough.md"
    text = page.read_text("utf-8")
    steps = re.findall(r"^\d+\. \[`[\w/.]+`\]\(([\w/.]+)\) (`[\w.]+`(?: and `[\w.]+`)?)", text, re.MULTILINE)
    assert len(steps) > 20
    assert len(set(re.findall(r"\(([\w/.]+\.py)\)", text))) <= 25
    for path, functions in steps:
        source = (page.parent / path).read_text("utf-8")
        for function in re.findall(r"`([\w.]+)`", functions):
            for part in function.split("."):
                assert re.search(rf"(?:def|class) {part}\b", source), (path, part)


def test_where_to_change_what() -> None:
    """Every file in the table of the architecture exists, and every function is defined in a file of its line."""
    page = (ROOT / "docs/explanation/architecture.md").read_text("utf-8").partition("## Where to change what")[2]
    rows = re.findall(r"^\| [^|]+ \| ([^|]+) \| ([^|]+) \|$", page.partition("\n[From")[0], re.MULTILINE)[1:]
    assert len(rows) > 10
    for files, functions in rows:
        paths = [ROOT / "src/wevent" / name for name in re.findall(r"`([\w/]+(?:\.py|/))`", files)]
        assert paths and all(path.exists() for path in paths), files
        source = "".join(path.read_text("utf-8") for path in paths if path.is_file())
        for function in re.findall(r"`([A-Z_a-z][\w.]+)`", functions):
            for part in function.split(".") if not function.startswith("cli") else ():
                assert re.search(rf"(?:def|class) {part}\b", source), (files, part)


def test_notation_names_exist() -> None:
    """Every name in the last column of the tables of notation is one of the package."""
    names = [found.name for found in walk_packages(wevent.__path__, "wevent.")]
    modules = [import_module(name) for name in names if name[-2:] != "__" and not name.startswith("wevent.study")]
    kinds = {kind.__name__: kind for module in modules for _, kind in inspect.getmembers(module, inspect.isclass)}
    page = (ROOT / "docs/reference/notation.md").read_text("utf-8").partition("## Mechanisms")[0]
    columns = [line.rsplit("|", 2)[1] for line in page.splitlines() if line.startswith("|")]
    mentioned = [word for column in columns for word in re.findall(r"`([\w.]+)`", column)]
    assert len(mentioned) > 30
    for word in mentioned:
        assert exists(word, modules, kinds), word


def exists(word: str, modules: list[Any], kinds: dict[str, type]) -> bool:
    """Whether a dotted word names a module, something in one, or an attribute of a class."""
    owner, _, attribute = word.rpartition(".")
    if word in kinds or f"wevent.{word.removeprefix('wevent.')}" in [module.__name__ for module in modules]:
        return True
    if owner in kinds:
        return hasattr(kinds[owner], attribute) or f"self.{attribute}" in inspect.getsource(kinds[owner])
    return any(module.__name__.endswith(owner) and hasattr(module, attribute) for module in modules)
