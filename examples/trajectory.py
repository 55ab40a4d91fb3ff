"""A trajectory of three points, sent to the trajectory controller, and its result."""

import numpy as np

from cnoid_control import Simulation
from cnoid_control.plugin.mailbox import JointTrajectory
from cnoid_control.plugin.trajectory_goal import FollowTrajectory

JOINTS = ('joint2', 'joint4', 'joint6')
POINTS = np.array([[0.6, 1.0, 0.8], [0.2, 1.4, 0.2], [0.3, 1.5, 0.4]])
TIMES = np.array([1.0, 2.0, 3.0])

if __name__ == '__main__':
    options = {'actuators': 'servo', 'allow_partial_joints_goal': True}
    with Simulation('pd', 'trajectory', options=options) as simulation:
        goal = FollowTrajectory(
            trajectory=JointTrajectory(names=JOINTS, times=TIMES, positions=POINTS)
        )
        simulation.mailbox('follow_joint_trajectory').post(goal)
        while not goal.handle.done:
            simulation.step()
        recorded = simulation.recorded
    ids = [recorded.joint_names.index(name) for name in JOINTS]
    print(f'{goal.handle.state.name.lower()} after {recorded.time[-1]:.2f} s')
    for time, point in zip(TIMES, POINTS, strict=True):
        reached = recorded.q[np.searchsorted(recorded.time, time), ids]
        print(f'at {time:.0f} s the joints are at {reached.round(3)}, wanted {point}')
