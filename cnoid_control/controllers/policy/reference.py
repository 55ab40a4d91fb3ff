"""Orientation of a reference motion, seen from a link of the robot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin

from cnoid_control.body.rotations import rpy_matrix
from cnoid_control.exceptions import CnoidControlError, choices

if TYPE_CHECKING:
    from cnoid_control.controllers.policy.terms import Situation

ORDERS = ('xyzw', 'wxyz')


class ReferenceOrientation:
    """Axes of a reference in those of a link: two columns, row by row, as tracking policies want.

    The reference is a quaternion that the network puts out. Where the robot looks when the policy
    begins is where the reference looks: only then may it begin anywhere.
    """

    def __init__(
        self, situation: Situation, output: str, link: str, order: str, row: int = 0
    ) -> None:
        """Have the orientation of the root read.

        Args:
            situation: what the term is computed from.
            output: output of the network with the quaternion.
            link: link of the robot that is to turn as the reference; the root where empty.
            order: order of the quaternion's elements, one of ORDERS.
            row: which quaternion, of an output with those of several bodies.

        Raises:
            CnoidControlError: there is no such output or link.
        """
        rows = {
            name: value.size // 4
            for name, value in situation.outputs.items()
            if value.size and value.size % 4 == 0
        }
        if output not in rows:
            raise CnoidControlError(
                f'the network has no output {output!r} that is a quaternion; {choices(rows)}'
            )
        if row >= rows[output]:
            raise CnoidControlError(
                f'output {output!r} has {rows[output]} quaternions, and no row {row}'
            )
        body = situation.body
        if link and link not in [one.name for one in body.links]:
            raise CnoidControlError(
                f'unknown link {link!r}; {choices([one.name for one in body.links])}'
            )
        situation.base.enable('rotation')
        self._situation, self._output = situation, output
        self._link = body.link(link) if link else body.root_link
        self._scalar_last = order == 'xyzw'
        self._elements = slice(4 * row, 4 * row + 4)
        self._turn = np.eye(3)

    def __call__(self) -> np.ndarray:
        """The six values."""
        situation = self._situation
        body, root = situation.body, situation.body.root_link
        body.calc_forward_kinematics()
        actual = situation.base.root_rotation() @ root.R.T @ self._link.R
        reference = self._reference()
        if situation.time_step == 0:
            self._turn = rpy_matrix([0.0, 0.0, heading(actual) - heading(reference)])
        return (actual.T @ self._turn @ reference)[:, :2].ravel()

    def _reference(self) -> np.ndarray:
        values = self._situation.outputs[self._output][self._elements]
        if not values.any():
            # Before the network was asked for the first time.
            return np.eye(3)
        elements = values if self._scalar_last else np.roll(values, -1)
        return pin.Quaternion(elements).normalized().toRotationMatrix()


def heading(rotation: np.ndarray) -> float:
    """Direction of the X axis in the plane [rad]."""
    return float(np.arctan2(rotation[1, 0], rotation[0, 0]))
