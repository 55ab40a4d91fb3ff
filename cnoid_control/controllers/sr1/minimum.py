"""The smallest whole-body controller: SR1 holds its initial posture."""

from __future__ import annotations

import numpy as np

from cnoid_control.plugin import ControllerIO, SimpleController, StateFlag

LEG, ARM, WAIST = [8000.0] * 6, [3000.0] * 7, [8000.0] * 3
PGAIN = np.array([*LEG, *ARM, *LEG, *ARM, *WAIST])
DGAIN = np.full(PGAIN.size, 100.0)


class SR1MinimumController(SimpleController):
    """Joint torques by PD control towards the initial posture; velocity by differences."""

    def initialize(self, io: ControllerIO) -> bool:
        """Command torques, read angles, and remember the posture."""
        self.body, self.dt = io.body, io.time_step
        if self.body.num_joints != PGAIN.size:
            print(
                f'SR1 has {PGAIN.size} joints, {self.body.name} {self.body.num_joints}', file=io.os
            )
            return False
        for joint in self.body.joints:
            joint.actuation_mode = StateFlag.JOINT_TORQUE
            io.enable_io(joint)
        self.q_ref = self.body.q.copy()
        self.q_old = self.q_ref.copy()
        return True

    def control(self) -> bool:
        """One tick of PD control."""
        q = self.body.q
        dq = (q - self.q_old) / self.dt
        self.body.u[:] = (self.q_ref - q) * PGAIN - dq * DGAIN
        self.q_old[:] = q
        return True
