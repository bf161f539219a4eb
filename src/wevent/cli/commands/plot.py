"""`wevent plot`: draws released counts, decisions and spends."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from wevent.cli.options import CONFIG, ConfigFile, First, Last, file_option, flag, slot_range
from wevent.cli.output import naming


def plot(
    output: Annotated[Path, file_option("--output", "The picture; its name ends with .png or .html.")],
    config: ConfigFile = CONFIG,
    first: First = None,
    last: Last = None,
    public: Annotated[bool, flag("--public", "Leave out spends per row, which are the operator's.")] = False,
) -> None:
    """Draw released counts, decisions and spends, as PNG or HTML.

    Example: wevent plot --public --output town.html
    """
    from wevent.config.read import read_config
    from wevent.errors import InvalidSetting
    from wevent.reports.history import read_history
    from wevent.reports.plot import draw, save_html, save_png
    from wevent.reports.releases import public_releases
    from wevent.store.opening import open_store
    from wevent.store.streams import find_stream

    if output.suffix not in (".png", ".html"):
        raise InvalidSetting("the name of a plot must end with .png or .html")
    settings = read_config(config)
    begin, end = slot_range(settings.slots.timeline, first, last)
    cells, charges = list(settings.cells.declared().names), None
    with open_store(settings, read_only=True) as database:
        stream, _ = find_stream(database, settings.stream.name)
        found = list(public_releases(database, stream.id, len(cells), begin, end))
        if not public:
            charges = [record for record in read_history(database, stream.name).slots if begin <= record.slot <= end]
    title = f"{stream.name}: {settings.privacy.mechanism}, {len(found):,} slots"
    figure = draw(title, found, cells, charges)
    with naming(output):
        if output.suffix == ".png":
            save_png(figure, output)
        else:
            save_html(figure, output, title)
