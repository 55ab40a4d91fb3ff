"""SR1 walks along a recorded joint motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cnoid_control.body.formats.joint_motion import load_motion
from cnoid_control.controllers.sr1.minimum import DGAIN, PGAIN
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.parameters import FileName, parameter
from cnoid_control.plugin import ControllerIO, SimpleController, StateFlag
from cnoid_control.share import shared_file

ACTUATION = {
    'torque': StateFlag.JOINT_TORQUE,
    'position': StateFlag.JOINT_DISPLACEMENT,
    'velocity': StateFlag.JOINT_VELOCITY,
}

# The motion that was recorded for each kind of actuation.
MOTIONS = {'torque': 'sr1_walk_1', 'position': 'sr1_walk_2', 'velocity': 'sr1_walk_2'}


@dataclass
class SR1WalkPatternParameters:
    """Options of SR1WalkPatternController."""

    mode: str = parameter(
        'torque', 'what joints are commanded by', choices=tuple(ACTUATION), read_only=True
    )
    motion: FileName = parameter(
        '',
        'a .seq or .npz file, or the name of a shared one; the one for the mode where empty',
        read_only=True,
    )


class SR1WalkPatternController(SimpleController):
    """Plays a walking motion; control() returns False at its last frame."""

    Parameters = SR1WalkPatternParameters

    def initialize(self, io: ControllerIO) -> bool:
        """Load the motion and command the joints by the chosen mode."""
        self.body, self.dt = io.body, io.time_step
        self.mode = io.parameters.mode
        name = io.parameters.motion or MOTIONS[self.mode]
        try:
            motion = load_motion(shared_file('motion', name, '.npz'))
        except CnoidControlError as error:
            print(error, file=io.os)
            return False
        if motion.num_joints != self.body.num_joints:
            found = f'{name} moves {motion.num_joints} joints'
            print(f'{found}, {self.body.name} has {self.body.num_joints}', file=io.os)
            return False
        self.q_ref = motion.resampled(self.dt)
        # Velocity from each frame to the next one; the motion ends at rest.
        self.dq_ref = np.diff(self.q_ref, axis=0, append=self.q_ref[-1:]) / self.dt
        for joint in self.body.joints:
            joint.actuation_mode = ACTUATION[self.mode]
            io.enable_io(joint)
        self.q_old = self.body.q.copy()
        self.dq_old = np.zeros(self.body.num_joints)
        self.frame = 0
        return True

    def control(self) -> bool:
        """Command the next frame; once the last one is reached, keep commanding it."""
        body = self.body
        q_ref, dq_ref = self.q_ref[self.frame], self.dq_ref[self.frame]
        if self.mode == 'torque':
            q = body.q
            dq = (q - self.q_old) / self.dt
            # The measured velocity is that of the last step, so is the reference.
            body.u[:] = (q_ref - q) * PGAIN + (self.dq_old - dq) * DGAIN
            self.q_old[:] = q
            self.dq_old = dq_ref
        elif self.mode == 'velocity':
            body.dq_target[:] = dq_ref
        body.q_target[:] = q_ref
        going_on = self.frame < len(self.q_ref) - 1
        self.frame += going_on
        return going_on
