"""Refuses copies of what spends budgets: two copies would each spend everybody's budget."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

from wevent.errors import CopyRefused


class Single:
    """There is one of it: `copy.copy`, `copy.deepcopy` and `pickle` raise `CopyRefused`."""

    safe_ways: ClassVar[str] = (
        "keep its bytes (Ledger.to_bytes, Publisher.to_bytes) and continue from them in one place "
        "(Ledger.from_bytes, Publisher.restore), or publish from a store"
    )

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise CopyRefused(
            f"a {type(self).__name__} is an account book and cannot be copied or pickled: two copies would spend the "
            f"same budgets twice. Instead {self.safe_ways}."
        )
