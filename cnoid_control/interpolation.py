"""Interpolation that several rooms use."""

from __future__ import annotations


def smoothstep(s: float) -> float:
    """Cubic blend 3 s^2 - 2 s^3 from 0 at s = 0 to 1 at s = 1, with slope 0 at both ends."""
    return s * s * (3.0 - 2.0 * s)
