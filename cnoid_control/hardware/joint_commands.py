"""From the commands in a body to MuJoCo's controls, with Choreonoid's one-step delay."""

from __future__ import annotations

import mujoco
import numpy as np

from cnoid_control.body import Body, StateFlag
from cnoid_control.hardware.exceptions import UnsupportedChannel
from cnoid_control.hardware.hardware import IORequest
from cnoid_control.hardware.mujoco_model import MujocoModel
from cnoid_control.hardware.mujoco_parameters import MujocoParameters
from cnoid_control.hardware.pid_actuators import PidActuators

COMMAND_OF_MODE = {
    StateFlag.JOINT_EFFORT: 'u',
    StateFlag.JOINT_DISPLACEMENT: 'q_target',
    StateFlag.JOINT_VELOCITY: 'dq_target',
}

# Share of the step's stability bound that a servo's stiffness may take.
SERVO_MARGIN = 0.5

Index = slice | np.ndarray


class JointCommands:
    """Moves the joint commands of a body to the actuators.

    Every joint has one actuator; its gains make it a motor (effort), a position servo
    (displacement), a position servo whose target is the integral of the commanded velocity, or
    a PID actuator (all three at once).
    A command written in tick k acts in the physics of tick k + 1, or of tick k where the link is
    in no-delay mode.
    """

    def __init__(
        self,
        mapping: MujocoModel,
        data: mujoco.MjData,
        body: Body,
        parameters: MujocoParameters,
    ) -> None:
        """Attach to a simulation; nothing is actuated before `open`."""
        self._model = mapping.model
        self._mapping = mapping
        self._data = data
        self._ctrl = data.ctrl
        self._body = body
        self._step = mapping.model.opt.timestep
        self._stiffness, self._damping = _servo_gains(mapping, parameters)
        self._command = np.zeros(mapping.slots.size)
        self._copies: list[tuple[Index, np.ndarray, Index]] = []
        self._velocity = np.zeros(0, dtype=np.intp)
        self._pid: PidActuators | None = None
        self._set_delay(np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp))

    def open(self, request: IORequest) -> None:
        """Set the actuators up for the requested modes and take over the present commands.

        Raises:
            UnsupportedChannel: a joint is to be commanded by something it has no actuator for.
        """
        modes = self._modes(request)
        slots = self._mapping.slots
        self._set_gains(modes)
        self._copies = []
        for mode, name in COMMAND_OF_MODE.items():
            rows = np.flatnonzero(modes == mode)
            if rows.size:
                commands = self._body.joint_arrays[name]
                self._copies.append(
                    (_index(rows, slots.size), commands, _index(slots[rows], commands.size))
                )
        # Velocity servos hold a target position of their own.
        self._velocity = np.flatnonzero(modes == StateFlag.JOINT_VELOCITY)
        self._target = self._body.joint_arrays['q'][slots[self._velocity]]
        self._rate = np.zeros(self._velocity.size)
        low, high = self._model.jnt_range[self._model.actuator_trnid[self._velocity, 0]].T
        limited = self._model.jnt_limited[self._model.actuator_trnid[self._velocity, 0]] > 0
        self._target_low = np.where(limited, low, -np.inf)
        self._target_high = np.where(limited, high, np.inf)
        names = [self._body.all_joints[slot].name for slot in slots]
        at_once = np.array([name in request.no_delay for name in names], dtype=bool)
        pid = modes == StateFlag.JOINT_PID
        commanded = (modes != 0) & ~pid
        self._set_delay(np.flatnonzero(commanded & ~at_once), np.flatnonzero(commanded & at_once))
        self._pid = None
        if pid.any():
            rows = np.flatnonzero(pid)
            self._pid = PidActuators(self._mapping, self._data, self._body, rows, at_once[rows])
        self.write()
        self._apply(self._later)

    def _modes(self, request: IORequest) -> np.ndarray:
        modes = np.zeros(self._mapping.slots.size, dtype=int)
        for row, slot in enumerate(self._mapping.slots):
            joint = self._body.all_joints[slot]
            flags = request.outputs.get(joint.name, StateFlag.NONE)
            mode = flags & ~(StateFlag.LINK_EXT_WRENCH | StateFlag.HIGH_GAIN_ACTUATION)
            allowed = [*COMMAND_OF_MODE, StateFlag.JOINT_PID]
            if mode and mode not in allowed:
                raise UnsupportedChannel(
                    joint.name, mode.name or mode, 'mujoco', [m.name for m in allowed]
                )
            modes[row] = mode
        return modes

    def _set_gains(self, modes: np.ndarray) -> None:
        gain, bias = self._model.actuator_gainprm, self._model.actuator_biasprm
        servo = (modes == StateFlag.JOINT_DISPLACEMENT) | (modes == StateFlag.JOINT_VELOCITY)
        gain[:, 0] = np.where(servo, self._stiffness, modes == StateFlag.JOINT_EFFORT)
        bias[:, 1] = np.where(servo, -self._stiffness, 0.0)
        bias[:, 2] = np.where(servo, -self._damping, 0.0)

    def _set_delay(self, later: np.ndarray, at_once: np.ndarray) -> None:
        size = self._mapping.slots.size
        self._later: Index | None = _index(later, size) if later.size else None
        self._at_once: Index | None = _index(at_once, size) if at_once.size else None

    def write(self) -> None:
        """Take over the body's commands; those in no-delay mode act from now on."""
        for rows, commands, slots in self._copies:
            self._command[rows] = commands[slots]
        if self._at_once is not None:
            self._apply(self._at_once)
        if self._pid is not None:
            self._pid.write()

    def latch(self) -> None:
        """Let the commands of the last `write` act from now on; called when a tick is over."""
        if self._later is not None:
            self._apply(self._later)
        if self._pid is not None:
            self._pid.latch()

    def _apply(self, rows: Index | None) -> None:
        if rows is None:
            return
        self._ctrl[rows] = self._command[rows]
        if self._velocity.size:
            moved = np.zeros(self._command.size, dtype=bool)
            moved[rows] = True
            chosen = moved[self._velocity]
            self._rate[chosen] = self._command[self._velocity[chosen]]
            self._ctrl[self._velocity] = self._target

    def integrate(self) -> None:
        """Move the targets of velocity servos and the integrals of PIDs by one physics step."""
        if self._velocity.size:
            self._target += self._rate * self._step
            np.clip(self._target, self._target_low, self._target_high, out=self._target)
            self._ctrl[self._velocity] = self._target
        if self._pid is not None:
            self._pid.integrate()


def _index(rows: np.ndarray, size: int) -> Index:
    """Slice where the rows are 0 to size - 1: copying through one is much cheaper."""
    whole = rows.size == size and np.array_equal(rows, np.arange(size))
    return slice(None) if whole else rows


def _servo_gains(
    mapping: MujocoModel, parameters: MujocoParameters
) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and damping of each joint's servo, lowered for joints too light for the step."""
    model = mapping.model
    inertia = model.dof_M0[mapping.dofs]
    bound = SERVO_MARGIN * inertia / model.opt.timestep**2
    stiffness = np.minimum(parameters.servo_stiffness, bound)
    share = stiffness / max(parameters.servo_stiffness, np.finfo(float).tiny)
    return stiffness, parameters.servo_damping * share
