"""Joint commands in MuJoCo: efforts and servos."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import mujoco
import numpy as np

from cnoid_control.body import Body, StateFlag
from cnoid_control.body.channels import (
    CHANNELS,
    COMMAND_CHANNELS,
    DAMPING,
    DRIVE_MODES,
    FOLLOWING,
    FOLLOWING_WITH_EFFORT,
    STIFFNESS,
    commanded_flags,
)
from cnoid_control.body.copies import copy_call
from cnoid_control.hardware.exceptions import UnsupportedChannel
from cnoid_control.hardware.hardware import IORequest
from cnoid_control.hardware.mujoco.deviations import ActuatorErrors
from cnoid_control.hardware.mujoco.model import MujocoModel
from cnoid_control.hardware.mujoco.parameters import MujocoParameters
from cnoid_control.hardware.mujoco.saturation import Saturation

# Share of the step's stability bound that a servo's stiffness may take.
SERVO_MARGIN = 0.5

Call = Callable[[], object]


class JointCommands:
    """Moves the joint commands of a body to the actuators.

    Every joint has one actuator; its gains make it a motor (effort), a position servo
    (displacement), a position servo whose target is the integral of the commanded velocity, one
    that follows displacement and velocity (both, and the effort besides in the high-gain mode of
    all three), or a PID actuator with gains of its own (all three at once).
    A command written in tick k acts in the physics of tick k + 1, or of tick k where the link is
    in no-delay mode.

    Attributes:
        writes: calls that take over the body's commands; those in no-delay mode act from then on.
        latches: calls that let the others act from then on, made when a tick is over.
    """

    def __init__(
        self,
        mapping: MujocoModel,
        data: mujoco.MjData,
        body: Body,
        parameters: MujocoParameters,
        errors: ActuatorErrors,
        saturation: Saturation,
    ) -> None:
        self._model = mapping.model
        self._saturation = saturation
        self._mapping = mapping
        self._data = data
        self._ctrl = data.ctrl
        self._controls = mapping.controls
        self._body = body
        self._step = mapping.model.opt.timestep
        self._errors = errors
        self._stiffness, self._damping = _servo_gains(mapping, parameters)
        self._stiffness = self._stiffness * errors.stiffness
        self._damping = self._damping * errors.damping
        joints = [body.all_joints[slot].description for slot in mapping.slots]
        self._has_rate_actuator = np.array(
            [
                joint.actuation_mode == StateFlag.JOINT_VELOCITY and joint.kp == 0.0 < joint.kd
                for joint in joints
            ],
            dtype=bool,
        )
        self._command = np.zeros(mapping.slots.size)
        self._velocity = np.zeros(0, dtype=np.intp)
        self._pid: PidActuators | None = None
        self.writes: list[Call] = []
        self.latches: list[Call] = []

    def open(self, request: IORequest) -> None:
        """Set the actuators up for the requested modes and take over the present commands.

        Raises:
            UnsupportedChannel: a joint is to be commanded by something it has no actuator for.
        """
        modes = self._modes(request)
        slots = self._mapping.slots
        # Before the gains change.
        self._saturation.open(modes)
        self._set_gains(modes)
        self.writes, self.latches = [], []
        for channel in CHANNELS:
            rows = np.flatnonzero(modes == channel.flag)
            if rows.size:
                commands = self._body.joint_arrays[channel.command]
                self.writes.append(copying(self._command, rows, commands, slots[rows]))
        self._add_following(modes)
        # Velocity servos hold a target position of their own.
        by_position = (modes == StateFlag.JOINT_VELOCITY) & ~self._rated(modes)
        self._velocity = np.flatnonzero(by_position)
        self._target = self._body.joint_arrays['q'][slots[self._velocity]]
        self._rate = np.zeros(self._velocity.size)
        self._stopped = np.zeros(self._velocity.size, dtype=bool)
        joints = self._model.dof_jntid[self._mapping.dofs[self._velocity]]
        low, high = self._model.jnt_range[joints].T
        limited = self._model.jnt_limited[joints] > 0
        self._target_low = np.where(limited, low, -np.inf)
        self._target_high = np.where(limited, high, np.inf)
        names = [self._body.all_joints[slot].name for slot in slots]
        at_once = np.array([name in request.no_delay for name in names], dtype=bool)
        pid = modes == StateFlag.JOINT_PID
        commanded = (modes != 0) & ~pid
        self._add_apply(self.latches, np.flatnonzero(commanded & ~at_once))
        self._add_apply(self.writes, np.flatnonzero(commanded & at_once))
        self._pid = None
        if pid.any():
            rows = np.flatnonzero(pid)
            self._pid = PidActuators(
                self._mapping, self._data, self._body, rows, at_once[rows], self._errors
            )
            self.writes.append(self._pid.write)
            self.latches.append(self._pid.latch)
        if self.integrates:
            self.latches.append(self._count_clamps)
        for call in (*self.writes, *self.latches):
            call()

    def _add_following(self, modes: np.ndarray) -> None:
        """Add the call that takes over displacement and velocity, and effort, in one command."""
        rows = np.flatnonzero((modes == FOLLOWING) | (modes == FOLLOWING_WITH_EFFORT))
        if not rows.size:
            return
        arrays, slots = self._body.joint_arrays, self._mapping.slots[rows]
        stiffness, damping = self._stiffness[rows], self._damping[rows]
        with_effort = (modes == FOLLOWING_WITH_EFFORT)[rows].astype(float)

        def write() -> None:
            command = stiffness * arrays['q_target'][slots] + damping * arrays['dq_target'][slots]
            self._command[rows] = command + with_effort * arrays['u'][slots]

        self.writes.append(write)

    def _add_apply(self, calls: list[Call], rows: np.ndarray) -> None:
        """Add the call that lets the commands taken over last act on these actuators."""
        if not rows.size:
            return
        calls.append(copying(self._ctrl, self._controls[rows], self._command, rows))
        served = np.isin(self._velocity, rows)
        if served.any():
            calls.append(partial(self._set_rates, np.flatnonzero(served)))

    def _set_rates(self, served: np.ndarray) -> None:
        """Let velocity servos (by place among them) go on at the commanded velocities."""
        self._rate[served] = self._command[self._velocity[served]]
        self._ctrl[self._controls[self._velocity]] = self._target

    def _modes(self, request: IORequest) -> np.ndarray:
        modes = np.zeros(self._mapping.slots.size, dtype=int)
        for row, slot in enumerate(self._mapping.slots):
            joint = self._body.all_joints[slot]
            flags = commanded_flags(joint, request.outputs.get(joint.name, StateFlag.NONE))
            mode = flags & ~StateFlag.LINK_EXT_WRENCH
            if mode != FOLLOWING_WITH_EFFORT:
                # A servo is stiff in any case.
                mode &= ~StateFlag.HIGH_GAIN_ACTUATION
            if mode and mode not in DRIVE_MODES:
                raise UnsupportedChannel(joint.name, mode, 'mujoco', DRIVE_MODES)
            modes[row] = mode
        return modes

    def _rated(self, modes: np.ndarray) -> np.ndarray:
        """Which joints are commanded by velocity and have such an actuator in their model."""
        return (modes == StateFlag.JOINT_VELOCITY) & self._has_rate_actuator

    def _set_gains(self, modes: np.ndarray) -> None:
        gain, bias = self._model.actuator_gainprm, self._model.actuator_biasprm
        actuators = self._mapping.actuators
        following = (modes == FOLLOWING) | (modes == FOLLOWING_WITH_EFFORT)
        plain = (modes == StateFlag.JOINT_DISPLACEMENT) | (modes == StateFlag.JOINT_VELOCITY)
        rated = self._rated(modes)
        servo = plain | following
        direct = following | (modes == StateFlag.JOINT_EFFORT)
        strength = self._errors.strength
        gain[actuators, 0] = np.where(plain, self._stiffness, direct) * strength
        gain[actuators[rated], 0] = self._damping[rated] * strength[rated]
        bias[actuators, 1] = np.where(servo & ~rated, -self._stiffness, 0.0) * strength
        bias[actuators, 2] = np.where(servo, -self._damping, 0.0) * strength

    @property
    def integrates(self) -> bool:
        """Whether `integrate` has anything to do."""
        return self._velocity.size > 0 or self._pid is not None

    def integrate(self) -> None:
        """Move the targets of velocity servos and the integrals of PIDs by one physics step."""
        if self._velocity.size:
            moved = self._target + self._rate * self._step
            np.clip(moved, self._target_low, self._target_high, out=self._target)
            self._stopped |= moved != self._target
            self._ctrl[self._controls[self._velocity]] = self._target
        if self._pid is not None:
            self._pid.integrate()

    def _count_clamps(self) -> None:
        """Count the joints whose target or integral was held back in this tick."""
        slots = self._mapping.slots
        if self._stopped.any():
            self._saturation.add('position', slots[self._velocity[self._stopped]])
            self._stopped[:] = False
        if self._pid is not None and self._pid.full.any():
            self._saturation.add('integral', self._pid.slots[self._pid.full])
            self._pid.full[:] = False


def copying(target: np.ndarray, to: np.ndarray, source: np.ndarray, of: np.ndarray) -> Call:
    """Cheapest call that does target[to] = source[of]."""
    everything = np.arange(target.size)
    if np.array_equal(to, everything) and np.array_equal(of, np.arange(source.size)):
        return copy_call(target, source)

    def copy() -> None:
        target[to] = source[of]

    return copy


def _servo_gains(
    mapping: MujocoModel, parameters: MujocoParameters
) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and damping of each joint's servo.

    They are those of the model's own actuator where it has one; else the options', lowered for
    joints too light for the step.
    """
    model = mapping.model
    inertia = model.dof_M0[mapping.dofs]
    bound = SERVO_MARGIN * inertia / model.opt.timestep**2
    stiffness = np.minimum(parameters.servo_stiffness, bound)
    share = stiffness / max(parameters.servo_stiffness, np.finfo(float).tiny)
    damping = parameters.servo_damping * share
    joints = [mapping.body.all_joints[slot].description for slot in mapping.slots]
    kp, kd = np.array([(joint.kp, joint.kd) for joint in joints]).reshape(-1, 2).T
    own = (kp > 0.0) | (kd > 0.0)
    return np.where(kp > 0.0, kp, stiffness), np.where(own, kd, damping)


class PidActuators:
    """Joints with effort kp (q* - q) + kd (dq* - dq) + ki integral(q* - q) + u.

    The feedback is MuJoCo's own, so it acts in every physics step and the damping is integrated
    implicitly: the actuator is faster and stabler than the same law in a controller. Its share of
    the effort from the integral stays within the joint's effort limits, as does the whole.
    With all gains zero it is a motor that gives the effort u.

    Attributes:
        slots: the joints' slots.
        full: which integrals were held back since somebody has set this to False.
    """

    def __init__(
        self,
        mapping: MujocoModel,
        data: mujoco.MjData,
        body: Body,
        rows: np.ndarray,
        at_once: np.ndarray,
        errors: ActuatorErrors,
    ) -> None:
        """Take over actuators of a simulation; the integrals start at zero.

        Args:
            mapping: the simulated model.
            data: its state.
            body: the robot, whose commands are taken.
            rows: the joints, by place among the model's slots.
            at_once: which of them take commands without the delay of one tick, shape of rows.
            errors: how the actuators differ from what they are told.
        """
        self._strength = errors.strength[rows]
        # In the order of the sources.
        self._factors = np.ones((len(COMMAND_CHANNELS), rows.size))
        self._factors[COMMAND_CHANNELS.index(STIFFNESS)] = errors.stiffness[rows]
        self._factors[COMMAND_CHANNELS.index(DAMPING)] = errors.damping[rows]
        self._actuators = mapping.actuators[rows]
        self._controls = mapping.controls[rows]
        self._data = data
        self._qpos = mapping.qpos[rows]
        self._gain = mapping.model.actuator_gainprm
        self._bias = mapping.model.actuator_biasprm
        self._step = mapping.model.opt.timestep
        self.slots = mapping.slots[rows]
        self._sources = [body.joint_arrays[channel.command] for channel in COMMAND_CHANNELS]
        lower, upper = body.joint_arrays['u_lower'], body.joint_arrays['u_upper']
        self._lower, self._upper = lower[self.slots], upper[self.slots]
        self._at_once = at_once
        self._pending = np.zeros((len(self._sources), rows.size))
        self._active = np.zeros_like(self._pending)
        self._integral = np.zeros(rows.size)
        self.full = np.zeros(rows.size, dtype=bool)
        self.write()
        self._apply(np.ones(rows.size, dtype=bool))

    def write(self) -> None:
        """Take over the body's commands; those in no-delay mode act from now on."""
        for pending, source in zip(self._pending, self._sources, strict=True):
            pending[:] = source[self.slots]
        self._pending *= self._factors
        if self._at_once.any():
            self._apply(self._at_once)

    def latch(self) -> None:
        """Let the commands of the last `write` act from now on."""
        self._apply(~self._at_once)

    def _apply(self, chosen: np.ndarray) -> None:
        self._active[:, chosen] = self._pending[:, chosen]
        actuators = self._actuators
        self._gain[actuators, 0] = self._strength
        *_, kd, _, kp = self._active
        self._bias[actuators, 1] = -kp * self._strength
        self._bias[actuators, 2] = -kd * self._strength
        self._set_controls()

    def integrate(self) -> None:
        """Go on by one physics step."""
        q_target, _, _, _, ki, _ = self._active
        if ki.any():
            error = q_target - self._data.qpos[self._qpos]
            moved = self._integral + error * self._step
            with np.errstate(divide='ignore', invalid='ignore'):
                low, high = self._lower / ki, self._upper / ki
            held = np.clip(moved, low, high)
            self._integral = np.where(ki > 0.0, held, 0.0)
            self.full |= (ki > 0.0) & (held != moved)
            self._set_controls()

    def _set_controls(self) -> None:
        q_target, dq_target, u, kd, ki, kp = self._active
        control = kp * q_target + kd * dq_target + ki * self._integral + u
        self._data.ctrl[self._controls] = control
