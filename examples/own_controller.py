"""A controller of one's own, simulated from a script: SR1 stands and waves an arm."""

import numpy as np

from cnoid_control import ControllerIO, SimpleController, Simulation, StateFlag

KP, KD = 3000.0, 100.0


class Wave(SimpleController):
    """Holds the initial posture by PD control, but for an arm that swings."""

    def initialize(self, io: ControllerIO) -> bool:
        """Command all joints by torque."""
        self.io, self.body = io, io.body
        for joint in self.body.joints:
            joint.actuation_mode = StateFlag.JOINT_TORQUE
            io.enable_input(joint, StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY)
            io.enable_output(joint)
        self.q_ref = self.body.q.copy()
        self.arm = self.body.joint('RARM_SHOULDER_P').joint_id
        return True

    def control(self) -> bool:
        """PD control of every joint at once."""
        body = self.body
        body.q_target[:] = self.q_ref
        body.q_target[self.arm] += 0.3 * np.sin(2.0 * np.pi * 0.5 * self.io.current_time)
        body.u[:] = KP * (body.q_target - body.q) - KD * body.dq
        return True


if __name__ == '__main__':
    with Simulation('sr1_pd', Wave) as simulation:
        simulation.run(3.0)
        recorded = simulation.recorded
    arm = recorded.joint_names.index('RARM_SHOULDER_P')
    swing = np.ptp(recorded.q[:, arm])
    error = np.abs(recorded.q - recorded.q_target).max()
    print(f'the arm swings by {swing:.2f} rad, the largest error is {error:.3f} rad')
    print(f'SR1 stands: {not simulation.summary()["fell"]}')
