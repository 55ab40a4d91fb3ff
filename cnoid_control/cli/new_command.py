"""`cnoid_control new`."""

from __future__ import annotations

import argparse
from pathlib import Path
from string import Template

from cnoid_control.cli.starter import check_name, class_name, write_files
from cnoid_control.exceptions import CnoidControlError

CONTROLLER = '''"""SR1 stands and waves its right arm; change it into what you need."""

from dataclasses import dataclass

import numpy as np

from cnoid_control import ControllerIO, SimpleController, StateFlag, parameter


class $class_name(SimpleController):
    """Holds the initial posture by joint torques while one joint swings."""

    @dataclass
    class Parameters:
        """What the config file and `--option` can set."""

        joint: str = parameter('RARM_SHOULDER_P', 'joint that swings', read_only=True)
        amplitude: float = parameter(0.3, 'how far it swings', unit='rad', minimum=0.0)
        frequency: float = parameter(
            0.5, 'how often it swings', unit='Hz', minimum=0.0, read_only=True
        )
        stiffness: float = parameter(8000.0, 'proportional gain', unit='N m/rad', minimum=0.0)
        damping: float = parameter(100.0, 'derivative gain', unit='N m s/rad', minimum=0.0)

    def initialize(self, io: ControllerIO) -> bool:
        """Say what is read and commanded, and remember the posture."""
        self.io = io
        self.body = io.body
        for joint in self.body.joints:
            joint.actuation_mode = StateFlag.JOINT_TORQUE
            io.enable_io(joint)
            io.enable_input(joint, StateFlag.JOINT_VELOCITY)
        self.swinging = self.body.joint(io.parameters.joint).joint_id
        self.q_initial = self.body.q.copy()
        return True

    def update_parameters(self, old: Parameters, new: Parameters) -> None:
        """Follow the other options while running: control() reads them in every tick."""

    def control(self) -> bool:
        """Compute the torques of one tick."""
        body, options = self.body, self.io.parameters
        phase = 2.0 * np.pi * options.frequency * self.io.current_time
        # 1 - cos starts without a jump of position or velocity.
        swing = options.amplitude * (1.0 - np.cos(phase)) / 2.0
        body.q_target[:] = self.q_initial
        body.q_target[self.swinging] += swing
        body.u[:] = options.stiffness * (body.q_target - body.q) - options.damping * body.dq
        return True
'''

CONFIG = """# $class_name on SR1 in MuJoCo.
/**:
  ros__parameters:
    robot:
      model: sr1.urdf
      # Right leg, right arm, left leg, left arm, waist.
      posture: [0.0, -0.036652, 0.0, 0.078540, -0.041888, 0.0,
                0.174533, -0.003491, 0.0, -1.570796, 0.0, 0.0, 0.0,
                0.0, -0.036652, 0.0, 0.078540, -0.041888, 0.0,
                0.174533, -0.003491, 0.0, -1.570796, 0.0, 0.0, 0.0,
                0.0, 0.0, 0.0]
    rate: 1000.0
    controller: $name.py:$class_name
    $name:
      amplitude: 0.3
      frequency: 0.5
    # Warn of what is read or written without having been enabled.
    strict: true
    hardware:
      type: mujoco
      mujoco:
        collision: [LLEG_ANKLE_R/box, RLEG_ANKLE_R/box]
"""

TEST = '''"""$class_name keeps SR1 upright and swings the arm."""

from pathlib import Path

import numpy as np

from cnoid_control import run

CONFIG = Path(__file__).parent / '$name.yaml'


def simulate(duration: float, **options: float) -> tuple[dict, np.ndarray]:
    """Run the controller; the summary, and the swinging joint's angle tick by tick."""
    done = run(CONFIG, duration=duration, options=options)
    summary = done.summary()
    assert summary['exit'] == 'completed', summary
    joint = done.robot.joint('RARM_SHOULDER_P').joint_id
    return summary, done.recorded.q[:, joint]


def test_swings_and_stands():
    """After half a period the arm is at its farthest, and the robot stands."""
    summary, angles = simulate(1.0, amplitude=0.3, frequency=0.5)
    assert not summary['fell']
    assert summary['max_joint_error'] < 0.03
    assert abs(np.ptp(angles) - 0.3) < 0.02


def test_amplitude_zero_stands_still():
    """Without a swing the arm stays where it is."""
    summary, angles = simulate(0.5, amplitude=0.0)
    assert not summary['fell']
    assert np.ptp(angles) < 0.01
'''


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument('name', metavar='NAME', help='name in snake case: my_controller')


def create_controller(name: str, parent: Path) -> list[Path]:
    """Write a controller with its config and test into a new folder of that name.

    Args:
        name: name in snake case.
        parent: folder to put the new one in.

    Returns:
        The files.

    Raises:
        CnoidControlError: the name is no Python name in lower case, or is taken, or the folder
            cannot be written.
    """
    check_name(name)
    folder = parent / name
    if folder.exists():
        raise CnoidControlError(f'{folder} exists already; choose another name or remove it')
    words = {'name': name, 'class_name': class_name(name)}
    templates = {f'{name}.py': CONTROLLER, f'{name}.yaml': CONFIG, f'test_{name}.py': TEST}
    return write_files(
        folder, {file: Template(text).substitute(words) for file, text in templates.items()}
    )


def run(args: argparse.Namespace) -> int:
    """Write the files and say how to go on."""
    for path in create_controller(args.name, Path()):
        print(f'wrote {path}')
    print(f'\nrun it:   cnoid_control run {args.name} --duration 10')
    print(f'test it:  python3 -m pytest {args.name}')
    return 0
