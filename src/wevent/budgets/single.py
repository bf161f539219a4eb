"""Refuses copies of what spends budgets, and the use of one whose change was interrupted half-way."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

from wevent.errors import CopyRefused, CorruptState


class Single:
    """An account book, of which there is one.

    Guarantees:
        `copy.copy`, `copy.deepcopy` and `pickle` raise `CopyRefused`: two copies would each spend everybody's budget.
        After an interruption in the middle of a change (Ctrl-C, no memory) every further use raises `CorruptState`.
    """

    _intact = True  # False from the first write of a change to its last; so it stays if the change is interrupted

    safe_ways: ClassVar[str] = (
        "keep its bytes (Ledger.to_bytes, Publisher.to_bytes) and continue from them in one place "
        "(Ledger.from_bytes, Publisher.restore), or publish from a store"
    )

    def check_intact(self) -> None:
        """Refuse to go on with books that are half changed."""
        if not self._intact:
            raise CorruptState(
                f"a change of this {type(self).__name__} was interrupted half-way, so that it may have forgotten "
                "spends. Continue from its last bytes, or from a store, which recovers by itself"
            )

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise CopyRefused(
            f"a {type(self).__name__} is an account book and cannot be copied or pickled: two copies would spend the "
            f"same budgets twice. Instead {self.safe_ways}."
        )
