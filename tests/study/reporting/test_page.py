"""HTML in which nothing is left unescaped."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from wevent.study.reporting.page import Html, join, page, tag


@given(st.text())
def test_text_cannot_open_a_tag(text: str) -> None:
    """Whatever text is put in, it opens no element and ends no attribute."""
    made = tag("td", text, title=text)
    inside = made.removeprefix('<td title="').removesuffix("</td>")
    assert "<" not in inside and inside.count('"') == 1 and inside.count(">") == 1


def test_html_is_kept() -> None:
    """What is HTML already is not escaped twice; what is not, is."""
    assert join(Html("<b>"), "<b>") == "<b>&lt;b&gt;"
    assert tag("p", tag("b", "1 < 2"), class_="x") == '<p class="x"><b>1 &lt; 2</b></p>'


def test_a_page_forbids_itself_everything_from_elsewhere() -> None:
    """The page lets the browser load nothing but pictures that are inside the page."""
    text = page("T & T", tag("p", "x"))
    assert "default-src 'none'; img-src data:; style-src 'unsafe-inline'" in text
    assert "<title>T &amp; T</title>" in text
