"""Interpolation that several rooms use."""

import pytest

from cnoid_control.interpolation import smoothstep


def test_smoothstep_starts_and_ends_at_rest() -> None:
    """0 at 0, 1/2 in the middle, 1 at 1, and slopes of 0 at both ends."""
    assert [smoothstep(s) for s in (0.0, 0.5, 1.0)] == [0.0, 0.5, 1.0]
    step = 1e-6
    assert smoothstep(step) / step == pytest.approx(0.0, abs=1e-5)
    assert (1.0 - smoothstep(1.0 - step)) / step == pytest.approx(0.0, abs=1e-5)
