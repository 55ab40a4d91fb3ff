"""Kinematics without a simulation: where a hand is, how it moves, how to bring it somewhere."""

import numpy as np

from cnoid_control import JointPath, load_robot

if __name__ == '__main__':
    robot = load_robot('sr1')  # or a model file
    hand = robot.link('RARM_WRIST_R')
    arm = JointPath(robot.link('CHEST'), hand)
    robot.joint('RARM_ELBOW').q = -1.2
    robot.calc_forward_kinematics()
    print(f'{arm.num_joints} joints; the hand is at {hand.p.round(3)} m')

    jacobian = arm.calc_jacobian()  # 6 x joints: m/rad, then rad/rad
    before, step = hand.p.copy(), 1e-6
    robot.joint('RARM_ELBOW').q += step
    robot.calc_forward_kinematics()
    column = [joint.joint_name for joint in arm.joints].index('RARM_ELBOW')
    error = np.abs((hand.p - before) / step - jacobian[:3, column]).max()
    print(f'the Jacobian agrees with a finite difference to {error:.1e}')

    reached = 0
    generator = np.random.default_rng(1)
    start = np.array(hand.T)
    for _ in range(100):
        goal = start.copy()
        goal[:3, 3] += generator.uniform(-0.06, 0.06, 3)
        reached += arm.calc_inverse_kinematics(goal)
    robot.calc_forward_kinematics()
    print(f'{reached} of 100 poses within 6 cm were reached')
    print(f'the last one to {np.linalg.norm(hand.p - goal[:3, 3]) * 1e6:.2f} micrometres')
