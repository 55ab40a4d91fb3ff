"""A controller that is a plain function of robot and time: an arm sways."""

import numpy as np

from cnoid_control import Simulation


def sway(robot, t, amplitude: float = 0.3, frequency: float = 0.5):
    """Positions of all joints at a time; further arguments are options."""
    way = 0.5 * amplitude * (1.0 - np.cos(2.0 * np.pi * frequency * t))
    return robot.start_posture + way


if __name__ == '__main__':
    options = {'command': 'position', 'amplitude': 0.5}
    with Simulation('pd', sway, options=options) as simulation:
        summary = simulation.run(4.0)
        recorded = simulation.recorded
    swing = np.ptp(recorded.q, axis=0)
    print('each joint swings by', swing.round(2), 'rad')
    print(f'the largest error is {summary["max_joint_error"]:.3f} rad')
