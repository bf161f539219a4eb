"""Pieces of a web page: words come in, HTML in which nothing is left unescaped goes out."""

from __future__ import annotations

from base64 import b64encode
from html import escape

CSS = """
:root {
  color-scheme: light dark;
  --paper: #ffffff; --ink: #1c2026; --soft: #5a626e; --line: #dfe3e8; --shade: #f5f7f9;
  --alarm: #b3261e; --doubt: #8a5a00; --good: #1b6e3c; --link: #1a62a8;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --paper: #15181d; --ink: #e4e7eb; --soft: #a2abb8; --line: #333a43; --shade: #1d2127;
    --alarm: #ff8a80; --doubt: #f0b849; --good: #6fcf97; --link: #7db8f0;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 82rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.4rem; line-height: 1.25; margin: 0 0 .4rem; }
h3 { font-size: 1.05rem; margin: 1.8rem 0 .4rem; }
p { max-width: 46rem; margin: .4rem 0 .8rem; }
a { color: var(--link); }
section { position: relative; border-top: 1px solid var(--line); margin-top: 2.5rem; padding-top: 1.8rem; }
.up { position: absolute; top: 1.9rem; right: 0; font-size: .85rem; }
nav ol { columns: 2; column-gap: 3rem; padding-left: 1.4rem; margin: .5rem 0; }
nav li { break-inside: avoid; padding: .1rem 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.2rem; margin: .8rem 0 1.2rem;
  font-size: .92rem; }
dt { color: var(--soft); } dd { margin: 0; }
.label { display: inline-block; font-size: .78rem; font-weight: 700; letter-spacing: .02em; line-height: 1.3;
  border: 1.5px solid currentColor; border-radius: .3rem; padding: .05rem .45rem; white-space: nowrap; }
.alarm { color: var(--alarm); } .doubt { color: var(--doubt); } .good { color: var(--good); }
.soft, caption { color: var(--soft); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums lining-nums; font-size: .92rem;
  margin: .3rem 0 1.2rem; }
caption { text-align: left; padding: .2rem 0 .5rem; font-size: .88rem; white-space: nowrap; }
caption b { color: var(--ink); font-size: 1rem; }
th, td { padding: .35rem .55rem; text-align: right; vertical-align: top; border-bottom: 1px solid var(--line);
  white-space: nowrap; }
th { font-weight: 600; } thead th { border-bottom: 2px solid var(--line); vertical-align: bottom; }
th:first-child, td:first-child { text-align: left; padding-left: .3rem; position: sticky; left: 0;
  background: var(--paper); }
th small, td small { display: block; color: var(--soft); font-size: .78rem; line-height: 1.4; font-weight: 400; }
.note { font-size: .78rem; font-weight: 400; }
td b { color: var(--ink); }
figure { margin: 1rem 0 1.6rem; }
figure img { display: block; width: 100%; max-width: 66rem; height: auto; }
figcaption { color: var(--soft); font-size: .88rem; padding-top: .3rem; }
@media (max-width: 40rem) {
  .up { position: absolute; top: 1.9rem; right: 0; font-size: .85rem; }
nav ol { columns: 1; } dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .4rem; }
}
@media print {
  body { max-width: none; padding: 0; font-size: 10pt; }
  section { break-before: page; border: 0; margin: 0; padding: 0; }
  table { font-size: 8pt; } th small, td small, .note { font-size: 6.5pt; }
  th, td { padding: .15rem .4rem; } .wide { overflow: visible; }
  tr, figure { break-inside: avoid; } th:first-child, td:first-child { position: static; }
  a { color: inherit; text-decoration: none; } .up { display: none; }
}
"""


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def tag(name: str, *inside: str, **attributes: str) -> Html:
    """An element.

    Args:
        name: of the element.
        inside: its content; whatever is not `Html` is escaped.
        attributes: escaped too; an underscore at the end of a name is dropped, as in `class_`.
    """
    given = "".join(f' {key.rstrip("_")}="{escape(value)}"' for key, value in attributes.items())
    return Html(f"<{name}{given}>{join(*inside)}</{name}>")


def join(*inside: str) -> Html:
    """Pieces one after the other; whatever is not `Html` is escaped."""
    return Html("".join(one if isinstance(one, Html) else escape(one) for one in inside))


def picture(light: bytes, dark: bytes, words: str) -> Html:
    """A PNG inside the page, and a dark one for dark screens; `words` for whoever does not see it."""
    source = f'<source media="screen and (prefers-color-scheme: dark)" srcset="{_inside(dark)}">'
    return tag("picture", Html(source), Html(f'<img src="{_inside(light)}" alt="{escape(words)}">'))


def page(title: str, *inside: str) -> str:
    """A whole page that needs nothing from elsewhere."""
    head = join(
        Html('<meta charset="utf-8">'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Html('<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; '),
        Html("style-src 'unsafe-inline'\">"),
        tag("title", title),
        tag("style", Html(CSS)),
    )
    body = tag("body", *inside)
    return f'<!doctype html>\n<html lang="en">\n<head>{head}</head>\n{body}\n</html>\n'


def _inside(png: bytes) -> str:
    return f"data:image/png;base64,{b64encode(png).decode('ascii')}"
