"""Draws all randomness of the package.

`SecureNoise` protects people. `SeededNoise` and `StudyNoise` repeat for a seed, for tests and the study. All toss coins
by the same integer code (`noise.source`). `noise.rounding` rounds noise scales up. Larger counts take longer to draw,
which a constant delay of the release has to hide (SPEC §8).
"""

from wevent.noise.rounding import round_up
from wevent.noise.secure import SecureNoise
from wevent.noise.seeded import SeededNoise, StudyNoise
from wevent.noise.source import PROBABILITY_BITS, Noise

__all__ = ["PROBABILITY_BITS", "Noise", "SecureNoise", "SeededNoise", "StudyNoise", "round_up"]
