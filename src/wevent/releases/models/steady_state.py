"""Forecasts the error of publishing every k-th slot, in closed form, once a model's filter has settled."""

from __future__ import annotations

import numpy as np

from wevent.releases.models.dynamics import Floats, LevelModels


def forecast_error(models: LevelModels, k: Floats, noise: Floats, scale: Floats) -> Floats:
    """Mean squared error over a cycle of k slots (axes: model, interval).

    *Level.* Just before a publication it has variance P = (kq + √(k²q² + 4kqV))/2, just after it P - kq = kqV/P;
    V is the variance of everything else in a value. *Swing.* Just before, P = S(1-ρ²) + ρ²PV/(P+V). *Slope.* The
    gains of the steady state in closed form ([Kalata84]). The error of the published slot is what is left of its own
    variation. That of the i-th slot after it is the error of the state, its movement, and the slot's own variation.

    Args:
        models: how levels move.
        k: slots from one publication to the next (axes: interval).
        noise: variance of each publication (axes: interval).
        scale: the level that is typical of each model (axes: model, 1).
    """
    walk, variation, S = models.walk * scale, models.variation * scale, models.swing * scale
    others = noise + variation
    own = others + S
    P = (k * walk + np.sqrt(np.square(k * walk) + 4 * k * walk * own)) / 2
    level = k * walk * own / np.maximum(P, 1e-300)
    mean, before = level + variation + walk * k / 2, P
    with_swing = models.has_swing[:, 0] > 0
    if with_swing.any():
        rho, V = models.retention[with_swing], others[with_swing]
        swing_before, swing_after = _swing(k, S[with_swing], rho, V)
        before[with_swing] += swing_before
        mean[with_swing] += S[with_swing] - (S[with_swing] - swing_after) * _mean_power(rho * rho, k)
    with_slope = models.has_slope[:, 0] > 0
    if with_slope.any():
        turn, V = (models.slope * scale)[with_slope], others[with_slope]
        slope_before, slope_mean = _slope(k, turn, V)
        before[with_slope] += slope_before
        mean[with_slope] += slope_mean
    published = (before + variation) * (noise / (before + variation + noise))
    return np.asarray((published + (k - 1) * mean) / k)


def _swing(k: Floats, S: Floats, rho: Floats, V: Floats) -> tuple[Floats, Floats]:
    """Variance of a swing just before and just after a publication."""
    left = rho ** (2 * k)
    half = (V - S * (1 - left) - left * V) / 2
    before = np.sqrt(half * half + S * (1 - left) * V) - half
    return before, before * (V / (before + V))


def _mean_power(base: Floats, k: Floats) -> Floats:
    """Mean of base^i over i from 1 to k-1; 1 where k is 1."""
    many = np.maximum(k - 1, 1)
    return np.asarray(base * (1 - base**many) / ((1 - base) * many))


def _slope(k: Floats, turn: Floats, V: Floats) -> tuple[Floats, Floats]:
    """Variance of a level with a slope just before a publication, and its mean over the slots after one."""
    index = np.sqrt(turn * k**3 / V)
    r = (4 + index - np.sqrt(8 * index + index * index)) / 4  # [Kalata84]
    alpha = 1 - r * r
    beta = 2 * (2 - alpha) - 4 * r
    level, covariance = alpha * V, beta * V / k
    slope = beta * (alpha - beta / 2) / (r * r) * V / (k * k)
    mean = level + covariance * k + slope * k * (2 * k - 1) / 6 + turn * (k - 1) * k * k / 12
    return level / (r * r), mean
