"""Rotation matrices from what models, options and callers state."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin


def rotation_matrix(value: object) -> np.ndarray:
    """Rotation matrix from a (3, 3) matrix, a quaternion x y z w or (axis, angle [rad])."""
    if isinstance(value, tuple) and len(value) == 2:
        axis = np.asarray(value[0], dtype=float)
        return pin.AngleAxis(float(value[1]), axis / np.linalg.norm(axis)).toRotationMatrix()
    array = np.asarray(value, dtype=float)
    if array.shape == (4,):
        return pin.Quaternion(array / np.linalg.norm(array)).toRotationMatrix()
    if array.shape == (3, 3):
        return array
    raise ValueError(
        f'a rotation is a (3, 3) matrix, a quaternion of 4 or an (axis, angle) pair, got {value!r}'
    )


def rpy_matrix(rpy: Sequence[float] | np.ndarray) -> np.ndarray:
    """Rotation by roll, pitch and yaw [rad], about the fixed axes X, Y and Z in this order."""
    return pin.rpy.rpyToMatrix(np.asarray(rpy, dtype=float))


def turn_matrix(turn: np.ndarray) -> np.ndarray:
    """Rotation by X, Y and Z of an axis and an angle [rad]; none where the axis is zero."""
    if not turn[:3].any():
        return np.eye(3)
    return rotation_matrix((turn[:3], turn[3]))
