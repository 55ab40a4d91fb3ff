"""What an environment observes where the configuration's own controller has the robot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cnoid_control.body import StateFlag
from cnoid_control.controllers.policy.base import HardwareBase
from cnoid_control.controllers.policy.observation import Observation
from cnoid_control.controllers.policy.terms import Gait, Situation, TermParameters
from cnoid_control.environment.agent import usual_terms
from cnoid_control.exceptions import choices
from cnoid_control.parameters import not_allowed, parameter
from cnoid_control.plugin import ControllerIO, SimpleController
from cnoid_control.plugin.joint_values import JointPosture, joint_ids, posture_of

# Terms of what a network does, or is told.
OF_A_POLICY = (
    'last_action',
    'velocity_command',
    'linear_velocity_command',
    'yaw_rate_command',
    'sin_phase',
    'cos_phase',
    'output',
    'orientation',
)


@dataclass
class ObserverParameters:
    """Options of Observer; they are those of `controller: policy`."""

    period: float = parameter(0.02, 'time between two observations', unit='s', minimum=0.0)
    observations: list[str] = parameter(
        [], 'terms of the observation, in order; joints, and a floating base, where empty'
    )
    terms: dict[str, TermParameters] = parameter({}, 'options of terms by name')
    joints: list[str] = parameter([], 'joints of the joint terms, in order; all where empty')
    posture: JointPosture = parameter(
        [], 'what joint positions are relative to; where the robot starts, where empty'
    )
    imu: str = parameter(
        '', "device whose axes and rates are the base's; the root link where empty"
    )


class Observer(SimpleController):
    """Commands nothing; once per period it says what it observes.

    Attributes:
        observation: what is observed.
        situation: what its terms are computed from.
        say: told each observation, within a tick, behind the other controllers.
    """

    Parameters = ObserverParameters

    def __init__(self) -> None:
        """Speak to nobody yet."""
        self.say: Callable[[np.ndarray], None] = lambda vector: None

    def initialize(self, io: ControllerIO) -> bool:
        """Read what the terms need."""
        given: ObserverParameters = io.parameters
        self._io, body = io, io.body
        joints = (
            joint_ids(body, 'joints', given.joints) if given.joints else np.arange(body.num_joints)
        )
        for index in joints:
            io.enable_input(body.joint(int(index)), StateFlag.JOINT_DISPLACEMENT)
        self._base = HardwareBase(io, given.imu)
        self.situation = Situation(
            io=io,
            joints=joints,
            default=posture_of(body, 'posture', given.posture, body.start_posture),
            base=self._base,
            gait=Gait(1.0, [], []),
            action=np.zeros(0),
            folder=io.folder,
        )
        names = given.observations or usual_terms(body.is_fixed_root)
        for name in names:
            source = given.terms[name].source if name in given.terms else ''
            if (source or name).partition(':')[0] in OF_A_POLICY:
                raise not_allowed(
                    'observations', name, "only a policy knows it: it needs the action 'joints'"
                )
        for name in given.terms:
            if name not in names:
                raise not_allowed(f'terms.{name}', name, choices(names))
        self.observation = Observation(names, given.terms, self.situation)
        self._ticks = max(1, round(given.period / io.time_step))
        self._tick = 0
        return True

    def control(self) -> bool:
        """Observe, where a period begins. It never has more to do: others say when it ends."""
        self._base.tick()
        self.observation.tick()
        if self._tick % self._ticks == 0:
            situation = self.situation
            situation.time = self._tick * self._io.time_step
            vector = self.observation.refresh()
            situation.time_step += 1
            self.say(vector)
        self._tick += 1
        return False
