"""A hand draws a circle: its pose is a task, its targets come as messages."""

import numpy as np

from cnoid_control import Simulation, load_robot
from cnoid_control.plugin.mailbox import Pose

RADIUS, PERIOD = 0.1, 4.0
TASKS = {
    'joint_group': 'all',
    'solver': 'qp',
    'output': 'position',
    'tasks': {
        'hand': {'type': 'body_position', 'link': 'hand', 'gain': 20.0},
        'rest': {'type': 'posture', 'joint_group': 'all', 'priority': 1},
    },
    'constraints': {'speed': {'type': 'joint_velocity', 'joint_group': 'all'}},
}


def pose_of_hand(q):
    """Pose of the hand by forward kinematics, shape (4, 4)."""
    robot.q[:] = q
    robot.calc_forward_kinematics()
    return np.array(robot.link('hand').T)


if __name__ == '__main__':
    robot = load_robot('arm.urdf')
    with Simulation('pd', 'tasks', options=TASKS) as simulation:
        target = simulation.mailbox('hand/target')
        start = pose_of_hand(simulation.robot.q)
        errors = []
        while simulation.time < 2.0 * PERIOD:
            angle = 2.0 * np.pi * simulation.time / PERIOD
            goal = start.copy()
            goal[1:3, 3] += RADIUS * np.array([np.sin(angle), np.cos(angle) - 1.0])
            target.post(Pose(T=goal))
            simulation.run(0.01)
            errors.append(np.linalg.norm(pose_of_hand(simulation.robot.q)[:3, 3] - goal[:3, 3]))
    print(
        f'the hand follows a circle of {RADIUS} m, with at most {max(errors) * 1e3:.1f} mm error'
    )
