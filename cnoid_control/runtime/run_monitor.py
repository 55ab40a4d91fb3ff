"""Watches a run for what its summary tells: tracking error, tilt, falls."""

from __future__ import annotations

import numpy as np

from cnoid_control.body import StateFlag
from cnoid_control.runtime.loop import ControlLoop

JOINT_MODES = StateFlag.JOINT_EFFORT | StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY
FALLEN_TILT = np.radians(60.0)
FALLEN_HEIGHT = 0.5


class RunMonitor:
    """Statistics over all ticks, from the tape.

    The reference of a joint is its q_target: the command in position mode, what the controller
    writes along in the other modes, and the initial q where it never does.

    Attributes:
        joint_error: largest |q - q_target| in the last block.
        max_joint_error: largest |q - q_target| of a commanded joint so far [rad] or [m].
        max_tilt: largest angle of the root's initially upward direction to the vertical [rad].
        tilt: the same angle in the last block [rad].
        fell: whether the free root has tilted beyond 60 degrees or sunk below half its height.
    """

    def __init__(self, loop: ControlLoop) -> None:
        """Listen to the tape of a loop that is not open yet.

        Raises:
            ValueError: the loop has no tape.
        """
        if loop.tape is None:
            raise ValueError('a loop without a tape cannot be monitored')
        self._body = body = loop.hardware.body
        self._columns = loop.tape.columns
        self._commanded: np.ndarray | None = None
        self._free = not body.is_fixed_root
        self._up = body.root_link.R[2].copy()
        self._height = float(body.root_link.p[2])
        self.max_joint_error = 0.0
        self.joint_error = 0.0
        self.max_tilt = 0.0
        self.tilt = 0.0
        self.fell = False
        loop.tape.listeners.append(self.observe)

    def _commanded_joints(self) -> np.ndarray:
        # The actuation modes are known once the controllers have been initialized.
        if self._commanded is None:
            modes = [joint.actuation_mode for joint in self._body.joints]
            self._commanded = np.array([bool(mode & JOINT_MODES) for mode in modes], dtype=bool)
        return self._commanded

    def observe(self, rows: np.ndarray) -> None:
        """Take a block of rows into account."""
        error = np.abs(rows[:, self._columns['q']] - rows[:, self._columns['q_target']])
        commanded = self._commanded_joints()
        if commanded.any():
            self.joint_error = float(error[:, commanded].max())
            # Written so that a NaN shows up in the result.
            self.max_joint_error = float(np.maximum(self.max_joint_error, self.joint_error))
        root = rows[:, self._columns['root_q']]
        x, y, z, w = root[:, 3:].T
        vertical = np.stack(
            (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)), axis=1
        )
        tilts = np.arccos(np.clip(vertical @ self._up, -1.0, 1.0))
        self.tilt = float(tilts[-1])
        self.max_tilt = float(np.maximum(self.max_tilt, tilts.max()))
        if self._free:
            sunk = self._height > 0.0 and root[:, 2].min() < FALLEN_HEIGHT * self._height
            self.fell = self.fell or bool(sunk) or not self.max_tilt <= FALLEN_TILT
