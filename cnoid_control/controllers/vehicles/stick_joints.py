"""Joints that sticks of a joystick turn: turrets, flippers."""

from __future__ import annotations

from dataclasses import dataclass

from cnoid_control.body import StateFlag
from cnoid_control.controllers.joystick import Joystick
from cnoid_control.controllers.vehicles.wheels import find_joint
from cnoid_control.parameters import ParameterError, parameter
from cnoid_control.plugin import ControllerIO

MODES = {
    'torque': StateFlag.JOINT_EFFORT,
    'position': StateFlag.JOINT_DISPLACEMENT,
    'velocity': StateFlag.JOINT_VELOCITY,
}


@dataclass
class StickJointParameters:
    """Joints that are turned by sticks."""

    joints: list[str] = parameter([], 'joints, in the order of the sticks', read_only=True)
    axes: list[int] = parameter([3, 4], 'stick of each joint', minimum=0, read_only=True)
    mode: str = parameter(
        'torque', 'what the joints are commanded by', choices=tuple(MODES), read_only=True
    )
    speed: float = parameter(1.0, 'speed at full stick', unit='rad/s', minimum=0.0)
    kp: float = parameter(
        100.0, 'position gain in the mode torque', unit='N m/rad', minimum=0.0, read_only=True
    )
    kd: float = parameter(
        5.0, 'velocity gain in the mode torque', unit='N m s/rad', minimum=0.0, read_only=True
    )


class StickJoints:
    """Joints that follow sticks: each stick is a speed."""

    def __init__(self, io: ControllerIO, parameters: StickJointParameters, key: str) -> None:
        """Enable the joints and hold where they are.

        Raises:
            ParameterError: there is no such joint, or not one stick per joint.
        """
        if len(parameters.axes) < len(parameters.joints):
            raise ParameterError(
                f'{key}.axes',
                f'{len(parameters.joints)} expected, one per joint, got {parameters.axes}',
            )
        self._step = io.time_step
        self._links = [find_joint(io.body, name, f'{key}.joints') for name in parameters.joints]
        for link in self._links:
            io.enable_output(link, MODES[parameters.mode])
            io.enable_input(link, StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY)
        self._goal = [link.q for link in self._links]

    def follow(self, joystick: Joystick, parameters: StickJointParameters) -> None:
        """Turn the joints as the sticks stand, within their limits."""
        for i, link in enumerate(self._links):
            wanted = parameters.speed * joystick.axis(parameters.axes[i])
            goal = min(max(self._goal[i] + wanted * self._step, link.q_lower), link.q_upper)
            speed = (goal - self._goal[i]) / self._step
            self._goal[i] = goal
            if parameters.mode == 'position':
                link.q_target = goal
            elif parameters.mode == 'velocity':
                link.dq_target = speed
            else:
                link.u = parameters.kp * (goal - link.q) + parameters.kd * (speed - link.dq)
