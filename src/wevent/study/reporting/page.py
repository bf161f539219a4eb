"""Makes HTML in which nothing is left unescaped."""

from __future__ import annotations

from base64 import b64encode
from html import escape

from wevent.study.reporting.prose import fill, read_template


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def tag(name: str, *inside: str, **attributes: str) -> Html:
    """An element.

    Args:
        name: of the element.
        inside: its content; everything that is not `Html` is escaped.
        attributes: escaped too; an underscore at the end of a name is dropped, as in `class_`.
    """
    given = "".join(f' {key.rstrip("_")}="{escape(value)}"' for key, value in attributes.items())
    return Html(f"<{name}{given}>{join(*inside)}</{name}>")


def join(*inside: str) -> Html:
    """Pieces one after the other; everything that is not `Html` is escaped."""
    return Html("".join(piece if isinstance(piece, Html) else escape(piece) for piece in inside))


def picture(light: bytes, dark: bytes, words: str) -> Html:
    """A PNG inside the page, and a dark one for dark screens; `words` for people who do not see it."""
    source = f'<source media="screen and (prefers-color-scheme: dark)" srcset="{_inside(dark)}">'
    return tag("picture", Html(source), Html(f'<img src="{_inside(light)}" alt="{escape(words)}">'))


def page(title: str, *inside: str) -> str:
    """A whole page that needs nothing from elsewhere."""
    body = join(*inside)
    return fill("report.html", title=escape(title), style="\n" + read_template("report.css"), body=body)


def _inside(png: bytes) -> str:
    return f"data:image/png;base64,{b64encode(png).decode('ascii')}"
