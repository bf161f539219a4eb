"""Numbers the different dynamic requirements of a stream and holds them as arrays, one element per level."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wevent.cohorts.requirement import Dynamic


class LevelTable:
    """The different dynamic requirements in use, as arrays; index 0 stands for "no declaration"."""

    def __init__(self) -> None:
        self._index: dict[Dynamic, int] = {}
        self._values = np.zeros((4, 1), np.int64)
        self._derive()

    def __len__(self) -> int:
        return self._values.shape[1]

    def add(self, requirement: Dynamic) -> int:
        """The index of a requirement, new or known."""
        if requirement not in self._index:
            backward, forward = requirement.backward, requirement.forward
            column = np.array([[backward.units], [backward.window], [forward.units], [forward.window]], np.int64)
            self._values = np.concatenate([self._values, column], axis=1)
            self._index[requirement] = len(self) - 1
            self._derive()
        return self._index[requirement]

    def requirement(self, index: int) -> Dynamic:
        """The requirement of an index."""
        return list(self._index)[index - 1]

    def _derive(self) -> None:
        self.backward, self.backward_window, self.forward, self.forward_window = self._values
        self.half = self.forward // 2
        self.share = self.forward // (2 * np.maximum(self.forward_window, 1))
        self.longest = int(self.forward_window.max())

    @property
    def values(self) -> npt.NDArray[np.int64]:
        """Axes (EB, wB, EF, wF; level)."""
        return self._values

    @classmethod
    def from_values(cls, values: npt.NDArray[np.int64]) -> LevelTable:
        """The same table again."""
        table = cls()
        for backward, backward_window, forward, forward_window in values.T[1:].tolist():
            table.add(Dynamic((f"{forward}e-9", forward_window), (f"{backward}e-9", backward_window)))
        return table
