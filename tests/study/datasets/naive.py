"""The slow way from records to a stream, in plain Python, that the loaders are compared with."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

from wevent.study.datasets.stream import DataStream

Records = Mapping[Hashable, Mapping[int, int]]
"""User → slot → cell."""


def walk(records: Records, slots: int, presence: str) -> list[list[int]]:
    """Where everybody is, slot by slot, users in sorted order, -1 for absent."""
    people = sorted(records, key=lambda who: (isinstance(who, str), who))
    lines = []
    for slot in range(slots):
        line = []
        for who in people:
            records_of_user = records[who]
            if presence == "seen":
                line.append(records_of_user.get(slot, -1))
                continue
            past = [at for at in records_of_user if at <= slot]
            line.append(records_of_user[max(past)] if past else records_of_user[min(records_of_user)])
        lines.append(line)
    return lines


def walked(stream: DataStream, seed: int = 0) -> list[list[int]]:
    """The same from a stream."""
    return [place.tolist() for place in stream.places(seed)]


def last_of(rows: Iterable[tuple[Hashable, int, tuple[int, int]]]) -> dict[Hashable, dict[int, int]]:
    """Of (who, slot, (time, cell)), the cell of the greatest pair for each user and slot."""
    best: dict[Hashable, dict[int, tuple[int, int]]] = {}
    for who, slot, ranked in rows:
        records_of_user = best.setdefault(who, {})
        records_of_user[slot] = max(records_of_user.get(slot, ranked), ranked)
    return {who: {slot: cell for slot, (_, cell) in records_of_user.items()} for who, records_of_user in best.items()}
