"""An arm without weight: the model's gravity torques hold it, and it can be led by hand."""

import numpy as np

from cnoid_control import SimpleController, Simulation, StateFlag
from cnoid_control.body import calc_inverse_dynamics

DAMPING = np.array([4.0, 4.0, 2.0, 2.0, 0.2, 0.2, 0.02])  # N m s/rad


class Weightless(SimpleController):
    """Commands what the model needs to stand still where it is, and a little damping."""

    def initialize(self, io):
        """Command torques; read positions and velocities."""
        self.body = io.body
        self.model = io.body.clone()
        # Weight is felt as an acceleration upwards.
        self.model.root_link.dv = [0.0, 0.0, 9.80665]
        for joint in self.body.joints:
            joint.actuation_mode = StateFlag.JOINT_TORQUE
            io.enable_io(joint)
            io.enable_input(joint, StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY)
        return True

    def control(self):
        """Efforts of the model at rest, in the posture that was measured."""
        self.model.q[:] = self.body.q
        calc_inverse_dynamics(self.model.root_link)
        self.body.u[:] = self.model.u - DAMPING * self.body.dq
        return True


if __name__ == '__main__':
    with Simulation('pd', Weightless) as simulation:
        start = simulation.robot.q.copy()
        simulation.run(2.0)
        sagged = np.abs(simulation.robot.q - start).max()
        print(f'after 2 s no joint has moved by more than {sagged:.4f} rad')
        # A hand pulls with 5 N, less than the arm's weight by far, and lets go.
        simulation.push('hand', [0.0, 5.0, 0.0], duration=1.0)
        simulation.run(1.0)
        led = np.abs(simulation.robot.q - start).max()
        simulation.run(3.0)
        rest = np.abs(simulation.robot.dq).max()
    print(f'led by 5 N for a second, a joint has moved by {led:.2f} rad')
    print(f'left alone again, it comes to rest: {rest:.3f} rad/s')
