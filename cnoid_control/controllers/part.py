"""A sub-controller that moves some joints as its parent says."""

from __future__ import annotations

from dataclasses import dataclass

from cnoid_control.body import StateFlag
from cnoid_control.body.exceptions import UnknownJoint
from cnoid_control.controllers.sub_controllers import SHARED, Reference
from cnoid_control.parameters import parameter
from cnoid_control.plugin import ControllerIO, SimpleController


@dataclass
class PartParameters:
    """Options of PartController."""

    joints: list[str] = parameter([], 'joints to move; all where empty')
    mode: str = parameter('torque', 'how they are commanded', choices=('torque', 'position'))
    kp: float = parameter(100.0, 'position gain in torque mode', unit='N m/rad', minimum=0.0)
    kd: float = parameter(10.0, 'velocity gain in torque mode', unit='N m s/rad', minimum=0.0)


class PartController(SimpleController):
    """Follows the reference that SubControllersController shares, with its own joints only."""

    Parameters = PartParameters

    def initialize(self, io: ControllerIO) -> bool:
        """Find the parent's reference and enable the joints."""
        self.body, self.parameters = io.body, io.parameters
        reference = io.find_shared_object(SHARED)
        if reference is None:
            print(f'{io.controller_name} must be a sub-controller of sub_controllers', file=io.os)
            return False
        self.reference: Reference = reference
        named = self.parameters.joints or [name for name in io.body.joint_names if name]
        try:
            self.ids = io.body.joint_ids(named)
        except UnknownJoint as error:
            print(error, file=io.os)
            return False
        torque = self.parameters.mode == 'torque'
        for joint in map(io.body.joint, named):
            io.enable_output(
                joint, StateFlag.JOINT_TORQUE if torque else StateFlag.JOINT_DISPLACEMENT
            )
            io.enable_input(joint, StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY)
            self.reference.followers.add(joint.joint_name)
        return True

    def control(self) -> bool:
        """Command this part of the robot."""
        body, ids = self.body, self.ids
        goal = self.reference.q[ids]
        body.q_target[ids] = goal
        if self.parameters.mode == 'torque':
            error = goal - body.q[ids]
            body.u[ids] = self.parameters.kp * error - self.parameters.kd * body.dq[ids]
        return True
