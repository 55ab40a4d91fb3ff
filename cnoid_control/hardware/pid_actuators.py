"""PID actuators of a simulated robot, which work at the rate of the physics."""

from __future__ import annotations

import mujoco
import numpy as np

from cnoid_control.body import Body
from cnoid_control.hardware.mujoco_model import MujocoModel

# What makes up the command of a PID actuator, by row of the command arrays.
CHANNELS = ('q_target', 'dq_target', 'u', 'kp', 'ki', 'kd')


class PidActuators:
    """Joints with effort kp (q* - q) + kd (dq* - dq) + ki integral(q* - q) + u.

    The feedback is MuJoCo's own, so it acts in every physics step and the damping is integrated
    implicitly: the actuator is faster and stabler than the same law in a controller. Its share of
    the effort from the integral stays within the joint's effort limits, as does the whole.
    With all gains zero it is a motor that gives the effort u.
    """

    def __init__(
        self,
        mapping: MujocoModel,
        data: mujoco.MjData,
        body: Body,
        rows: np.ndarray,
        at_once: np.ndarray,
    ) -> None:
        """Take over actuators of a simulation; the integrals start at zero.

        Args:
            mapping: the simulated model.
            data: its state.
            body: the robot, whose commands are taken.
            rows: the actuators, by place among the model's slots.
            at_once: which of them take commands without the delay of one tick, shape of rows.
        """
        self._rows = rows
        self._data = data
        self._qpos = mapping.qpos[rows]
        self._gain = mapping.model.actuator_gainprm
        self._bias = mapping.model.actuator_biasprm
        self._step = mapping.model.opt.timestep
        self._slots = mapping.slots[rows]
        self._sources = [body.joint_arrays[name] for name in CHANNELS]
        lower, upper = body.joint_arrays['u_lower'], body.joint_arrays['u_upper']
        self._lower, self._upper = lower[self._slots], upper[self._slots]
        self._at_once = at_once
        self._pending = np.zeros((len(CHANNELS), rows.size))
        self._active = np.zeros((len(CHANNELS), rows.size))
        self._integral = np.zeros(rows.size)
        self.write()
        self._apply(np.ones(rows.size, dtype=bool))

    def write(self) -> None:
        """Take over the body's commands; those in no-delay mode act from now on."""
        for pending, source in zip(self._pending, self._sources, strict=True):
            pending[:] = source[self._slots]
        if self._at_once.any():
            self._apply(self._at_once)

    def latch(self) -> None:
        """Let the commands of the last `write` act from now on."""
        self._apply(~self._at_once)

    def _apply(self, chosen: np.ndarray) -> None:
        self._active[:, chosen] = self._pending[:, chosen]
        rows = self._rows
        self._gain[rows, 0] = 1.0
        self._bias[rows, 1] = -self._active[3]
        self._bias[rows, 2] = -self._active[5]
        self._set_controls()

    def integrate(self) -> None:
        """Go on by one physics step."""
        q_target, ki = self._active[0], self._active[4]
        if ki.any():
            error = q_target - self._data.qpos[self._qpos]
            moved = self._integral + error * self._step
            with np.errstate(divide='ignore', invalid='ignore'):
                low, high = self._lower / ki, self._upper / ki
            self._integral = np.where(ki > 0.0, np.clip(moved, low, high), 0.0)
            self._set_controls()

    def _set_controls(self) -> None:
        q_target, dq_target, u, kp, ki, kd = self._active
        control = kp * q_target + kd * dq_target + ki * self._integral + u
        self._data.ctrl[self._rows] = control
