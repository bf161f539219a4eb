"""What an operator lets people require, relative to each other."""

from __future__ import annotations

import pytest

from wevent import Dynamic, Fixed, Limits, Privacy, Register, dpba
from wevent.errors import InvalidRequirement


def test_shares_that_differ_too_much_are_refused() -> None:
    """With a ratio of 10, a share eleven times as large or as small is refused, and nothing changes."""
    privacy = Privacy(limits=Limits(share_ratio=10))
    publisher = dpba(Register.from_rows({"user-0": Fixed(1, 10)}), 2, privacy=privacy, fast=False)
    before = publisher.ledger.to_bytes()
    for wrong in (Fixed("1.1", 1), Fixed("0.1", 11), Dynamic((11, 10)), Dynamic((1, 110))):
        with pytest.raises(InvalidRequirement, match="at most 10"):
            publisher.join("user-1", wrong)
        with pytest.raises(InvalidRequirement, match="at most 10"):
            publisher.change("user-0", wrong)
    with pytest.raises(InvalidRequirement, match="at most 10"):
        publisher.declare([Dynamic((11, 10))], [0])
    assert publisher.ledger.to_bytes() == before
    publisher.join("user-1", Fixed(10, 10))
    with pytest.raises(InvalidRequirement, match="at most 10"):
        publisher.join("user-2", Fixed("0.9", 10))


def test_a_register_is_checked_as_a_whole() -> None:
    """Two people whose shares differ too much cannot begin together."""
    register = Register.from_rows({"user-0": Fixed(1, 1), "user-1": Fixed(1, 100)})
    with pytest.raises(InvalidRequirement, match="at most 99"):
        dpba(register, 2, privacy=Privacy(limits=Limits(share_ratio=99)), fast=False)
    assert dpba(register, 2, privacy=Privacy(limits=Limits(share_ratio=100)), fast=False).ledger.rows == 2
