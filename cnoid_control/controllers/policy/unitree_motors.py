"""Order of the motors of Unitree's robots, which deploy.yaml numbers and does not name."""

from __future__ import annotations


def _each(sides: tuple[str, ...], parts: tuple[str, ...]) -> list[str]:
    return [f'{side}_{part}_joint' for side in sides for part in parts]


LEG = ('hip', 'thigh', 'calf')
HUMAN_LEG = ('hip_pitch', 'hip_roll', 'hip_yaw', 'knee', 'ankle_pitch', 'ankle_roll')
H1_2_LEG = ('hip_yaw', 'hip_pitch', 'hip_roll', 'knee', 'ankle_pitch', 'ankle_roll')
WAIST = ['waist_yaw_joint', 'waist_roll_joint', 'waist_pitch_joint']
ARM = ('shoulder_pitch', 'shoulder_roll', 'shoulder_yaw', 'elbow')
WRIST = ('wrist_roll', 'wrist_pitch', 'wrist_yaw')
FEET = ('FR', 'FL', 'RR', 'RL')
SIDES = ('left', 'right')

# Motors by number; an empty name is a number without a motor.
MOTORS: dict[str, list[str]] = {
    'Go2, B2, A1, Go1': _each(FEET, LEG),
    'Go2-W, B2-W': [*_each(FEET, LEG), *_each(FEET, ('foot',))],
    'H1': [
        *_each(('right', 'left'), ('hip_roll', 'hip_pitch', 'knee')),
        'torso_joint',
        *_each(SIDES, ('hip_yaw',)),
        '',
        *_each(SIDES, ('ankle',)),
        *_each(('right', 'left'), ARM),
    ],
    'G1 with 29 joints': [*_each(SIDES, HUMAN_LEG), *WAIST, *_each(SIDES, (*ARM, *WRIST))],
    'H1-2': [*_each(SIDES, H1_2_LEG), 'torso_joint', *_each(SIDES, (*ARM, *WRIST))],
}


def motor_order(ids: list[int], robot_joints: list[str]) -> list[str]:
    """Joints of the motors with these numbers; none where the robot is not one of the table.

    Args:
        ids: numbers of motors, in the order of a network.
        robot_joints: names of the robot's joints; more than the motors' may be among them.
    """
    for motors in reversed(MOTORS.values()):
        named = [name for name in motors if name]
        if len(named) == len(ids) and max(ids) < len(motors) and set(named) <= set(robot_joints):
            order = [motors[number] for number in ids]
            return order if all(order) else []
    return []
