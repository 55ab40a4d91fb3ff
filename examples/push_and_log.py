"""Push a robot, log the run, and read from the log what its soles felt."""

import numpy as np
from mcap_ros2.reader import read_ros2_messages

from cnoid_control import Simulation

SOLES = ['LeftAnkleForceSensor', 'RightAnkleForceSensor']


def forces(file, topic):
    """Vertical force over time [N], of a log that any ROS 2 tool reads."""
    messages = read_ros2_messages(file, topics=[topic])
    return np.array([one.ros_msg.wrench.force.z for one in messages])


if __name__ == '__main__':
    with Simulation('sr1_pd') as simulation:
        simulation.log('push.mcap')  # as `cnoid_control run --log push.mcap`
        simulation.run(1.0)
        simulation.push('WAIST', [300.0, 0.0, 0.0], duration=0.1)
        summary = simulation.run(1.0)
        weight = 9.80665 * simulation.robot.mass
    print(f'SR1 stands: {not summary["fell"]}, tilt {summary["max_tilt_deg"]:.1f} degrees')
    felt = sum(forces('push.mcap', name) for name in SOLES)
    print(f'of {weight:.0f} N of weight, the ankles bear {felt[-100:].mean():.0f} N at the end')
    print(
        f'while it was pushed, between {felt[1000:1200].min():.0f} and '
        f'{felt[1000:1200].max():.0f} N'
    )
