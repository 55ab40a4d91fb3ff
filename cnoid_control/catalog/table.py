"""Table of the robots that can be had as wheels.

A wheel is named by version and hash, so what is unpacked is the same everywhere. The licences are
those that the wheels state, in the README of a robot's folder or in the wheel's metadata.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Wheel:
    """A published wheel.

    Attributes:
        project: name of the project in a package index.
        version: the version.
        sha256: hash of the file.
        size: size of the file [B].
    """

    project: str
    version: str
    sha256: str
    size: int

    @property
    def name(self) -> str:
        """Project and version."""
        return f'{self.project}-{self.version}'


@dataclass(frozen=True)
class Item:
    """Something in a wheel that can be used by its name.

    Attributes:
        name: name on the command line and in configurations.
        wheel: the wheel that holds it.
        file: the model, a path in the wheel.
        folders: folders of the wheel that are unpacked for it.
        licence: what the wheel says.
        size: size of the folders when unpacked [B].
        kind: what it is: a robot or a policy.
        robot: of a policy, the item with the robot that it moves.
    """

    name: str
    wheel: Wheel
    file: str
    folders: tuple[str, ...]
    licence: str
    size: int
    kind: str = 'robot'
    robot: str = ''

    @property
    def format(self) -> str:
        """Format of the file."""
        return {'urdf': 'URDF', 'xml': 'MJCF', 'onnx': 'ONNX'}[self.file.rpartition('.')[2]]


MJLAB = Wheel(
    'mjlab', '1.6.0', '03d003854e2f44c48330c6dcf4c2253ff7641bb569747846825a21b9efa8540b', 14211492
)
HOLOSOMA = Wheel(
    'holosoma',
    '0.0.3',
    '1c007c27dbf130c04533af6052649d88da32eaa9b54e69c6d39009e979a2312f',
    45117356,
)
HOLOSOMA_INFERENCE = Wheel(
    'holosoma-inference',
    '0.1.3',
    '3c11fd4595bc82921d4c44f77357667828761548c1ce74782ea77937b2ab0ef7',
    8548626,
)
EXAMPLE_ROBOT_DATA = Wheel(
    'example-robot-data',
    '6.0.0',
    '424092a8093411ac2cd4ccc0572382bfc6b5eb4833aa984ef5e671dd67cd0a6e',
    131055297,
)

EXAMPLES = 'cmeel.prefix/share/example-robot-data/robots'

BSD, BSD2, BSD3, APACHE, MPL = 'BSD', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', 'MPL-2.0'

# Folder in example-robot-data: licence, size [B], and the files by the name that they get here.
EXAMPLE_FOLDERS: dict[str, tuple[str, int, dict[str, str]]] = {
    'a1_description': (MPL, 9850872, {'a1': 'urdf/a1.urdf'}),
    'alex_description': (
        'CC-BY-NC-ND-4.0',
        19435011,
        {
            'alex_nub_hands': 'urdf/alex_nub_hands.urdf',
            'alex_psyonic_hands': 'urdf/alex_psyonic_hands.urdf',
            'alex_sake_hands': 'urdf/alex_sake_hands.urdf',
        },
    ),
    'alexander_description': (
        APACHE,
        2224202,
        {'alexander_legs': 'urdf/alexander_v1.lowerBodyOnly.urdf'},
    ),
    'allegro_hand_description': (
        BSD,
        1539342,
        {
            'allegro_left_hand': 'urdf/allegro_left_hand.urdf',
            'allegro_right_hand': 'urdf/allegro_right_hand.urdf',
        },
    ),
    'anymal_b_simple_description': (
        BSD3,
        18224775,
        {'anymal_b': 'robots/anymal.urdf', 'anymal_b_kinova': 'robots/anymal-kinova.urdf'},
    ),
    'anymal_c_simple_description': (BSD3, 8365964, {'anymal_c': 'urdf/anymal.urdf'}),
    'asr_twodof_description': (BSD3, 31521841, {'asr_twodof': 'urdf/TwoDofs.urdf'}),
    'b1_description': (MPL, 39688418, {'b1': 'urdf/b1.urdf', 'b1_z1': 'urdf/b1-z1.urdf'}),
    'baxter_description': (BSD3, 26433544, {'baxter': 'urdf/baxter.urdf'}),
    'bolt_description': (BSD3, 1612493, {'bolt': 'robots/bolt.urdf'}),
    'borinot_description': (BSD2, 4042797, {'borinot': 'urdf/borinot_flying_arm_2.urdf'}),
    'centauro_description': (APACHE, 9926449, {'centauro': 'urdf/centauro.urdf'}),
    'double_pendulum_description': (
        BSD,
        674755,
        {
            'double_pendulum': 'urdf/double_pendulum.urdf',
            'double_pendulum_continuous': 'urdf/double_pendulum_continuous.urdf',
            'double_pendulum_simple': 'urdf/double_pendulum_simple.urdf',
        },
    ),
    'finger_edu_description': (BSD3, 543900, {'finger_edu': 'robots/finger_edu.urdf'}),
    'g1_description': (
        BSD3,
        25062223,
        {
            'g1_urdf': 'urdf/g1_29dof_rev_1_0.urdf',
            'g1_with_hand': 'urdf/g1_29dof_with_hand_rev_1_0.urdf',
        },
    ),
    'go1_description': (MPL, 38317585, {'go1_urdf': 'urdf/go1.urdf'}),
    'go2_description': (MPL, 5737379, {'go2': 'urdf/go2.urdf'}),
    'hector_description': (BSD, 71567, {'hector': 'robots/quadrotor_base.urdf'}),
    'hextilt_description': (BSD2, 3280152, {'hextilt': 'urdf/hextilt_flying_arm_5.urdf'}),
    'human_description': (BSD2, 3628708, {'human': 'robots/human.urdf'}),
    'hyq_description': (APACHE, 582452, {'hyq': 'robots/hyq_no_sensors.urdf'}),
    'icub_description': (
        'CC-BY-SA-4.0',
        6693728,
        {'icub': 'robots/icub.urdf', 'icub_reduced': 'robots/icub_reduced.urdf'},
    ),
    'iris_description': (
        APACHE,
        1352636,
        {'iris': 'robots/iris.urdf', 'iris_simple': 'robots/iris_simple.urdf'},
    ),
    'kinova_description': (BSD, 7244887, {'kinova': 'robots/kinova.urdf'}),
    'laikago_description': (MPL, 3461367, {'laikago': 'urdf/laikago.urdf'}),
    'panda_description': (
        APACHE,
        10683543,
        {'panda': 'urdf/panda.urdf', 'panda_collision': 'urdf/panda_collision.urdf'},
    ),
    'pr2_description': (BSD, 1579330, {'pr2': 'urdf/pr2.urdf'}),
    'quadruped_description': (BSD2, 37399, {'quadruped': 'urdf/quadruped.urdf'}),
    'romeo_description': (
        BSD,
        36044158,
        {
            'romeo': 'urdf/romeo.urdf',
            'romeo_laas_small': 'urdf/romeo_laas_small.urdf',
            'romeo_small': 'urdf/romeo_small.urdf',
        },
    ),
    'simple_humanoid_description': (
        BSD2,
        42590,
        {
            'simple_humanoid': 'urdf/simple_humanoid.urdf',
            'simple_humanoid_classical': 'urdf/simple_humanoid_classical.urdf',
        },
    ),
    'so_arm_description': (
        APACHE,
        19193410,
        {'so100': 'urdf/so100.urdf', 'so101': 'urdf/so101.urdf'},
    ),
    'solo_description': (
        BSD3,
        6104946,
        {'solo': 'robots/solo.urdf', 'solo12': 'robots/solo12.urdf'},
    ),
    'talos_data': (
        # The README of the folder says the first, package.xml of the whole the second.
        'Apache-2.0 / BSD-3-Clause',
        7570490,
        {
            'talos': 'robots/talos_reduced.urdf',
            'talos_box': 'robots/talos_reduced_box.urdf',
            'talos_corrected': 'robots/talos_reduced_corrected.urdf',
            'talos_full': 'robots/talos_full_v2.urdf',
            'talos_full_box': 'robots/talos_full_v2_box.urdf',
            'talos_left_arm': 'robots/talos_left_arm.urdf',
        },
    ),
    'tiago_description': (
        APACHE,
        8880286,
        {
            'tiago': 'robots/tiago.urdf',
            'tiago_dual': 'robots/tiago_dual.urdf',
            'tiago_no_hand': 'robots/tiago_no_hand.urdf',
        },
    ),
    'tiago_pro_description': (APACHE, 7982697, {'tiago_pro': 'robots/tiago_pro.urdf'}),
    'ur_description': (
        BSD,
        25260201,
        {
            'ur3': 'urdf/ur3_robot.urdf',
            'ur3_gripper': 'urdf/ur3_gripper.urdf',
            'ur3_joint_limited': 'urdf/ur3_joint_limited_robot.urdf',
            'ur3_empty': 'urdf/ur3.urdf',
            'ur5': 'urdf/ur5_robot.urdf',
            'ur5_gripper': 'urdf/ur5_gripper.urdf',
            'ur5_joint_limited': 'urdf/ur5_joint_limited_robot.urdf',
            'ur10': 'urdf/ur10_robot.urdf',
            'ur10_joint_limited': 'urdf/ur10_joint_limited_robot.urdf',
        },
    ),
    'xarm_description': (BSD3, 2075308, {'xarm7': 'urdf/xarm7.urdf'}),
    'z1_description': (MPL, 33419523, {'z1': 'urdf/z1.urdf'}),
}

# Folders of example-robot-data whose meshes a robot of another folder uses.
BORROWED = {'anymal_b_kinova': 'kinova_description', 'b1_z1': 'z1_description'}


def _mjlab(name: str, folder: str, size: int) -> Item:
    path = f'mjlab/asset_zoo/robots/{folder}/xmls'
    return Item(name, MJLAB, f'{path}/{name}.xml', (path,), APACHE, size)


def _holosoma(name: str, robot: str, suffix: str, size: int) -> Item:
    path = f'holosoma/data/robots/{robot}'
    return Item(name, HOLOSOMA, f'{path}/{robot}_29dof.{suffix}', (path,), APACHE, size)


def _policy(name: str, robot: str, folder: str, file: str, size: int) -> Item:
    path, file = f'holosoma_inference/models/{folder}', f'{file}.onnx'
    wheel = HOLOSOMA_INFERENCE
    return Item(name, wheel, f'{path}/{file}', (path,), APACHE, size, 'policy', robot)


def _example(name: str, folder: str, file: str) -> Item:
    licence, size, _ = EXAMPLE_FOLDERS[folder]
    folders = [f'{EXAMPLES}/{folder}']
    if name in BORROWED:
        other = BORROWED[name]
        folders.append(f'{EXAMPLES}/{other}')
        if EXAMPLE_FOLDERS[other][0] != licence:
            licence += f', {EXAMPLE_FOLDERS[other][0]}'
        size += EXAMPLE_FOLDERS[other][1]
    path = f'{EXAMPLES}/{folder}/{file}'
    return Item(name, EXAMPLE_ROBOT_DATA, path, tuple(folders), licence, size)


def _items() -> list[Item]:
    examples = [
        _example(name, folder, file)
        for folder, (_, _, files) in EXAMPLE_FOLDERS.items()
        for name, file in files.items()
    ]
    return [
        _mjlab('g1', 'unitree_g1', 19688730),
        _mjlab('go1', 'unitree_go1', 10326393),
        _mjlab('yam', 'i2rt_yam', 5293007),
        _holosoma('g1_holosoma', 'g1', 'xml', 66371642),
        _holosoma('g1_holosoma_urdf', 'g1', 'urdf', 66371642),
        _holosoma('t1', 't1', 'xml', 20078666),
        _holosoma('t1_urdf', 't1', 'urdf', 20078666),
        _policy('g1_walk_ppo', 'g1_holosoma', 'loco/g1_29dof', 'ppo_g1_29dof', 1777853),
        _policy('g1_walk_sac', 'g1_holosoma', 'loco/g1_29dof', 'fastsac_g1_29dof', 1777853),
        _policy('t1_walk_ppo', 't1', 'loco/t1_29dof', 'ppo_t1_29dof', 1776613),
        _policy('t1_walk_sac', 't1', 'loco/t1_29dof', 'fastsac_t1_29dof', 1776613),
        _policy('g1_dance_ppo', 'g1_holosoma', 'wbt', 'ppo_g1_29dof_dancing', 5900956),
        _policy('g1_dance_sac', 'g1_holosoma', 'wbt', 'fastsac_g1_29dof_dancing', 5900956),
        *examples,
    ]


ITEMS: dict[str, Item] = {item.name: item for item in _items()}
