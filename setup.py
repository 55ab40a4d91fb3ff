"""Package cnoid_control for colcon (ament_python) and for pip alike."""

from glob import glob
from os.path import isfile
from pathlib import Path

from setuptools import find_packages, setup

NAME = 'cnoid_control'

# The shipped controllers: entry-point name = module:Class. Other packages use the same group.
CONTROLLERS: list[str] = [
    'car = cnoid_control.controllers.vehicles.car:CarController',
    'conveyor = cnoid_control.controllers.vehicles.conveyor:ConveyorController',
    (
        'differential_drive = '
        'cnoid_control.controllers.vehicles.differential:DifferentialDriveController'
    ),
    'light_camera = cnoid_control.controllers.samples.light_camera:LightCameraController',
    'link_force = cnoid_control.controllers.samples.circle:LinkForceController',
    'link_position = cnoid_control.controllers.samples.circle:LinkPositionController',
    'motion_queue = cnoid_control.controllers.motion_queue.controller:MotionQueueController',
    'multi = cnoid_control.controllers.composition.multi:ConfiguredMultiController',
    'operational_space = cnoid_control.controllers.operational_space:OperationalSpaceController',
    'pd = cnoid_control.controllers.pd:PDController',
    'pendulum = cnoid_control.controllers.samples.pendulum:PendulumController',
    'pick_and_place = cnoid_control.controllers.samples.pick_and_place:PickAndPlaceController',
    'policy = cnoid_control.controllers.policy.controller:PolicyController',
    'sequence = cnoid_control.controllers.composition.sequence:SequenceController',
    'spring = cnoid_control.controllers.samples.spring:SpringController',
    'sr1_minimum = cnoid_control.controllers.sr1.minimum:SR1MinimumController',
    'sr1_walk = cnoid_control.controllers.sr1.walk:SR1WalkPatternController',
    'state_machine = cnoid_control.controllers.composition.state_machine:ConfiguredStateMachine',
    'sub_controllers = cnoid_control.controllers.samples.sub_controllers:SubControllersController',
    ('tank_joystick_light = cnoid_control.controllers.vehicles.tank:TankJoystickLightController'),
    'tasks = cnoid_control.controllers.tasks.controller:TasksController',
    'trajectory = cnoid_control.controllers.trajectory:TrajectoryController',
]

# The shipped kinds of hardware: entry-point name = module:HardwareKind.
HARDWARE = [
    'kinematic = cnoid_control.hardware.kinematic:KINEMATIC',
    'mujoco = cnoid_control.hardware.mujoco:MUJOCO',
    'replay = cnoid_control.hardware.replay:REPLAY',
    'ros2_control = cnoid_control.ros.robot.kind:ROS2_CONTROL',
]

SCRIPTS = [
    'cnoid_control = cnoid_control.cli.main:main',
    'cnoid_control_mujoco = cnoid_control.ros.sim.node:main',
    'cnoid_control_heartbeat = cnoid_control.ros.heartbeat:main',
]

CORE = [
    'numpy>=1.24',
    'pin>=3.0',
    'pyyaml>=6.0',
    'ruckig>=0.12',
    'daqp>=0.10',
    'mcap>=1.1',
    'mcap-ros2-support>=0.5',
    'zstandard>=0.18',
    'lz4>=4.0',
    'matplotlib>=3.7',
    'rich>=13.0',
    'xacro>=2.0',
    'threadpoolctl>=3.0',
]

ROS_RUN = [
    'rclpy',
    'rmw-fastrtps-cpp',
    'action-msgs',
    'builtin-interfaces',
    'diagnostic-msgs',
    'geometry-msgs',
    'lifecycle-msgs',
    'nav-msgs',
    'rcl-interfaces',
    'rosgraph-msgs',
    'sensor-msgs',
    'std-msgs',
    'std-srvs',
    'trajectory-msgs',
    'unique-identifier-msgs',
]

# What building interfaces/ against the wheels needs; the wheels name only run-time dependencies.
ROS_BUILD = [
    'rosidl-default-generators',
    'rosidl-core-generators',
    'python-cmake-module',
    'ament-cmake',
    'ament-package',
    'ament-cmake-include-directories',
    'ament-cmake-ros',
    'ament-cmake-gmock',
    'ament-cmake-gtest',
    'ament-cmake-pytest',
]

# The browser view; trimesh reads meshes with their colours, .dae files by pycollada.
VIEWER = ['viser>=1.0', 'trimesh>=4.0', 'pycollada>=0.8']
# What encodes .mp4 films, where no ffmpeg is installed.
FILM = ['imageio-ffmpeg>=0.5']
# The search for options: Optuna with CMA-ES.
TUNE = ['optuna>=4.0', 'cmaes>=0.11']
# Configurations as environments.
GYM = ['gymnasium>=1.0', 'greenlet>=3.0']
# Runs on a cluster, where Ray has a wheel.
RAY = ["ray>=2.30; python_version < '3.14'"]

# The site of the documentation.
DOCS = ['mkdocs-material>=9.5', 'mkdocstrings[python]>=0.25']

# Tables of runs as Parquet files.
PARQUET = ['pyarrow>=14.0']

# colcon runs pytest for a package that has an extra named test with pytest in it.
TEST = [
    'pytest>=7.4',
    'pytest-xdist>=3.3',
    'pytest-timeout>=2.1',
    'hypothesis>=6.80',
    'scipy>=1.10',
    'qpsolvers>=4.0',
    'quadprog>=0.1.11',
    'onnx>=1.15',
    'sshkeyboard>=2.3',
    "proxsuite>=0.6; python_version < '3.14'",
    'pandas>=2.0',
    'playwright>=1.40',
    # The notebook in examples/ is executed.
    'nbclient>=0.8',
    'ipykernel>=6.0',
    *DOCS,
    *VIEWER,
    *FILM,
    *TUNE,
    *GYM,
    *RAY,
    *PARQUET,
]

EXTRAS = {
    # 4.0.0 computes wrong accelerations above 60 degrees of freedom; 4.0.1 has it mended.
    'sim': ['mujoco>=3.6,!=4.0.0'],
    'ros': [f'ros-jazzy-{name}' for name in ROS_RUN + ROS_BUILD]
    + ['empy==3.3.4', 'catkin_pkg>=1.0'],
    'policy': ['onnxruntime>=1.17'],
    'docs': DOCS,
    'viewer': VIEWER,
    'film': FILM,
    'tune': TUNE,
    'gym': GYM,
    'ray': RAY,
    'parquet': PARQUET,
    # evdev is for Linux, and is compiled where it is installed.
    'teleop': ['sshkeyboard>=2.3', "evdev>=1.6; sys_platform == 'linux'"],
    # Others' programs that the performance table compares with, where they are installed.
    'bench': ['pin-pink>=3.0', 'quadprog>=0.1.11', 'klampt>=0.10'],
    'test': TEST,
    'dev': [
        *TEST,
        'ruff>=0.4',
        'mypy>=1.8',
        # It comes with the hook that also measures processes which a test starts.
        'coverage>=7.13',
        'types-PyYAML',
        'colcon-common-extensions>=0.3',
        'setuptools>=61,<80',
    ],
}


def share(folder: str) -> list[tuple[str, list[str]]]:
    """Install a folder's files, sub-folders too, under share/cnoid_control/folder."""
    by_folder: dict[str, list[str]] = {}
    for path in sorted(glob(f'{folder}/**', recursive=True)):
        if isfile(path) and '__pycache__' not in path:
            by_folder.setdefault(str(Path(path).parent), []).append(path)
    return [(f'share/{NAME}/{parent}', files) for parent, files in by_folder.items()]


setup(
    name=NAME,
    version='0.1.0',
    description='Robot controllers written once, for simulation and for ros2_control',
    long_description=Path('README.md').read_text(encoding='utf-8'),
    long_description_content_type='text/markdown',
    maintainer='cnoid_control developers',
    maintainer_email='developers@cnoid-control.org',
    license='Apache-2.0',
    keywords=['robotics', 'ROS 2', 'ros2_control', 'controllers', 'MuJoCo', 'Choreonoid'],
    classifiers=[
        'Development Status :: 4 - Beta',
        'Intended Audience :: Science/Research',
        'Operating System :: POSIX :: Linux',
        'Programming Language :: Python :: 3.10',
        'Programming Language :: Python :: 3.11',
        'Programming Language :: Python :: 3.12',
        'Programming Language :: Python :: 3.13',
        'Programming Language :: Python :: 3.14',
        'Topic :: Scientific/Engineering',
        'Typing :: Typed',
    ],
    packages=find_packages(include=[NAME, f'{NAME}.*']),
    package_data={NAME: ['py.typed', 'viewer/*.js', 'bench/ros_loop/*.[ch]']},
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{NAME}']),
        (f'share/{NAME}', ['package.xml']),
        *share('launch'),
        *share('config'),
        *share('urdf'),
        *share('security'),
        *share('motion'),
        *share('policy'),
    ],
    python_requires='>=3.10',
    install_requires=CORE,
    extras_require=EXTRAS,
    entry_points={
        'console_scripts': SCRIPTS,
        'cnoid_control.controllers': CONTROLLERS,
        'cnoid_control.hardware': HARDWARE,
    },
    zip_safe=False,
)
