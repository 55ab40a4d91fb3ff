"""Any robot holds a posture by joint efforts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cnoid_control.body import Body, JointType, StateFlag
from cnoid_control.body.gains import joint_gains
from cnoid_control.controllers.drive.laws import GAINS, InverseDynamics, Pid, spread
from cnoid_control.exceptions import choices
from cnoid_control.interpolation import smoothstep
from cnoid_control.parameters import not_allowed, parameter
from cnoid_control.plugin import ControllerIO, SimpleController
from cnoid_control.plugin.joint_values import JointPosture, posture_of

# Name of no joint: gravity compensation as it suits the base.
AUTO = 'auto'

# Gains above this many times what is stable in any case are warned of.
WARNING_FACTOR = 6.0


@dataclass
class PDParameters:
    """Options of PDController; a later kind of gain wins: for all, by group, by joint."""

    kp: float | list[float] = parameter(
        [],
        "position gain, for all joints or one per joint; where empty, the model's own, else by "
        'the inertia and the effort limit of each joint',
        unit='N m/rad or N/m',
        minimum=0.0,
    )
    ki: float | list[float] = parameter(
        0.0, 'integral gain', unit='N m/(rad s) or N/(m s)', minimum=0.0
    )
    kd: float | list[float] = parameter(
        [],
        "velocity gain; where empty, the model's own, else what damps kp critically, as far as "
        'that is stable',
        unit='N m s/rad or N s/m',
        minimum=0.0,
    )
    kp_of: dict[str, float] = parameter({}, 'kp of a joint or a group, by name', minimum=0.0)
    ki_of: dict[str, float] = parameter({}, 'ki of a joint or a group, by name', minimum=0.0)
    kd_of: dict[str, float] = parameter({}, 'kd of a joint or a group, by name', minimum=0.0)
    groups: dict[str, list[str]] = parameter({}, 'joint groups by name', read_only=True)
    posture: JointPosture = parameter(
        [],
        "what to hold: by joint name, a list by joint id, or the name of a model's posture; the "
        'initial posture where empty, and for joints that are not named',
        unit='rad or m',
    )
    move_time: float = parameter(
        2.0, 'time in which it goes to the posture', unit='s', minimum=0.0
    )
    gravity_compensation: list[str] = parameter(
        ['auto'],
        'joints or groups whose weight is held by the model, not the legs that it stands on; '
        'auto: all of a robot with a fixed base, none of a floating one',
    )


class PDController(SimpleController):
    """PID control of every joint, with the model's torques against gravity where asked for.

    Attributes:
        gains: kp, ki and kd of each joint, shape (3, num_joints).
        q_ref: what is held at present [rad] or [m], shape (num_joints,).
    """

    Parameters = PDParameters

    def initialize(self, io: ControllerIO) -> bool:
        """Command efforts, read displacements and velocities."""
        self.io, self.body, self.dt = io, io.body, io.time_step
        self.q_initial = self.q_ref = io.body.q.copy()
        io.body.calc_forward_kinematics()
        self._automatic = joint_gains(io.body, io.time_step)
        self._sees_base = True
        for name, joints in io.parameters.groups.items():
            self.body.add_joint_group(name, joints)
        self._apply(io.parameters)
        self._go_to_posture(io.parameters)
        for joint in self.body.joints:
            # The surface of a track has no place to be held at; uncommanded it stands still.
            if joint.joint_type is JointType.PSEUDO_CONTINUOUS_TRACK:
                continue
            joint.actuation_mode = StateFlag.JOINT_EFFORT
            io.enable_io(joint)
            io.enable_input(joint, StateFlag.JOINT_VELOCITY)
        # Which way is down is seen in the root's orientation; who does not ask for it does not
        # need a robot that knows it.
        self._sees_base = self.body.is_fixed_root or bool(self.weightless.any())
        if self._sees_base:
            io.enable_input(self.body.root_link, StateFlag.LINK_POSITION)
        self._dynamics = InverseDynamics(self.body)
        self._pid = Pid(self.body.u_lower.copy(), self.body.u_upper.copy(), io.count_limited)
        self._still = np.zeros(self.body.num_joints)
        return True

    def _apply(self, parameters: PDParameters) -> None:
        """Use other gains; nothing changes where an option cannot be used."""
        body = self.body
        auto = self._automatic
        kp = _gain(body, 'kp', parameters, auto.kp)
        # Damping belongs to the stiffness that is in force; the model's own to the model's own.
        kd = np.where(kp == auto.kp, auto.kd, auto.damping_of(kp))
        gains = [
            kp,
            _gain(body, 'ki', parameters, np.zeros(body.num_joints)),
            _gain(body, 'kd', parameters, kd),
        ]
        weightless = np.zeros(body.num_joints, dtype=bool)
        for name in parameters.gravity_compensation:
            if name == AUTO:
                weightless[:] |= body.is_fixed_root
            else:
                weightless[_joints(body, 'gravity_compensation', name)] = True
        if weightless.any() and not self._sees_base:
            raise not_allowed(
                'gravity_compensation',
                parameters.gravity_compensation,
                'the orientation of the base is not read: name joints before the start',
            )
        posture_of(body, 'posture', parameters.posture, self.q_initial)
        self.gains = np.array(gains)
        self._warn_of_gains()
        self.weightless = weightless

    def _warn_of_gains(self) -> None:
        """Say which gains are far above what is known to be stable."""
        limits = {'kp': self._automatic.kp_limit, 'kd': self._automatic.kd_limit}
        for name, limit in limits.items():
            gain = self.gains[GAINS.index(name)]
            told = [
                f'{self.body.joint_names[i]} {gain[i]:.4g} (stable up to {limit[i]:.3g})'
                for i in np.flatnonzero(gain > WARNING_FACTOR * limit)
            ]
            if told:
                print(
                    f'warning: {name} may be unstable for the inertia of these joints and a '
                    f'period of {self.dt:g} s: {", ".join(told)}',
                    file=self.io.os,
                )

    def _go_to_posture(self, parameters: PDParameters) -> None:
        """Move from the present reference to the posture."""
        self.q_start = self.q_ref.copy()
        self.q_goal = posture_of(self.body, 'posture', parameters.posture, self.q_initial)
        self.move_time = parameters.move_time
        self.begin = self.io.current_time

    def update_parameters(self, old: PDParameters, new: PDParameters) -> None:
        """Use new gains at once, and go to a new posture or at another speed."""
        self._apply(new)
        if (old.posture, old.move_time) != (new.posture, new.move_time):
            self._go_to_posture(new)

    def gains_of(self, joint: str) -> dict[str, float]:
        """Gains kp, ki and kd of a joint."""
        values = self.gains[:, self.body.joint(joint).joint_id]
        return dict(zip(GAINS, values.tolist(), strict=True))

    def control(self) -> bool:
        """One tick of PID control."""
        body = self.body
        elapsed = self.io.current_time - self.begin
        share = min(elapsed / self.move_time, 1.0) if self.move_time > 0.0 else 1.0
        # Cubic from rest to rest.
        way = self.q_goal - self.q_start
        self.q_ref = self.q_start + way * smoothstep(share)
        rate = 6.0 * share * (1.0 - share) / self.move_time if share < 1.0 else 0.0
        feedforward = self._still
        if self.weightless.any():
            weight = self._dynamics.effort(body.q, self._still, self._still)
            feedforward = np.where(self.weightless, weight, 0.0)
        body.u[:] = self._pid.effort(
            self.q_ref - body.q, way * rate - body.dq, feedforward, self.gains, self.dt
        )
        body.q_target[:] = self.q_ref
        return True


def _gain(body: Body, name: str, parameters: PDParameters, automatic: np.ndarray) -> np.ndarray:
    """One gain of every joint."""
    given = getattr(parameters, name)
    gain = automatic.copy() if given == [] else spread(name, given, body.num_joints)
    special: dict[str, float] = getattr(parameters, f'{name}_of')
    # Groups first: a joint's own gain wins.
    for key in sorted(special, key=lambda key: key not in body.joint_groups):
        gain[_joints(body, f'{name}_of', key)] = special[key]
    return gain


def _joints(body: Body, option: str, name: str) -> np.ndarray:
    """Ids of the joints of a group, or of one joint."""
    if name in body.joint_groups:
        return body.joint_ids(body.joint_groups[name].joint_names)
    if name in body.joint_names:
        return body.joint_ids([name])
    known = choices([*body.joint_groups, *body.joint_names])
    raise not_allowed(f'{option}.{name}', name, known)
