"""The launch files: their arguments, and what they start.

launch and launch_ros come with ROS 2 and are not on PyPI; where they are missing these tests say
so and are skipped.
"""

import runpy

import pytest

pytest.importorskip('launch_ros', reason='launch_ros is not installed: it comes with ROS 2')

from launch import LaunchContext
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch_ros.actions import Node
from launch_ros.utilities import evaluate_parameters

NAMES = ('sr1_pd', 'sr1_routine', 'sr1_walk')


def describe(root, name):
    """Return the launch description of a launch file."""
    file = root / 'launch' / f'{name}.launch.py'
    return runpy.run_path(str(file))['generate_launch_description']()


def started(root, name='sr1_pd', **arguments):
    """Return what a launch file starts with these arguments: package/executable to Node."""
    context = LaunchContext()
    context.launch_configurations.update(arguments)
    nodes = []
    for entity in describe(root, name).entities:
        if isinstance(entity, DeclareLaunchArgument):
            entity.execute(context)
        elif isinstance(entity, OpaqueFunction):
            nodes = [action for action in entity.execute(context) if isinstance(action, Node)]
    return {f'{node.node_package}/{node.node_executable}': node for node in nodes}, context


def parameters(node, context):
    """Return the parameters given to a node besides its files."""
    given = {}
    for entry in evaluate_parameters(context, node._Node__parameters):
        if isinstance(entry, dict):
            given.update(entry)
    return given


@pytest.mark.parametrize('name', NAMES)
def test_every_argument_is_described(root, name):
    """`--show-args` has a sentence for each argument, and the choices of those that have any."""
    arguments = {
        entity.name: entity
        for entity in describe(root, name).entities
        if isinstance(entity, DeclareLaunchArgument)
    }
    assert {'hardware', 'controller', 'rate', 'viewer', 'namespace', 'use_sim_time'} <= set(
        arguments
    )
    assert all(argument.description for argument in arguments.values())
    assert arguments['hardware'].choices == ['mujoco', 'gazebo', 'mock', 'topic', 'real']


@pytest.mark.parametrize(
    ('hardware', 'expected'),
    [
        ('mujoco', {'cnoid_control/cnoid_control_mujoco'}),
        ('real', set()),
        (
            'mock',
            {
                'robot_state_publisher/robot_state_publisher',
                'controller_manager/ros2_control_node',
                'controller_manager/spawner',
            },
        ),
        (
            'topic',
            {
                'cnoid_control/cnoid_control_mujoco',
                'robot_state_publisher/robot_state_publisher',
                'controller_manager/ros2_control_node',
                'controller_manager/spawner',
            },
        ),
        (
            'gazebo',
            {
                'robot_state_publisher/robot_state_publisher',
                'ros_gz_sim/create',
                'ros_gz_bridge/parameter_bridge',
                'controller_manager/spawner',
            },
        ),
    ],
)
def test_each_hardware_starts_what_it_needs(root, hardware, expected):
    """Each choice of hardware starts its own programs, and always the node."""
    nodes, context = started(root, hardware=hardware)
    assert set(nodes) == {'cnoid_control/cnoid_control', *expected}
    given = parameters(nodes['cnoid_control/cnoid_control'], context)
    assert given['use_sim_time'] is (hardware in ('mujoco', 'gazebo'))
    publisher = nodes.get('robot_state_publisher/robot_state_publisher')
    if publisher is not None:
        description = parameters(publisher, context)['robot_description']
        plugin = {'gazebo': 'GazeboSimSystem', 'mock': 'GenericSystem'}.get(
            hardware, 'TopicSystem'
        )
        assert plugin in description
        assert 'initial_value' in description


def test_arguments_reach_the_nodes(root):
    """Controller, rate, namespace and clock are passed on."""
    nodes, context = started(
        root,
        controller='pd',
        rate='500',
        namespace='left',
        use_sim_time='false',
        pacing='lockstep',
        autostart='false',
    )
    node = nodes['cnoid_control/cnoid_control']
    given = parameters(node, context)
    assert (given['controller'], given['rate']) == ('pd', 500.0)
    assert given['use_sim_time'] is False
    assert given['autostart'] is False
    assert given['hardware.ros2_control.lock_step'] is True
    assert parameters(nodes['cnoid_control/cnoid_control_mujoco'], context)['rate'] == 500.0


def test_behind_a_manager_repeated_states_are_no_new_ones(root):
    """With the MuJoCo node behind ros2_control the node is told so; its clock fits the rate."""
    nodes, context = started(root, hardware='topic', rate='500', use_sim_time='true')
    given = parameters(nodes['cnoid_control/cnoid_control'], context)
    assert given['hardware.ros2_control.repetition_time'] > 0.0
    assert (given['watchdog.state_timeout'], given['watchdog.time_jump']) == (3.0, 3.0)
    robot = parameters(nodes['cnoid_control/cnoid_control_mujoco'], context)
    assert (robot['interface'], robot['clock_rate']) == ('topic', 500.0)
    manager = parameters(nodes['controller_manager/ros2_control_node'], context)
    assert manager['update_rate'] == 500


def test_a_file_may_have_what_only_the_nodes_know(root, tmp_path):
    """Options of one node are no mistake of the launch file or of the other node."""
    file = tmp_path / 'mine.yaml'
    text = (root / 'config' / 'sr1_pd.yaml').read_text(encoding='utf-8')
    file.write_text(f'{text}    realtime_priority: 0\n    pacing: free\n')
    nodes, _ = started(root, config=str(file))
    assert 'cnoid_control/cnoid_control' in nodes
