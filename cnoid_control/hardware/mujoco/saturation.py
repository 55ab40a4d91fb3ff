"""Clamps that MuJoCo's actuators make by themselves, counted by joint."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import mujoco
import numpy as np

from cnoid_control.body import StateFlag
from cnoid_control.body.copies import noting_call
from cnoid_control.hardware.mujoco.model import MujocoModel


class Saturation:
    """Counts the ticks in which an actuator asked for more than its force range gives.

    An actuator is saturated where its force is an end of its range and its control alone would
    not have given just that: an effort that was limited to the range before is not counted again.

    Each tick is noted, and many are compared at once, by `count`: a copy costs much less than a
    comparison.

    Attributes:
        counts: how often each joint was limited, by kind of limit; None where nobody counts.
        after_step: calls after each physics step of a tick.
        after_tick: calls after the last one, besides.
    """

    def __init__(self, mapping: MujocoModel, data: mujoco.MjData, steps: int) -> None:
        """Find the joints whose actuators have a range.

        Args:
            mapping: the robot in the model.
            data: state of the model.
            steps: physics steps of a tick.
        """
        self.counts: Mapping[str, np.ndarray] | None = None
        self.after_step: list[Callable[[], object]] = []
        self.after_tick: list[Callable[[], object]] = []
        model, actuators = mapping.model, mapping.actuators
        rows = (mapping.slots < mapping.body.num_joints) & (
            model.actuator_forcelimited[actuators] > 0
        )
        self._model, self._steps = model, steps
        self._rows = np.flatnonzero(rows)
        self._joints = mapping.slots[rows]
        self._actuators, self._controls = actuators[rows], mapping.controls[rows]
        self._lower, self._upper = model.actuator_forcerange[self._actuators].T.copy()
        # Of this robot's alone, for others may be in the same world.
        forces, controls = _span(self._actuators), _span(self._controls)
        self._force_columns = self._actuators - forces.start
        self._control_columns = self._controls - controls.start
        self._widths = forces.stop - forces.start, controls.stop - controls.start
        self._forces_noted, self._controls_noted = bytearray(), bytearray()
        self._note_forces = noting_call(self._forces_noted, data.actuator_force[forces])
        self._note_controls = noting_call(self._controls_noted, data.ctrl[controls])
        self._servos = False

    def open(self, modes: np.ndarray) -> None:
        """Count from now on for other command modes.

        Args:
            modes: mode of each of the model's slots.
        """
        self.count()
        self.after_step, self.after_tick = [], []
        chosen = modes[self._rows]
        if self.counts is None or not chosen.any():
            return
        self._servos = bool((chosen[chosen != 0] != StateFlag.JOINT_EFFORT).any())
        if self._servos:
            self.after_step = [self._note_forces, self._note_controls]
        else:
            # A motor's force is its control, which is the same in all steps of a tick.
            self.after_tick = [self._note_controls]

    def count(self) -> None:
        """Count what was noted and not counted yet."""
        if not self._controls_noted:
            return
        notes = self._forces_noted, self._controls_noted
        forces, controls = (
            np.frombuffer(bytes(one)).reshape(-1, width)
            for one, width in zip(notes, self._widths, strict=True)
        )
        for one in notes:
            one.clear()
        if self.counts is None:
            return
        gain = self._model.actuator_gainprm[self._actuators, 0]
        asked = gain * controls[:, self._control_columns]
        if self._servos:
            force = forces[:, self._force_columns]
            hit = ((force <= self._lower) | (force >= self._upper)) & (force != asked)
            # A tick counts once, whatever its steps do.
            hit = np.logical_or.reduceat(hit, np.arange(0, len(hit), self._steps))
        else:
            hit = (asked < self._lower) | (asked > self._upper)
        self.counts['effort'][self._joints] += hit.sum(axis=0)

    def add(self, kind: str, slots: np.ndarray) -> None:
        """Count one tick in which something else was limited.

        Args:
            kind: kind of limit.
            slots: slots of the joints, those that have no id among them.
        """
        if self.counts is not None:
            counts = self.counts[kind]
            counts[slots[slots < counts.size]] += 1


def _span(indices: np.ndarray) -> slice:
    """The least range that has all indices."""
    return slice(int(indices.min()), int(indices.max()) + 1) if indices.size else slice(0, 0)
