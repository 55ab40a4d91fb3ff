"""Parameter files: what is read, what is refused, and how it is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from cnoid_control import CnoidControlError
from cnoid_control.parameters import ParameterError
from cnoid_control.runtime.config import (
    HeartbeatParameters,
    InvalidConfigFile,
    load_config,
    merge,
    override,
    parse_config,
    parse_value,
)

GOOD = """
/**:
  ros__parameters:
    robot: {model: sr1.urdf, base: floating, position: [0.0, 0.0, 0.7135]}
    rate: 500.0
    controller: sr1_minimum
    hardware:
      type: mujoco
      mujoco: {servo_stiffness: 1e5}
"""


def config_file(folder: Path, text: str) -> Path:
    """Write a config file."""
    path = folder / 'mine.yaml'
    path.write_text(text)
    return path


def test_reads_a_parameter_file(tmp_path):
    """Every section is checked and typed; what is not given has its default."""
    config = load_config(config_file(tmp_path, GOOD))
    assert config.name == 'mine'
    assert config.folder == tmp_path
    assert config.controller_name == 'sr1_minimum'
    assert config.time_step == pytest.approx(0.002)
    assert config.hardware_type == 'mujoco'
    assert config.hardware_parameters.servo_stiffness == 1e5
    assert config.parameters.robot.position == [0.0, 0.0, 0.7135]
    assert config.parameters.active_control_only
    assert config.parameters.limits.enabled


def test_overrides_take_precedence(tmp_path):
    """Nested or dotted, new or old."""
    changes = {'rate': 250.0, 'hardware.mujoco.gravity': 1.6, 'robot': {'base': 'fixed'}}
    config = load_config(config_file(tmp_path, GOOD), changes)
    assert config.parameters.rate == 250.0
    assert config.hardware_parameters.gravity == 1.6
    assert config.hardware_parameters.servo_stiffness == 1e5
    assert config.parameters.robot.base == 'fixed'
    assert config.values['robot']['model'] == 'sr1.urdf'


def test_values_of_the_node_replace_those_for_all(tmp_path):
    """The section of the node itself comes after the wildcard."""
    text = GOOD + 'cnoid_control:\n  ros__parameters:\n    rate: 100.0\n'
    assert load_config(config_file(tmp_path, text)).parameters.rate == 100.0


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({'ratte': 5.0}, 'ratte: unknown option; choose from: .*rate'),
        ({'rate': 'fast'}, r"rate: float expected, got 'fast' \(str\)"),
        ({'rate': 0.0}, 'rate: 0.0 is not allowed'),
        (
            {'robot.base': 'loose'},
            "robot.base: 'loose' is not allowed; choose from: auto, fixed, floating",
        ),
        ({'robot.modl': 'x'}, 'robot.modl: unknown option; choose from: model'),
        ({'hardware.type': 'gazebo'}, "hardware.type: 'gazebo' is not allowed; .*mujoco"),
        ({'hardware.gazebo.x': 1}, 'hardware.gazebo: unknown option; .*mujoco'),
        ({'hardware.mujoco.gravty': 1.0}, 'hardware.mujoco.gravty: unknown option; .*gravity'),
        ({'hardware.kinematic.x': 1}, 'hardware.kinematic.x: unknown option'),
        ({'hardware': 3}, 'hardware: a map of options expected'),
        ({'limits.max_velocity': -1.0}, 'limits.max_velocity: -1.0 is not allowed'),
        ({'sr1_minimum': 4}, 'sr1_minimum: a map of options, or an option string, expected'),
        ({'controller': ['a']}, 'controller: a name expected'),
    ],
)
def test_wrong_values_are_refused_by_key(tmp_path, changes, message):
    """The key, the value and the valid choices are named."""
    with pytest.raises(ParameterError, match=message):
        load_config(config_file(tmp_path, GOOD), changes)


def test_missing_keys_are_named():
    """A robot needs a model, a run a controller."""
    with pytest.raises(ParameterError, match=r'robot: is missing'):
        parse_config({'controller': 'sr1_minimum'})
    with pytest.raises(ParameterError, match=r'robot.model: is missing'):
        parse_config({'controller': 'sr1_minimum', 'robot': {}})


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('a: [', 'is not YAML'),
        ('rate: 5', "has no '/\\*\\*: ros__parameters:'"),
        ('- rate', "has no '/\\*\\*: ros__parameters:'"),
        ('/**: 5', "has no map 'ros__parameters'"),
        ('/**: {rate: 5}', "has no map 'ros__parameters'"),
        ('/**: {ros__parameters: {rate: 1, rate: 2}}', "'rate' is given twice"),
    ],
)
def test_files_that_are_no_parameter_files(tmp_path, text, message):
    """The file is named, and what is wrong with it."""
    with pytest.raises(InvalidConfigFile, match=rf'mine.yaml: .*{message}'):
        load_config(config_file(tmp_path, text))


def test_unknown_config_lists_what_exists():
    """Names of the configs that are installed."""
    with pytest.raises(CnoidControlError, match="'sr1_bd'"):
        load_config('sr1_bd')


def test_options_may_be_text_or_maps():
    """A section of a controller is handed on as it is; one for a swap may wait."""
    values = {'robot': {'model': 'x.urdf'}, 'controller': 'a.b:MyClass', 'my_class': 'fast 3'}
    values['sr1_minimum'] = {'gain': 1}
    values['other_controllers'] = {'second': {'type': 'sr1_minimum', 'parent': 'my_class'}}
    values['second'] = {'x': 1}
    config = parse_config(values)
    assert config.options == {'my_class': 'fast 3', 'sr1_minimum': {'gain': 1}, 'second': {'x': 1}}
    assert config.parameters.other_controllers['second'].parent == 'my_class'


@pytest.mark.parametrize(
    ('text', 'value'),
    [
        ('1e5', 1e5),
        ('1E-3', 1e-3),
        ('2', 2),
        ('2.', 2.0),
        ('.5', 0.5),
        ('true', True),
        ('torque', 'torque'),
        ('[1, 2.5]', [1, 2.5]),
        ('1.2.3', '1.2.3'),
        ('a: [', 'a: ['),
        ('.inf', float('inf')),
        ('-1.0e3', -1000.0),
    ],
)
def test_values_are_read_as_ros_reads_them(text, value):
    """A number may do without a dot before its exponent."""
    assert parse_value(text) == value
    assert type(parse_value(text)) is type(value)


def test_merge_leaves_its_arguments_alone():
    """Values are copied where they change."""
    values = {'a': {'b': 1, 'c': 2}}
    assert merge(values, {'a.b': 3, 'd': 4}) == {'a': {'b': 3, 'c': 2}, 'd': 4}
    assert values == {'a': {'b': 1, 'c': 2}}


def test_options_of_a_file_controller_go_with_it(tmp_path):
    """Another controller instead of it: nobody could tell whose they are."""
    values = {'controller': 'mine.py:Mine', 'mine': {'gain': 1.0}, 'pd': {'kp': 5.0}}
    assert override(values, {'controller': 'pd'}) == {'controller': 'pd', 'pd': {'kp': 5.0}}
    assert override(values, {'rate': 5.0})['mine'] == {'gain': 1.0}
    assert 'mine' in override(values, {'controller': 'other.py:Mine'})


def test_the_silence_after_which_a_robot_is_stopped():
    """The one that is given; else the longer of 0.035 s and 3.5 periods."""
    assert HeartbeatParameters(timeout=0.3).limit(0.2) == 0.3
    assert HeartbeatParameters().limit(0.001) == 0.035
    assert HeartbeatParameters().limit(0.1) == pytest.approx(0.35)
